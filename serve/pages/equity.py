"""Equity curves: a ledger in memory, measured over the requested window and then paged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import polars as pl

from datasets.figure_data import floats_of
from datasets.figures.equity import NO_SESSIONS, equity_curve, equity_summary
from datasets.figures.series import Dates, Floats, Window
from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.books import holds_book
from serve.pages.duckdb import frame_rows, writable
from serve.pages.query import NO_ROWS, PageQuery, PageResult, PageWork

_ROW: Final = tuple(column.name for column in ROWS["equity"].columns)
LEDGER_COLUMNS: Final = tuple(name for name in _ROW if name in TABLES["portfolio"])
"""Columns of the ledger that a curve is computed from."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one book, ready to be measured over any window.

    Attributes
    ----------
    rows
        The columns :data:`LEDGER_COLUMNS`, instants as text.
    dates
        Day of each session.
    starting, ending
        Opening and closing equity; NaN for null.
    """

    rows: pl.DataFrame
    dates: Dates
    starting: Floats
    ending: Floats

    @property
    def bytes(self) -> int:
        """Memory in bytes."""
        return int(self.rows.estimated_size()) + 3 * self.dates.nbytes


def make_ledger(frame: pl.DataFrame) -> Ledger:
    """Build a ledger from all rows of one book, ascending by date, with the columns :data:`LEDGER_COLUMNS`."""
    starting, ending = (floats_of(frame, name) for name in ("starting_equity", "ending_equity"))
    return Ledger(writable(frame), frame["date"].to_numpy(), starting, ending)


def curve(ledger: Ledger, book: str, window: slice, *, offset: int, limit: int) -> PageResult:
    """Measure a window, and return a page of it.

    Parameters
    ----------
    book
        Name of the book, for the summary.
    window
        Its sessions.
    offset, limit
        Page of the window.
    """
    starting, ending = ledger.starting[window], ledger.ending[window]
    measured = equity_curve(starting, ending)
    summary = equity_summary(ledger.dates[window], starting, ending, measured)
    page = slice(offset, offset + limit)
    stored = ledger.rows[window][page]
    # Not a Polars query, which would wait for its threads longer than a page takes to compute.
    columns = [
        stored[name]
        if name in LEDGER_COLUMNS
        else pl.Series(name, getattr(measured, name)[page], nan_to_null=True)
        for name in _ROW
    ]
    rows = frame_rows(pl.DataFrame(columns), starting.size)
    return PageResult(rows, meta={"summary": {"book": book, **summary}})


def curve_page(cache: SizedLRUCache[Ledger], query: PageQuery, snapshot: Snapshot) -> PageResult | PageWork:
    """Measure a window and return a page of it, or the work if the ledger is not in the cache.

    Raises ApiError ``unknown_book``, as the work does.
    """
    ledger = cache.get(snapshot.key, query.book)
    work = partial(_measure, cache, query, snapshot, ledger)
    return work if ledger is None or not snapshot.opened else work()


def _measure(
    cache: SizedLRUCache[Ledger], query: PageQuery, snapshot: Snapshot, ledger: Ledger | None
) -> PageResult:
    book = query.book or ""
    if not holds_book(snapshot, query.table, book, raw=query.raw):
        summary = {"book": book, **NO_SESSIONS}
        return PageResult(NO_ROWS, missing=(query.table,), meta={"summary": summary})
    if ledger is None:
        ledger = make_ledger(snapshot.read("portfolio", LEDGER_COLUMNS, book))
        cache.put(snapshot.key, query.book, ledger, ledger.bytes)
    window = Window(query.first, query.last).rows(ledger.dates)
    return curve(ledger, book, window, offset=query.offset, limit=query.limit)
