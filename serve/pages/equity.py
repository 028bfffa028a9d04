"""Equity curves: a ledger in memory, measured anew for each window, its rows mostly written before."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl

from datasets.figures.equity import (
    EquityCurve,
    EquitySummary,
    Sessions,
    compounded,
    make_sessions,
    summarised,
)
from datasets.figures.series import Dates, Floats
from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.books import holds_book
from serve.pages.duckdb import Engine
from serve.pages.json import NO_ROWS, BodyChunks, Rows, day_or_null, writable
from serve.pages.query import Found, PageQuery
from serve.pages.sql import select_all

_ROW: Final = tuple(column.name for column in ROWS["equity"].columns)
LEDGER_COLUMNS: Final = tuple(name for name in _ROW if name in TABLES["portfolio"])
"""What of the ledger a curve is made of."""
_COMPOUNDED: Final = "cumulative_return"
"""Another number in every window that begins on another day."""
_BELOW_PEAK: Final = ("peak_equity", "drawdown", "drawdown_pct")
"""The whole ledger's numbers, from the session on at which the window reaches the ledger's own peak."""
_BEFORE, _AFTER = _ROW[: _ROW.index(_COMPOUNDED)], _ROW[_ROW.index(_BELOW_PEAK[-1]) + 1 :]
_SUMMARY: Final = tuple(field.name for field in fields(EquitySummary))
_DAYS: Final = ("first_date", "last_date", "max_drawdown_date")
_TEXT_BYTES: Final = 41
"""What a text takes in memory beside its bytes: its header, and its place in a list."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A whole ledger of one book, ready to be measured over any window.

    Attributes
    ----------
    dates
        Day of each session, ascending.
    sessions
        What no window changes, as long as `dates`.
    peak
        ``peak_equity`` of the window that is the whole ledger.
    joints
        JSON between the compounded returns, one more than there are sessions: joint n ends session n - 1 and begins
        session n, up to the number of ``cumulative_return``.
    falls
        JSON of peak and drawdowns in the window that is the whole ledger, by session.
    """

    dates: Dates
    sessions: Sessions
    peak: Floats
    joints: Sequence[bytes]
    falls: Sequence[bytes]

    @property
    def bytes(self) -> int:
        """Memory taken."""
        measured = (getattr(self.sessions, field.name) for field in fields(Sessions))
        numbers: Iterable[npt.NDArray[Any]] = (self.dates, self.peak, *measured)
        texts = (*self.joints, *self.falls)
        return sum(x.nbytes for x in numbers) + sum(map(len, texts)) + len(texts) * _TEXT_BYTES


@dataclass(frozen=True, slots=True)
class Curve:
    """A page of a window, and what the whole window comes to.

    Attributes
    ----------
    rows
        JSON array of the page's rows.
    returned, total
        Rows of the page and of the window.
    summary
        JSON-ready; of an empty window every figure is null.
    """

    rows: BodyChunks
    returned: int
    total: int
    summary: dict[str, Any]


def make_ledger(frame: pl.DataFrame) -> Ledger:
    """Prepare a ledger.

    Parameters
    ----------
    frame
        All rows of one book, ascending, with :data:`LEDGER_COLUMNS`.
    """
    sessions = make_sessions(_floats(frame, "starting_equity"), _floats(frame, "ending_equity"))
    whole = compounded(sessions)
    rows = frame.with_columns(pl.Series("period_return", sessions.period_return, nan_to_null=True))
    number = f',"{_COMPOUNDED}":'.encode()
    begun = [row[:-1] + number for row in _objects(rows.select(_BEFORE))]
    ended = [b"," + row[1:] for row in _objects(rows.select(_AFTER))]
    joints = [b",".join(pair) for pair in zip(ended[:-1], begun[1:], strict=True)]
    return Ledger(
        frame["date"].to_numpy(),
        sessions,
        whole.peak_equity,
        [*begun[:1], *joints, *ended[-1:]],
        _falls(whole, slice(None)),
    )


def curve(ledger: Ledger, book: str, window: tuple[int, int], *, offset: int, limit: int) -> Curve:
    """Measure a window.

    Parameters
    ----------
    book
        For the summary.
    window
        Number of its first session, and of the one after its last.
    offset, limit
        The page of it.
    """
    start, end = window
    sessions = ledger.sessions.window(start, end)
    measured = compounded(sessions)
    summary = summarised(ledger.dates[start:end], sessions, measured)
    first = min(offset, end - start)
    last = min(first + limit, end - start)
    rows = _rows(ledger, measured, start, slice(first, last))
    return Curve(rows, last - first, end - start, _json_ready(summary, book))


def summary_of_nothing(book: str) -> dict[str, Any]:
    """Return the summary of a book that has no ledger."""
    none = np.empty(0)
    sessions = make_sessions(none, none)
    return _json_ready(summarised(none.astype("datetime64[D]"), sessions, compounded(sessions)), book)


def _rows(ledger: Ledger, measured: EquityCurve, start: int, page: slice) -> BodyChunks:
    count = page.stop - page.start
    if not count:
        return (b"[]",)
    first, end = start + page.start, start + page.stop
    # The same bits are the same text, which equal numbers need not be: there are two zeros.
    peaks = measured.peak_equity[page].view(np.int64), ledger.peak[first:end].view(np.int64)
    (own,) = np.nonzero(peaks[0] != peaks[1])
    known = page.start if not own.size else page.start + int(own[-1]) + 1
    pieces: list[bytes] = [b""] * (3 * count)
    pieces[0::3] = ledger.joints[first:end]
    pieces[1::3] = _numbers(measured.cumulative_return[page])
    pieces[2::3] = [*_falls(measured, slice(page.start, known)), *ledger.falls[start + known : end]]
    # No text or object stands in a row, so the only brackets are those of the rows themselves.
    before, after = ledger.joints[first], ledger.joints[end]
    pieces[0] = before[before.index(b"{") :]
    pieces.append(after[: after.index(b"}") + 1])
    return (b"[", b"".join(pieces), b"]")


def _falls(measured: EquityCurve, rows: slice) -> list[bytes]:
    peak, drawdown, drawdown_pct = (_numbers(getattr(measured, name)[rows]) for name in _BELOW_PEAK)
    return [
        b',"peak_equity":%b,"drawdown":%b,"drawdown_pct":%b' % row
        for row in zip(peak, drawdown, drawdown_pct, strict=True)
    ]


def _numbers(values: npt.NDArray[np.float64]) -> list[bytes]:
    """Write numbers as :func:`serve.pages.json.to_json` does, NaN as null."""
    if not values.size:
        return []
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")


def _objects(rows: pl.DataFrame) -> list[bytes]:
    buffer = io.BytesIO()
    writable(rows).write_ndjson(buffer)
    return buffer.getvalue().splitlines()


def _json_ready(summary: EquitySummary, book: str) -> dict[str, Any]:
    figures = {name: getattr(summary, name) for name in _SUMMARY}
    return {"book": book, **figures, **{name: day_or_null(figures[name]) for name in _DAYS}}


def _floats(frame: pl.DataFrame, column: str) -> npt.NDArray[np.float64]:
    return frame[column].fill_null(float("nan")).to_numpy()


_TABLE: Final = TABLES["portfolio"]


class Ledgers:
    """What equity curves are made of. Safe to share between threads.

    Parameters
    ----------
    engine
        What reads the files.
    cache
        Where ledgers stay.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[Ledger]) -> None:
        self._engine = engine
        self._cache = cache

    def cached(self, snapshot: Snapshot, book: str) -> Ledger | None:
        """Return a book's ledger when it was read before."""
        return self._cache.get(snapshot.key, book)

    def load(self, snapshot: Snapshot, book: str) -> Ledger:
        """Return a book's ledger.

        Raises
        ------
        SnapshotCorrupt
            When the file is gone or cannot be read.
        """

        def read() -> Ledger:
            file = snapshot.file("portfolio", book)
            return make_ledger(self._engine.frame(select_all(_TABLE, file, LEDGER_COLUMNS)))

        return self._cache.get_or_load(snapshot.key, book, read, lambda ledger: ledger.bytes)


