"""Equity curves: a ledger in memory, measured for each window before it is paged."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
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
from serve.pages.duckdb import Engine
from serve.pages.json import NO_ROWS, Rows, day_or_null, writable
from serve.pages.query import PageQuery, PageResult

_ROW: Final = tuple(column.name for column in ROWS["equity"].columns)
LEDGER_COLUMNS: Final = tuple(name for name in _ROW if name in TABLES["portfolio"])
"""What of the ledger a curve is made of."""
_MEASURED: Final = tuple(name for name in _ROW if name not in LEDGER_COLUMNS)
_DAYS: Final = ("first_date", "last_date", "max_drawdown_date")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one book, ready to be measured over any window.

    Attributes
    ----------
    frame
        All rows, ascending by day, with :data:`LEDGER_COLUMNS`; instants as the texts they are served as.
    dates
        Day of each session.
    starting, ending
        Opening and closing equity; NaN stands for null.
    """

    frame: pl.DataFrame
    dates: Dates
    starting: Floats
    ending: Floats

    def between(self, first: dt.date | None, last: dt.date | None) -> tuple[int, int]:
        """Return the number of the first session of some days, and of the one after their last; None leaves an end open."""
        days = self.dates
        start = 0 if first is None else int(days.searchsorted(np.datetime64(first, "D"), "left"))
        end = len(days) if last is None else int(days.searchsorted(np.datetime64(last, "D"), "right"))
        return start, max(start, end)

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return int(self.frame.estimated_size()) + 3 * self.dates.nbytes


def make_ledger(frame: pl.DataFrame) -> Ledger:
    """Prepare a ledger of all rows of one book, ascending, with :data:`LEDGER_COLUMNS`."""
    starting, ending = (_floats(frame, name) for name in ("starting_equity", "ending_equity"))
    return Ledger(writable(frame), frame["date"].to_numpy(), starting, ending)


def curve(ledger: Ledger, book: str, window: tuple[int, int], *, offset: int, limit: int) -> PageResult:
    """Measure a window, and return a page of it.

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
    starting, ending = ledger.starting[start:end], ledger.ending[start:end]
    measured = equity_curve(starting, ending)
    summary = equity_summary(ledger.dates[start:end], starting, ending, measured)
    page = slice(min(offset, end - start), min(offset + limit, end - start))
    # One query of Polars for all columns: each takes longer than the work it does on a page.
    rows = ledger.frame[start + page.start : start + page.stop].hstack(
        [pl.Series(name, getattr(measured, name)[page]) for name in _MEASURED]
    )
    rows = rows.select(pl.col(name).fill_nan(None) if name in _MEASURED else pl.col(name) for name in _ROW)
    page_rows = Rows.of_frame(rows, end - start)
    return PageResult(page_rows, summary=_json_ready(summary, book))


def empty_summary(book: str) -> dict[str, Any]:
    """Return the summary of a book that has no ledger."""
    none = np.empty(0)
    measured = equity_curve(none, none)
    return _json_ready(equity_summary(none.astype("datetime64[D]"), none, none, measured), book)


def _json_ready(summary: EquitySummary, book: str) -> dict[str, Any]:
    figures = asdict(summary)
    return {"book": book, **figures, **{name: day_or_null(figures[name]) for name in _DAYS}}


def _floats(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].fill_null(float("nan")).to_numpy()


_MAX_SESSIONS: Final = 5_000
"""Most sessions measured on the event loop; more would keep other requests waiting."""


class CurvePages:
    """Pages of equity curves, measured over the window before it is paged. Safe to share between threads.

    Parameters
    ----------
    engine
        Reads the files.
    cache
        Keeps ledgers.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[Ledger]) -> None:
        self._engine = engine
        self._cache = cache

    def page(self, query: PageQuery, snapshot: Snapshot, *, at_once: bool) -> PageResult | None:
        """Measure a window and return a page of it; ApiError ``unknown_book``.

        With `at_once`, of a ledger in memory and a window that is not too long; None for any other.
        """
        if at_once and not snapshot.opened:
            return None
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return PageResult(NO_ROWS, missing=(query.table,), summary=empty_summary(book))

        def read() -> Ledger:
            return make_ledger(self._engine.dataset(snapshot, "portfolio", LEDGER_COLUMNS, book))

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
