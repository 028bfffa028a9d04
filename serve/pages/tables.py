"""Pages of stored rows, cut from a row table or read from the files; and the decision which row tables to build."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import math
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import structlog
from polars.exceptions import PanicException

from datasets.snapshot import Snapshot
from schemas.errors import ApiError, DiskUnavailable
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.cache import SizedLRUCache, SnapshotKey
from serve.pages.books import holds_book
from serve.pages.duckdb import Engine, PublishedFile
from serve.pages.query import (
    DECISION,
    NO_ROWS,
    PageQuery,
    PageResult,
    PageWork,
    TableView,
    UnknownSymbol,
    Week,
)
from serve.pages.row_folder import MAX_SHARE, RowFolder
from serve.pages.row_table import NotTabled, RowsDamaged, RowTable, make_batch, table_source
from serve.pages.symbols import RunSymbols

_log = structlog.get_logger("serve.rows")

_WEEK: Final = ("date", "week_status", "n_symbols")
_WEEK_BYTES: Final = 170
"""Approximate memory of a week, in bytes."""
_BYTES_PER_VALUE: Final = 28
"""Approximate bytes of a value as JSON with its name; gives the estimated size of a table."""
_BUILD_BYTES_PER_SECOND: Final = 150e6
"""Approximate bytes built per second on one core; gives the estimated cost of a table."""
_COST_SHARE_WHEN_FREE: Final = 0.25
"""Fraction of that cost that direct answers must reach before the table is built, while there is free space."""
_MAX_COSTS: Final = 4096
"""Maximum number of tables for which the cost of direct answers is summed."""
_RETRY_SECONDS: Final = 30.0
"""Seconds before a failed build is retried."""
_Key: TypeAlias = tuple[SnapshotKey, TableView]


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
        """Return the week of a rebalance day.

        Raises
        ------
        ApiError
            ``rebalance_not_found``, with the first, last and nearest rebalance days, when `day` is not one.
        """
        assert day is not None, "a query of a cross-section has a day"
        place = bisect_left(self.dates, day)
        if place < len(self.dates) and self.dates[place] == day:
            return Week(self.statuses[place], None if self.symbols is None else self.symbols[place])
        around = {
            "first": self.dates[:1],
            "last": self.dates[-1:],
            "previous": self.dates[max(0, place - 1) : place],
            "next": self.dates[place : place + 1],
        }
        raise ApiError(
            "rebalance_not_found",
            f"{day.isoformat()} is not a rebalance date of this run.",
            {name: days[0].isoformat() if days else None for name, days in around.items()},
        )


class TablePages:
    """Cuts pages of stored rows from a row table, or reads them with the engine.

    Parameters
    ----------
    engine
        Reads the files.
    tables, symbols
        The row tables, and the symbols of runs.
    weeks
        Cache of rebalance indexes.
    """

    def __init__(
        self, engine: Engine, tables: RowTables, weeks: SizedLRUCache[RebalanceIndex], symbols: RunSymbols
    ) -> None:
        self._engine = engine
        self._tables = tables
        self._weeks = weeks
        self._symbols = symbols

    def page(self, query: PageQuery, snapshot: Snapshot) -> PageResult | PageWork:
        """Cut a page from a table in memory, or return the work that reads it from its file.

        Raises
        ------
        ApiError
            ``rebalance_not_found``; the work also raises ``unknown_book``.
        """
        book = query.book if TABLES[query.table].partition else None
        view = TableView(query.table, book, query.row, query.raw)
        table = self._tables.get(query.snapshot, view)
        weeks = self._weeks.get(query.snapshot, None) if query.row == DECISION else None
        page = None
        if table is not None and (weeks is not None or query.row != DECISION):
            page = self._cut(query, snapshot, table, weeks)
        return partial(self._read, query, snapshot, view, weeks) if page is None else page

    def _cut(
        self, query: PageQuery, snapshot: Snapshot, table: RowTable, weeks: RebalanceIndex | None
    ) -> PageResult | None:
        """Cut a page from a table; None if that would take too long, the symbols are not in memory, or the table is damaged."""
        week = None if weeks is None else weeks.week(query.first)
        unknown = self._unknown(query, snapshot, at_once=True)
        if unknown is None:
            return None
        try:
            rows = table.cut(query)
        except RowsDamaged as error:
            self._tables.discard(snapshot, table, error)
            return None
        return None if rows is None else PageResult(rows, unknown=unknown, meta=_meta(query, week))

    def _read(
        self, query: PageQuery, snapshot: Snapshot, view: TableView, weeks: RebalanceIndex | None
    ) -> PageResult:
        """Read a page from its file, and count the cost towards building the table.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` or ``unknown_book``.
        SnapshotCorrupt, StorageUnavailable
            When a file is missing or cannot be read.
        """
        week = None
        if query.row == DECISION:
            if weeks is None:
                weeks = _read_weeks(snapshot)
                self._weeks.put(query.snapshot, None, weeks, _WEEK_BYTES * len(weeks.dates))
            if not weeks.dates:
                return PageResult(NO_ROWS, missing=("rebalances",), meta=_meta(query, None))
            week = weeks.week(query.first)
            if week.symbols is None:
                return PageResult(NO_ROWS, missing=("decisions",), meta=_meta(query, week))
        file = _published_file(view, snapshot)
        if file is None:
            return PageResult(NO_ROWS, missing=(query.table,), meta=_meta(query, week))
        unknown = self._unknown(query, snapshot, at_once=False) or ()
        started = time.perf_counter()
        rows = self._engine.page(query, file, None if week is None else week.symbols)
        self._tables.record_miss(snapshot, view, file.rows, time.perf_counter() - started)
        return PageResult(rows, unknown=unknown, meta=_meta(query, week))

    def _unknown(
        self, query: PageQuery, snapshot: Snapshot, *, at_once: bool
    ) -> tuple[UnknownSymbol, ...] | None:
        if query.symbols is None:
            return ()
        return self._symbols.unknown(snapshot, query.symbols, raw=query.raw, at_once=at_once)


def _meta(query: PageQuery, week: Week | None) -> Mapping[str, Any]:
    """Return the members of the meta of a cross-section; none for the pages of other tables."""
    if query.first is None or query.row != DECISION:
        return {}
    return {
        "book": query.book,
        "date": query.first.isoformat(),
        "week_status": None if week is None else week.status,
        "n_symbols": 0 if week is None else week.symbols or 0,
    }


def _read_weeks(snapshot: Snapshot) -> RebalanceIndex:
    present = snapshot.manifest.columns.get("rebalances", ())
    if not present:
        return RebalanceIndex((), (), None)
    columns = [name for name in _WEEK if name in present]
    weeks = snapshot.read("rebalances", columns)
    symbols = weeks["n_symbols"].to_list() if "n_symbols" in columns else None
    return RebalanceIndex(weeks["date"].to_list(), weeks["week_status"].to_list(), symbols)


def _published_file(view: TableView, snapshot: Snapshot) -> PublishedFile | None:
    """Return the file of a table; None when the run has no rows of it. Raises ApiError ``unknown_book``."""
    if view.book is not None and not holds_book(snapshot, view.table, view.book, raw=view.raw):
        return None
    n_rows = snapshot.n_rows(view.table, view.book)
    if view.book is None and not n_rows:
        return None
    return PublishedFile(snapshot.file(view.table, view.book), snapshot.columns(view.table), n_rows)


class RowTables:
    """The row tables that pages are cut from. A table is built once direct answers have cost enough.

    Parameters
    ----------
    engine
        Reads the files.
    cache
        Cache of tables; for tables in a folder, this process's mappings.
    is_served
        Returns whether a snapshot is still served; tables of other snapshots are dropped.
    folder
        Folder of the tables; None keeps them in memory.
    """

    def __init__(
        self,
        engine: Engine,
        cache: SizedLRUCache[RowTable],
        is_served: Callable[[SnapshotKey], bool],
        folder: RowFolder | None = None,
    ) -> None:
        self._engine = engine
        self._cache = cache
        self._is_served = is_served
        self.folder: Final = folder
        self._budget: Final = cache if folder is None else folder
        """Where tables are kept, with its limit and the bytes in use."""
        self.get: Final = cache.get
        """Return an open table; None on a miss."""
        self._cost_s: OrderedDict[_Key, float] = OrderedDict()
        self._retry_at: dict[_Key, float] = {}
        """Monotonic time before which no build starts; infinite during a build, and for a table that cannot be built."""
        self._lock = threading.Lock()
        # One thread: building tables must leave cores to the requests.
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="rows")

    def close(self) -> None:
        """Cancel waiting builds, and wait for the running one."""
        self._builder.shutdown(cancel_futures=True)

    def record_miss(self, snapshot: Snapshot, view: TableView, n_rows: int, seconds: float) -> None:
        """Record the cost of a direct answer; open the table if its file exists, or build it once direct answers have cost enough.

        Parameters
        ----------
        n_rows
            Rows of the table.
        seconds
            Cost of the answer, in seconds.
        """
        key = (snapshot.key, view)
        size = _estimated_bytes(view, n_rows)
        if size > self._budget.limit * MAX_SHARE:
            return
        free = self._budget.bytes + size <= self._budget.limit
        threshold = size / _BUILD_BYTES_PER_SECOND * (_COST_SHARE_WHEN_FREE if free else 1.0)
        with self._lock:
            is_first = key not in self._cost_s
            self._cost_s[key] = cost = self._cost_s.pop(key, 0.0) + seconds
            while len(self._cost_s) > _MAX_COSTS:
                self._cost_s.popitem(last=False)
        build = cost >= threshold
        if build or (is_first and self.folder is not None):
            self._schedule(snapshot, view, build=build)

    def discard(self, snapshot: Snapshot, table: RowTable, error: RowsDamaged) -> None:
        """Close a table whose file was shortened or removed; opening the file again deletes what is left of it."""
        _log.warning("rendered_rows_damaged", alpha=snapshot.alpha_id, reason=str(error))
        self._cache.remove_if(lambda _, cached: cached is table)

    def drop_unserved(self) -> None:
        """Close the tables of snapshots that are no longer served, and remove their files."""
        with self._lock:
            self._retry_at = {key: at for key, at in self._retry_at.items() if self._is_served(key[0])}
        self._close_unusable()
        if self.folder is not None:
            self.folder.drop_unserved(self._is_served)

    def _schedule(self, snapshot: Snapshot, view: TableView, *, build: bool) -> None:
        """Schedule opening a table, and building it if there is none and `build` is true."""
        key = (snapshot.key, view)
        with self._lock:
            if time.monotonic() < self._retry_at.get(key, 0.0):
                return
            self._retry_at[key] = math.inf
        with contextlib.suppress(RuntimeError):  # the service is shutting down
            self._builder.submit(self._open_and_cache, snapshot, view, build=build)

    def _open_and_cache(self, snapshot: Snapshot, view: TableView, *, build: bool) -> None:
        owner, retry_at = snapshot.key, 0.0
        try:
            # It may have been replaced or opened meanwhile.
            if self._is_served(owner) and (owner, view) not in self._cache:
                table = self._open_or_build(snapshot, view, build=build)
                if table is not None:
                    self._cost_s.pop((owner, view), None)
                    self._cache.put(owner, view, table, table.bytes)
        except NotTabled as error:
            _log.info("table_not_cached", alpha=owner[0], reason=str(error))
            retry_at = math.inf
        except (Exception, PanicException) as error:  # noqa: BLE001 - pages are still answered from the files, and report their faults
            _log.warning("table_not_cached", alpha=owner[0], kind=type(error).__name__, reason=str(error))
            retry_at = time.monotonic() + _RETRY_SECONDS
        finally:
            self._close_unusable()
            pa.default_memory_pool().release_unused()  # otherwise Arrow keeps it
            with self._lock:
                self._retry_at.pop((owner, view), None)
                if retry_at:
                    self._retry_at[owner, view] = retry_at

    def _open_or_build(self, snapshot: Snapshot, view: TableView, *, build: bool) -> RowTable | None:
        owner, source = snapshot.key, table_source(view, snapshot)
        size = _estimated_bytes(view, snapshot.n_rows(view.table, view.book))
        if self.folder is not None:
            try:
                if build:
                    with contextlib.suppress(BlockingIOError):  # another process builds a table
                        self.folder.write(
                            owner, source.digest, size, lambda spool: make_batch(self._engine, source, spool)
                        )
                return self.folder.open(owner, source.digest)
            except (OSError, DiskUnavailable) as error:
                _log.warning("rendered_rows_in_memory", alpha=owner[0], reason=str(error))
        if not build:
            return None
        if size > self._cache.limit * MAX_SHARE:
            raise NotTabled("it would take too much memory")
        self._cache.make_room(size)
        return RowTable(make_batch(self._engine, source, io.BytesIO))

    def _close_unusable(self) -> None:
        self._cache.remove_if(lambda owner, table: table.removed or not self._is_served(owner))


def _estimated_bytes(view: TableView, n_rows: int) -> int:
    return n_rows * len(ROWS[view.row].columns) * _BYTES_PER_VALUE