_MAX_SESSIONS: Final = 5_000
"""Sessions that may be measured on the event loop; more would keep other requests waiting."""


class CurvePages:
    """Pages of equity curves: measured over the window before it is paged.

    Parameters
    ----------
    ledgers
        What they are made of.
    """

    def __init__(self, ledgers: Ledgers) -> None:
        self._ledgers = ledgers

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Measure a window that is not too long of a ledger in memory."""
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return _no_curve(query)
        ledger = self._ledgers.cached(snapshot, book)
        if ledger is None:
            return None
        start, end = _window(query, ledger)
        return None if end - start > _MAX_SESSIONS else _measured(query, ledger, start, end)

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Measure a window."""
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return _no_curve(query)
        ledger = self._ledgers.load(snapshot, book)
        return _measured(query, ledger, *_window(query, ledger))


def _window(query: PageQuery, ledger: Ledger) -> tuple[int, int]:
    """Return the number of the window's first session, and of the one after its last."""
    days, first, last = ledger.dates, query.first, query.last
    start = 0 if first is None else int(days.searchsorted(np.datetime64(first, "D"), "left"))
    end = len(days) if last is None else int(days.searchsorted(np.datetime64(last, "D"), "right"))
    return start, max(start, end)


def _measured(query: PageQuery, ledger: Ledger, start: int, end: int) -> Found:
    found = curve(ledger, query.book or "", (start, end), offset=query.offset, limit=query.limit)
    return Found(Rows(found.rows, found.returned, found.total), summary=found.summary)


def _no_curve(query: PageQuery) -> Found:
    return Found(NO_ROWS, missing=(query.table,), summary=summary_of_nothing(query.book or ""))
