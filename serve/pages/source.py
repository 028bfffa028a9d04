"""Pages of stored rows: from memory at once, from the files on a thread."""

from __future__ import annotations

import datetime as dt
import time
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.books import holds_book
from serve.pages.duckdb import Engine
from serve.pages.json import NO_ROWS, Rows
from serve.pages.query import DECISION, PageQuery, PageResult, TableView, UnknownSymbol, Week
from serve.pages.row_table import RowsDamaged, RowTable
from serve.pages.row_tables import RowTables
from serve.pages.sql import PublishedFile, compile_page, select_all
from serve.pages.symbols import RunSymbols

_MAX_SCANNED: Final = 500_000
"""Most rows scanned on the event loop; more would keep other requests waiting."""
_WEEK: Final = ("date", "week_status", "n_symbols")
_WEEK_BYTES: Final = 170
"""Memory of a week, about."""


class RebalanceIndex(NamedTuple):
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
        ends, before, after = (
            self.dates[:1],
            self.dates[max(0, place - 1) : place],
            self.dates[place : place + 1],
        )
        around = {"first": ends, "last": self.dates[-1:], "previous": before, "next": after}
        raise ApiError(
            "rebalance_not_found",
            f"{day.isoformat()} is not a rebalance date of this run.",
            {name: days[0].isoformat() if days else None for name, days in around.items()},
        )


class TablePages:
    """Pages of stored rows: cut from a table of JSON rows, else read by the engine.

    Parameters
    ----------
    engine
        Reads the files.
    tables, symbols
        Caches of them.
    weeks
        Keeps rebalance indexes.
    """

    def __init__(
        self, engine: Engine, tables: RowTables, weeks: SizedLRUCache[RebalanceIndex], symbols: RunSymbols
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._weeks = weeks
        self._symbols = symbols

    def page(self, query: PageQuery, snapshot: Snapshot, *, at_once: bool) -> PageResult | None:
        """Cut a page from a table, or run its SQL.

        Parameters
        ----------
        at_once
            Whether to answer from memory alone; None where that is not possible or takes long.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` or ``unknown_book``.
        SnapshotCorrupt, StorageUnavailable
            When a file is gone or cannot be read.
        """
        table = self._tables.get(query.snapshot, _view(query))
        if at_once and table is None:
            return None
        week = None
        if query.row == DECISION:
            index = self._weeks.get(query.snapshot, None) if at_once else self._index(snapshot)
            if index is None:
                return None
            if not index.dates:
                return PageResult(NO_ROWS, missing=("rebalances",))
            week = index.week(query.first)
            if week.symbols is None:
                return PageResult(NO_ROWS, missing=("decisions",), week=week)
        if table is None and not _has_rows(query, snapshot):
            return PageResult(NO_ROWS, missing=(query.table,), week=week)
        unknown: tuple[UnknownSymbol, ...] | None = ()
        if query.symbols is not None:
            unknown = self._symbols.unknown(snapshot, query.symbols, raw=query.raw, at_once=at_once)
        rows = None if unknown is None else self._rows(query, snapshot, table, at_once=at_once)
        return None if rows is None or unknown is None else PageResult(rows, unknown=unknown, week=week)

    def _rows(
        self, query: PageQuery, snapshot: Snapshot, table: RowTable | None, *, at_once: bool
    ) -> Rows | None:
        if table is not None:
            try:
                rows = table.cut(query, _MAX_SCANNED if at_once else None)
            except RowsDamaged as error:
                self._tables.discard(snapshot, table, error)
            else:
                if rows is not None:
                    return rows
        if at_once:
            return None
        started, view = time.perf_counter(), _view(query)
        n_rows = snapshot.n_rows(query.table, view.book)
        file = PublishedFile(snapshot.file(query.table, view.book), snapshot.columns(query.table), n_rows)
        rows = self._engine.page(compile_page(query, file))
        self._tables.record_miss(snapshot, view, n_rows, time.perf_counter() - started)
        return rows

    def _index(self, snapshot: Snapshot) -> RebalanceIndex:
        def read() -> RebalanceIndex:
            held = snapshot.manifest.columns.get("rebalances", ())
            if not held:
                return RebalanceIndex((), (), None)
            columns = [name for name in _WEEK if name in held]
            weeks = self._engine.frame(select_all(TABLES["rebalances"], snapshot.file("rebalances"), columns))
            symbols = weeks["n_symbols"].to_list() if "n_symbols" in columns else None
            return RebalanceIndex(weeks["date"].to_list(), weeks["week_status"].to_list(), symbols)

        return self._weeks.get_or_load(snapshot.key, None, read, lambda x: _WEEK_BYTES * len(x.dates))


def _view(query: PageQuery) -> TableView:
    """Return the table that holds the rows of a query."""
    return TableView(query.table, query.book if TABLES[query.table].partition else None, query.row, query.raw)


def _has_rows(query: PageQuery, snapshot: Snapshot) -> bool:
    """Whether the run holds rows for the query; ApiError ``unknown_book``."""
    if not TABLES[query.table].partition:
        return snapshot.n_rows(query.table) > 0
    return holds_book(snapshot, query.table, query.book or "", raw=query.raw)
