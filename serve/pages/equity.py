"""Equity curves: a ledger in memory, measured over the requested window and then paged."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figures.equity import EquitySummary, equity_curve, equity_summary
from datasets.figures.series import Dates, Floats
from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.books import holds_book
from serve.pages.duckdb import row_objects, to_json
from serve.pages.query import NO_ROWS, PageQuery, PageResult, Rows

_ROW: Final = tuple(column.name for column in ROWS["equity"].columns)
LEDGER_COLUMNS: Final = tuple(name for name in _ROW if name in TABLES["portfolio"])
"""Columns of the ledger that a curve is computed from."""
_MEASURED: Final = tuple(name for name in _ROW if name not in LEDGER_COLUMNS)
_BEFORE: Final = _ROW[: _ROW.index(_MEASURED[0])]
_AFTER: Final = tuple(name for name in LEDGER_COLUMNS if name not in _BEFORE)
_SUMMARY: Final = tuple(figure.name for figure in fields(EquitySummary))


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one book, ready to be measured over any window.

    Attributes
    ----------
    before, after
        JSON of each row before the measured columns, and after them with a trailing comma; the same for every window.
    dates
        Day of each session.
    starting, ending
        Opening and closing equity; NaN for null.
    """

    before: list[bytes]
    after: list[bytes]
    dates: Dates
    starting: Floats
    ending: Floats

    def between(self, first: dt.date | None, last: dt.date | None) -> tuple[int, int]:
        """Return the range of sessions in a window of days, end exclusive; None leaves an end of the window open."""
        days = self.dates
        start = 0 if first is None else int(days.searchsorted(np.datetime64(first, "D"), "left"))
        end = len(days) if last is None else int(days.searchsorted(np.datetime64(last, "D"), "right"))
        return start, max(start, end)

    @property
    def bytes(self) -> int:
        """Memory in bytes."""
        texts = sum(map(sys.getsizeof, (*self.before, *self.after)))
        return texts + 5 * self.dates.nbytes  # three arrays, and two lists of pointers


def make_ledger(frame: pl.DataFrame) -> Ledger:
    """Build a ledger from all rows of one book, ascending by date, with the columns :data:`LEDGER_COLUMNS`."""
    starting, ending = (_floats(frame, name) for name in ("starting_equity", "ending_equity"))
    before, after = (row_objects(frame.select(names)) for names in (_BEFORE, _AFTER))
    return Ledger(
        [text[:-1] + b"," for text in before],
        [b"," + text[1:] + b"," for text in after],
        frame["date"].to_numpy(),
        starting,
        ending,
    )


def curve(ledger: Ledger, book: str, window: tuple[int, int], *, offset: int, limit: int) -> PageResult:
    """Measure a window, and return a page of it.

    Parameters
    ----------
    book
        Name of the book, for the summary.
    window
        Number of its first session, and of the one after its last.
    offset, limit
        Page of the window.
    """
    start, end = window
    starting, ending = ledger.starting[start:end], ledger.ending[start:end]
    measured = equity_curve(starting, ending)
    summary = equity_summary(ledger.dates[start:end], starting, ending, measured)
    page = slice(min(offset, end - start), min(offset + limit, end - start))
    # Not a Polars query, which would wait for its threads longer than a page takes to compute.
    columns = [pl.Series(name, getattr(measured, name)[page], nan_to_null=True) for name in _MEASURED]
    # The objects hold only numbers, so `},{` occurs only between two objects.
    texts = to_json(pl.DataFrame(columns))[2:-2].split(b"},{")
    shown = slice(start + page.start, start + page.stop)
    # Not strict: without rows, the split yields one empty text.
    parts = zip(ledger.before[shown], texts, ledger.after[shown], strict=False)
    objects = memoryview(b"".join(chain.from_iterable(parts)))[:-1]
    return PageResult(Rows(objects, page.stop - page.start, end - start), summary=_labelled(book, summary))


def empty_summary(book: str) -> dict[str, Any]:
    """Return the summary of a book that has no ledger."""
    empty = np.empty(0)
    measured = equity_curve(empty, empty)
    return _labelled(book, equity_summary(empty.astype("datetime64[D]"), empty, empty, measured))


def _labelled(book: str, summary: EquitySummary) -> dict[str, Any]:
    return {"book": book, **{name: getattr(summary, name) for name in _SUMMARY}}


def _floats(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].fill_null(float("nan")).to_numpy()


_MAX_SESSIONS: Final = 5_000
"""Maximum number of sessions measured on the event loop; more would keep other requests waiting."""


class CurvePages:
    """Pages of equity curves, measured over the window before it is paged. Safe to share between threads.

    Parameters
    ----------
    cache
        Cache of ledgers.
    """

    def __init__(self, cache: SizedLRUCache[Ledger]) -> None:
        self._cache = cache

    def page(self, query: PageQuery, snapshot: Snapshot, *, at_once: bool) -> PageResult | None:
        """Measure a window and return a page of it. Raises ApiError ``unknown_book``.

        With `at_once`, answer only for a ledger in memory and a short window; return None otherwise.
        """
        if at_once and not snapshot.opened:
            return None
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return PageResult(NO_ROWS, missing=(query.table,), summary=empty_summary(book))

        def read() -> Ledger:
            return make_ledger(snapshot.read("portfolio", LEDGER_COLUMNS, book))

        ledger = (
            self._cache.get(snapshot.key, book)
            if at_once
            else self._cache.get_or_load(snapshot.key, book, read, lambda ledger: ledger.bytes)
        )
        if ledger is None:
            return None
        start, end = ledger.between(query.first, query.last)
        if at_once and end - start > _MAX_SESSIONS:
            return None
        return curve(ledger, book, (start, end), offset=query.offset, limit=query.limit)
