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
from serve.pages.json import NO_ROWS
from serve.pages.query import BOOK, DECISION, EQUITY, PageQuery, PageResult, TableView, UnknownSymbol, Week
from serve.pages.row_table import RowsDamaged
from serve.pages.row_tables import RowTables
from serve.pages.sql import PublishedFile, compile_page, select_all
from serve.pages.symbols import RunSymbols

_MAX_SCANNED: Final = 500_000
"""Most rows scanned on the event loop; more would keep other requests waiting."""
_WEEK_BYTES: Final = 170
"""Memory of a week, about."""


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
        """Sum the rows once: entry n is the number of rows of the weeks before week n."""
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
    """Rebalance indexes of snapshots, each read once.

    Parameters
    ----------
    engine
        Reads the files.
    cache
        Keeps the indexes.
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
            columns = ["date", "week_status"]
            if "n_symbols" in snapshot.columns("rebalances"):
                columns.append("n_symbols")
            frame = self._engine.frame(select_all(TABLES["rebalances"], snapshot.file("rebalances"), columns))
            symbols = frame["n_symbols"].to_list() if "n_symbols" in columns else None
            return RebalanceIndex(frame["date"].to_list(), frame["week_status"].to_list(), symbols)

        return self._cache.get_or_load(snapshot.key, None, read, lambda x: _WEEK_BYTES * len(x.dates))


class Source(Protocol):
    """Answers the queries of some kinds of row."""

    def cached(self, query: PageQuery, snapshot: Snapshot) -> PageResult | None:
        """Answer from memory alone and at once; None when that takes more."""
        ...

    def load(self, query: PageQuery, snapshot: Snapshot) -> PageResult:
        """Answer, reading files where needed; may take long."""
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

    def cached(self, query: PageQuery, snapshot: Snapshot) -> PageResult | None:
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
        # An open table implies that its snapshot was opened.
        return source.cached(query, snapshot) if source is self._tables or snapshot.opened else None

    def load(self, query: PageQuery, snapshot: Snapshot) -> PageResult:
        """Answer, reading files where needed; may take long.

        Raises
        ------
        ApiError
            As above.
        SnapshotCorrupt, StorageUnavailable
            When a file is gone or cannot be read.
        """
        return self._others.get(query.row, self._tables).load(query, snapshot)


class TablePages:
    """Pages of stored rows: cut from a table of JSON rows, else read by the engine.

    Parameters
    ----------
    engine
        Reads the files.
    tables, indexes, symbols
        Caches of them.
    """

    def __init__(
        self, engine: Engine, tables: RowTables, indexes: RebalanceIndexes, symbols: RunSymbols
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._indexes = indexes
        self._symbols = symbols

    def cached(self, query: PageQuery, snapshot: Snapshot) -> PageResult | None:
        """Cut a page from a table that is open, if that takes no time."""
        table = self._tables.get(query.snapshot, _view(query))
        if table is None:
            return None
        week = None
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
        return None if rows is None or unknown is None else PageResult(rows, unknown=unknown, week=week)

    def load(self, query: PageQuery, snapshot: Snapshot) -> PageResult:
        """Cut a page from a table, or run its SQL."""
        view = _view(query)
        n_rows = snapshot.n_rows(query.table, view.book)
        has_any = (
            n_rows > 0 if view.book is None else holds_book(snapshot, query.table, view.book, raw=query.raw)
        )
        n_weeks = snapshot.n_rows("rebalances") if query.table == "decisions" else 0
        index = week = None
        if n_weeks and (query.first is not None or query.last is not None):
            index = self._indexes.load(snapshot)
        if query.row == DECISION:
            if index is None:
                return PageResult(NO_ROWS, missing=("rebalances",))
            week = index.week(query.first)
            if week.symbols is None:
                return PageResult(NO_ROWS, missing=("decisions",), week=week)
        if not has_any:
            return PageResult(NO_ROWS, missing=(query.table,), week=week)
        unknown: tuple[UnknownSymbol, ...] = ()
        if query.symbols is not None:
            unknown = self._symbols.unknown(snapshot, query.symbols, raw=query.raw)
        table, rows = self._tables.load(snapshot, view), None
        if table is not None:
            try:
                rows = table.cut(query)
            except RowsDamaged:
                self._tables.discard(snapshot, view)
        if rows is None:
            span = None if index is None else index.rows_between(query.first, query.last, n_rows)
            started = time.perf_counter()
            file = PublishedFile(snapshot.file(query.table, view.book), snapshot.columns(query.table), n_rows)
            rows = self._engine.page(compile_page(query, file, span))
            self._tables.record_miss(snapshot, view, n_rows, time.perf_counter() - started)
        return PageResult(rows, unknown=unknown, week=week)


def _view(query: PageQuery) -> TableView:
    """Return the table that holds the rows of a query."""
    return TableView(query.table, query.book if TABLES[query.table].partition else None, query.row, query.raw)
