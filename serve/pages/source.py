"""Answers page queries: from memory at once, from the files on a thread."""

from __future__ import annotations

import datetime as dt
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Protocol

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.books import holds_book
from serve.pages.duckdb import Engine
from serve.pages.json import NO_ROWS, Rows
from serve.pages.query import BOOK, DECISION, EQUITY, Found, PageQuery, TableView, UnknownSymbol, Week
from serve.pages.row_table import RowsDamaged
from serve.pages.row_tables import RowTables
from serve.pages.sql import compile_page, select_all
from serve.pages.symbols import RunSymbols

_MAX_SCANNED: Final = 500_000
"""Rows that may be gone through on the event loop; more would keep other requests waiting."""
_WEEKS: Final = TABLES["rebalances"]
_COLUMNS: Final = tuple(column.name for column in _WEEKS)
_WEEK_BYTES: Final = 170
"""What a week takes in memory, about."""


@dataclass(frozen=True, slots=True)
class RebalanceIndex:
    """One run's rebalance weeks, ascending.

    Attributes
    ----------
    dates, statuses
        Day and status of each week.
    symbols
        Rows of each week's cross-section; None when the run sealed no decisions.
    """

    dates: Sequence[dt.date]
    statuses: Sequence[str]
    symbols: Sequence[int] | None
    _ends: Sequence[int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sum the rows once: entry n is how many the weeks before the n-th have."""
        ends = None if self.symbols is None else list(accumulate(self.symbols, initial=0))
        object.__setattr__(self, "_ends", ends)

    def week(self, day: dt.date | None) -> Week:
        """Return the week of a rebalance day, which every query of a cross-section has.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` with the rebalance days around a day that is none.
        """
        assert day is not None, "a cross-section is of one day"
        place = bisect_left(self.dates, day)
        if place < len(self.dates) and self.dates[place] == day:
            return Week(self.statuses[place], None if self.symbols is None else self.symbols[place])
        raise ApiError(
            "rebalance_not_found",
            f"{day.isoformat()} is not a rebalance date of this run.",
            self._around(day),
        )

    @property
    def rows(self) -> int | None:
        """Rows of all cross-sections together; None when the run sealed no decisions."""
        return None if self._ends is None else self._ends[-1]

    def rows_between(self, first: dt.date | None, last: dt.date | None, rows: int) -> tuple[int, int] | None:
        """Return the place of the first row of a span of days among all rows by day, and how many it has.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.
        rows
            Of the file; where these are not those of the weeks, nothing is known of their places.
        """
        if self._ends is None or self.rows != rows:
            return None
        start = 0 if first is None else bisect_left(self.dates, first)
        end = len(self.dates) if last is None else bisect_right(self.dates, last)
        return self._ends[start], self._ends[end] - self._ends[start]

    def _around(self, day: dt.date) -> dict[str, str | None]:
        """Return the first and last rebalance days, and those before and after a day that is none."""
        before = bisect_left(self.dates, day) - 1
        after = bisect_right(self.dates, day)
        return {
            "first": self._written(0),
            "last": self._written(len(self.dates) - 1),
            "previous": self._written(before),
            "next": self._written(after),
        }

    def _written(self, place: int) -> str | None:
        return self.dates[place].isoformat() if 0 <= place < len(self.dates) else None


class RebalanceIndexes:
    """Reads the index of a snapshot once.

    Parameters
    ----------
    engine
        What reads the files.
    cache
        Where indexes stay.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[RebalanceIndex]) -> None:
        self._engine = engine
        self._cache = cache
        self.get: Final = cache.get
        """Return the index of a snapshot when it was read before; its name there is None."""

    def load(self, snapshot: Snapshot) -> RebalanceIndex:
        """Return the index of a snapshot that has the table.

        Raises
        ------
        SnapshotCorrupt
            When the file cannot be read.
        """

        def read() -> RebalanceIndex:
            file, present = snapshot.file("rebalances"), snapshot.columns("rebalances")
            columns = [name for name in _COLUMNS if name in present]
            frame = self._engine.frame(select_all(_WEEKS, file, columns))
            symbols = frame["n_symbols"].to_list() if "n_symbols" in frame.columns else None
            return RebalanceIndex(frame["date"].to_list(), frame["week_status"].to_list(), symbols)

        return self._cache.get_or_load(snapshot.key, None, read, lambda x: _WEEK_BYTES * len(x.dates))


class Source(Protocol):
    """Answers the queries of some kinds of row."""

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Answer from memory alone and at once; None when that takes more."""
        ...

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Answer, from the files where it must be; may take long."""
        ...


class Pages:
    """Answers page queries. Safe to share between threads.

    Parameters
    ----------
    tables, curves, books
        The sources of stored rows, of equity curves and of the list of books.
    """

    def __init__(self, tables: Source, curves: Source, books: Source) -> None:
        self._tables = tables
        self._others = {EQUITY: curves, BOOK: books}

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Answer from memory alone and at once; None when that takes more.

        Parameters
        ----------
        snapshot
            The one the query names.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` or ``unknown_book``.
        """
        source = self._others.get(query.row, self._tables)
        # An open table says that its snapshot was opened.
        return source.cached(query, snapshot) if source is self._tables or snapshot.opened else None

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Answer, from the files where it must be; may take long.

        Raises
        ------
        ApiError
            As above.
        SnapshotCorrupt, StorageUnavailable
            When a file is gone or cannot be read.
        """
        return self._others.get(query.row, self._tables).load(query, snapshot)


class TablePages:
    """Pages of stored rows: cut from a table of JSON rows, else asked of the engine.

    Parameters
    ----------
    engine
        What reads the files.
    tables, indexes, symbols
        What is cached of them.
    """

    def __init__(
        self, engine: Engine, tables: RowTables, indexes: RebalanceIndexes, symbols: RunSymbols
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._indexes = indexes
        self._symbols = symbols

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Cut a page from a table that is open, if that takes no time."""
        table, week = self._tables.get(query.snapshot, _view(query)), None
        if table is None:
            return None
        if query.row == DECISION:
            index = self._indexes.get(query.snapshot, None)
            if index is None:
                return None
            week = index.week(query.first)
        unknown: tuple[UnknownSymbol, ...] | None = ()
        if query.symbols is not None:
            unknown = self._symbols.cached_unknown(snapshot, query.symbols, raw=query.raw)
        try:
            rows = None if unknown is None else table.cut(query, _MAX_SCANNED)
        except RowsDamaged:
            return None
        return None if rows is None or unknown is None else Found(rows, unknown=unknown, week=week)

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Cut a page from a table, or run its SQL."""
        index, week = None, None
        dated = query.first is not None or query.last is not None
        if query.table == "decisions" and dated and snapshot.has_rows("rebalances"):
            index = self._indexes.load(snapshot)
            week = index.week(query.first) if query.row == DECISION else None
        empty = _empty(query, snapshot, week)
        if empty is not None:
            return empty
        unknown: tuple[UnknownSymbol, ...] = ()
        if query.symbols is not None:
            unknown = self._symbols.unknown(snapshot, query.symbols, raw=query.raw)
        return Found(self._rows(query, snapshot, index), unknown=unknown, week=week)

    def _rows(self, query: PageQuery, snapshot: Snapshot, index: RebalanceIndex | None) -> Rows:
        view = _view(query)
        table = self._tables.load(snapshot, view)
        if table is not None:
            try:
                return table.cut(query)
            except RowsDamaged:
                self._tables.discard(snapshot, view)
        days = None
        if index is not None:
            days = index.rows_between(query.first, query.last, snapshot.entry(query.table).rows)
        started = time.perf_counter()
        rows = self._engine.page(compile_page(query, view.book, snapshot, days))
        self._tables.record_miss(snapshot, view, time.perf_counter() - started)
        return rows


def _view(query: PageQuery) -> TableView:
    """Return the table that holds the rows of a query."""
    return TableView(query.table, query.book if TABLES[query.table].partition else None, query.row, query.raw)


def _empty(query: PageQuery, snapshot: Snapshot, week: Week | None) -> Found | None:
    """Return the empty page where the run holds no rows for a query; None where it holds some.

    Parameters
    ----------
    week
        Of a cross-section; None when the run has no rebalance weeks.
    """
    if query.row == DECISION:
        if week is None:
            return Found(NO_ROWS, missing=("rebalances",))
        if week.symbols is None:
            return Found(NO_ROWS, missing=("decisions",), week=week)
    if TABLES[query.table].partition:
        has_any = holds_book(snapshot, query.table, query.book or "", raw=query.raw)
    else:
        has_any = snapshot.has_rows(query.table)
    return None if has_any else Found(NO_ROWS, missing=(query.table,), week=week)
