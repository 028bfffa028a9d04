"""Pages of stored rows: cut from a table in memory, else read from the files; and which tables are worth their room."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import math
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import structlog
from polars.exceptions import PanicException

from datasets.snapshot import Snapshot
from schemas.errors import ApiError, DiskUnavailable
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.cache import SizedLRUCache, SnapshotKey
from serve.pages.books import holds_book
from serve.pages.duckdb import Engine
from serve.pages.query import (
    DECISION,
    NO_ROWS,
    PageQuery,
    PageResult,
    Rows,
    TableView,
    UnknownSymbol,
    Week,
)
from serve.pages.row_folder import MAX_SHARE, RowFolder
from serve.pages.row_table import NotTabled, RowsDamaged, RowTable, make_batch, table_source
from serve.pages.sql import PublishedFile, compile_page
from serve.pages.symbols import RunSymbols

_log = structlog.get_logger("serve.cache")

_MAX_SCANNED: Final = 500_000
"""Most rows scanned on the event loop; more would keep other requests waiting."""
_WEEK: Final = ("date", "week_status", "n_symbols")
_WEEK_BYTES: Final = 170
"""Approximate memory of a week, in bytes."""
_BYTES_A_VALUE: Final = 28
"""Bytes of a value as JSON with its name, from which the size of a table is estimated."""
_MADE_BYTES_A_SECOND: Final = 150e6
"""Bytes per second of one core, from which the cost of a table is estimated."""
_SHARE_WHEN_FREE: Final = 0.02
"""Fraction of that cost that direct answers must have taken before the table is made, while there is room."""
_MAX_SPENT: Final = 4096
"""Maximum number of tables whose direct answers are counted."""
_REFUSED_SECONDS: Final = 30.0
"""Seconds before a failed table is tried again."""
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
        view = TableView(
            query.table, query.book if TABLES[query.table].partition else None, query.row, query.raw
        )
        table = self._tables.get(query.snapshot, view)
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
        file = None if table is not None else _published(view, snapshot)
        if table is None and file is None:
            return PageResult(NO_ROWS, missing=(query.table,), week=week)
        unknown: tuple[UnknownSymbol, ...] | None = ()
        if query.symbols is not None:
            unknown = self._symbols.unknown(snapshot, query.symbols, raw=query.raw, at_once=at_once)
        rows = None
        if unknown is not None:
            rows = self._cut(query, snapshot, table, _MAX_SCANNED if at_once else None)
        if rows is None and not at_once:
            rows = self._read(query, snapshot, view, file, None if week is None else week.symbols)
        return None if rows is None or unknown is None else PageResult(rows, unknown=unknown, week=week)

    def _cut(
        self, query: PageQuery, snapshot: Snapshot, table: RowTable | None, most: int | None
    ) -> Rows | None:
        """Cut a page from a table; None without one, or where more rows than `most` would be gone through."""
        if table is None:
            return None
        try:
            return table.cut(query, most)
        except RowsDamaged as error:
            self._tables.discard(snapshot, table, error)
            return None

    def _read(
        self,
        query: PageQuery,
        snapshot: Snapshot,
        view: TableView,
        file: PublishedFile | None,
        week_rows: int | None,
    ) -> Rows:
        """Read a page from its file, and count that towards the making of the table."""
        file = file or _published(view, snapshot)
        if file is None:
            return NO_ROWS
        started = time.perf_counter()
        rows = self._engine.page(compile_page(query, file, week_rows))
        self._tables.record_miss(snapshot, view, file.rows, time.perf_counter() - started)
        return rows

    def _index(self, snapshot: Snapshot) -> RebalanceIndex:
        def read() -> RebalanceIndex:
            held = snapshot.manifest.columns.get("rebalances", ())
            if not held:
                return RebalanceIndex((), (), None)
            columns = [name for name in _WEEK if name in held]
            weeks = snapshot.read("rebalances", columns)
            symbols = weeks["n_symbols"].to_list() if "n_symbols" in columns else None
            return RebalanceIndex(weeks["date"].to_list(), weeks["week_status"].to_list(), symbols)

        return self._weeks.get_or_load(snapshot.key, None, read, lambda x: _WEEK_BYTES * len(x.dates))


def _published(view: TableView, snapshot: Snapshot) -> PublishedFile | None:
    """Return the file of a table; None when the run has no rows of it. ApiError ``unknown_book``."""
    if view.book is not None and not holds_book(snapshot, view.table, view.book, raw=view.raw):
        return None
    n_rows = snapshot.n_rows(view.table, view.book)
    if view.book is None and not n_rows:
        return None
    return PublishedFile(snapshot.file(view.table, view.book), snapshot.columns(view.table), n_rows)


class RowTables:
    """The tables that pages are cut from, made once direct answers have cost a part of making them.

    Parameters
    ----------
    engine
        What reads the files.
    cache
        Where tables stay; of those in a folder, what this process has of them.
    is_read
        Whether a snapshot is served or requested by its id: no table of another is kept.
    folder
        Where the rows of tables are; None for memory.
    """

    def __init__(
        self,
        engine: Engine,
        cache: SizedLRUCache[RowTable],
        is_read: Callable[[SnapshotKey], bool],
        folder: RowFolder | None = None,
    ) -> None:
        self._engine = engine
        self._cache = cache
        self._is_read = is_read
        self.folder: Final = folder
        self._bounded: Final = cache if folder is None else folder
        self.get: Final = cache.get
        """Return a table that is open; None on a miss."""
        self._spent: OrderedDict[_Key, float] = OrderedDict()
        self._not_before: dict[_Key, float] = {}
        """When a table may be tried again that is being made, or could not be made."""
        self._lock = threading.Lock()
        # One at a time: making a table must leave cores to the requests.
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="rows")

    def close(self) -> None:
        """Begin no table any more, and wait for the one at work."""
        self._maker.shutdown(cancel_futures=True)

    def record_miss(self, snapshot: Snapshot, view: TableView, n_rows: int, seconds: float) -> None:
        """Note what a direct answer cost, and have the table opened where its file is there, or made once that pays.

        Parameters
        ----------
        n_rows
            Of the table.
        seconds
            Cost of the answer.
        """
        key = (snapshot.key, view)
        size = _estimated_bytes(view, n_rows)
        if size > self._bounded.limit * MAX_SHARE:
            return
        free = self._bounded.bytes + size <= self._bounded.limit
        price = size / _MADE_BYTES_A_SECOND * (_SHARE_WHEN_FREE if free else 1.0)
        with self._lock:
            is_first = key not in self._spent
            self._spent[key] = spent = self._spent.pop(key, 0.0) + seconds
            while len(self._spent) > _MAX_SPENT:
                self._spent.popitem(last=False)
        if spent >= price or (is_first and self.folder is not None):
            self._begin(snapshot, view, price)

    def discard(self, snapshot: Snapshot, table: RowTable, error: RowsDamaged) -> None:
        """Close a table whose file was shortened or removed; what is left of the file is removed when it is opened again."""
        _log.warning("rendered_rows_damaged", alpha=snapshot.alpha_id, reason=str(error))
        self._cache.remove_if(lambda _, one: one is table)

    def drop_unread(self) -> None:
        """Close the tables of snapshots that nobody reads any more, and remove their files."""
        with self._lock:
            self._not_before = {key: x for key, x in self._not_before.items() if self._is_read(key[0])}
        self._drop_past()
        if self.folder is not None:
            self.folder.drop_unread(self._is_read)

    def _begin(self, snapshot: Snapshot, view: TableView, price: float) -> None:
        """Have a table opened, or made if direct answers have cost its price by then, unless that was begun."""
        key = (snapshot.key, view)
        with self._lock:
            if time.monotonic() < self._not_before.get(key, 0.0):
                return
            self._not_before[key] = math.inf
        with contextlib.suppress(RuntimeError):  # the service is going down
            self._maker.submit(self._make, snapshot, view, price)

    def _make(self, snapshot: Snapshot, view: TableView, price: float) -> None:
        owner, again = snapshot.key, 0.0
        try:
            if self._is_read(owner):  # it may have been replaced while it waited for its turn
                # Answers given while it waited count as well.
                make = self._spent.get((owner, view), 0.0) >= price
                table = self._opened_or_made(snapshot, view, make=make)
                if table is not None:
                    self._spent.pop((owner, view), None)
                    self._cache.put(owner, view, table, table.bytes)
        except NotTabled as error:
            _log.info("table_not_cached", alpha=owner[0], reason=str(error))
            again = math.inf
        except (Exception, PanicException) as error:  # noqa: BLE001 - pages are still answered from the files, and report their faults
            _log.warning("table_not_cached", alpha=owner[0], kind=type(error).__name__, reason=str(error))
            again = time.monotonic() + _REFUSED_SECONDS
        finally:
            if self.folder is not None and not self._is_read(owner):
                self.folder.drop(owner)
            self._drop_past()
            pa.default_memory_pool().release_unused()  # Arrow retains it otherwise
            with self._lock:
                self._not_before.pop((owner, view), None)
                if again:
                    self._not_before[owner, view] = again

    def _opened_or_made(self, snapshot: Snapshot, view: TableView, *, make: bool) -> RowTable | None:
        owner, source = snapshot.key, table_source(view, snapshot)
        if source is None:
            raise NotTabled("a column is missing")
        size = _estimated_bytes(view, snapshot.n_rows(view.table, view.book))
        if self.folder is not None:
            try:
                if make:
                    self.folder.write(
                        owner, source.digest, size, lambda spool: make_batch(self._engine, source, spool)
                    )
                return self.folder.open(owner, source.digest)
            except (OSError, DiskUnavailable) as error:
                _log.warning("rendered_rows_in_memory", alpha=owner[0], reason=str(error))
        if not make:
            return None
        if size > self._cache.limit * MAX_SHARE:
            raise NotTabled("it takes too much of the memory")
        self._cache.make_room(size)
        return RowTable(make_batch(self._engine, source, io.BytesIO))

    def _drop_past(self) -> None:
        self._cache.remove_if(lambda owner, table: table.removed or not self._is_read(owner))


def _estimated_bytes(view: TableView, n_rows: int) -> int:
    return n_rows * len(ROWS[view.row].columns) * _BYTES_A_VALUE
