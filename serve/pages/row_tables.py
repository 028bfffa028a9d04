"""Which tables are worth their room, and making them beside the requests."""

from __future__ import annotations

import io
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

import pyarrow as pa
import structlog
from polars.exceptions import PanicException

from datasets.snapshot import Snapshot
from schemas.errors import DiskUnavailable
from schemas.rows import ROWS
from serve.cache import SizedLRUCache, SnapshotKey
from serve.pages.duckdb import Engine
from serve.pages.query import TableView
from serve.pages.row_folder import MAX_SHARE, RowFolder
from serve.pages.row_table import NotTabled, RowsDamaged, RowTable, make_batch, table_source

_BYTES_A_VALUE: Final = 28
"""What a value takes as JSON with its name, by which a table's size is estimated before it is made."""
_MADE_BYTES_A_SECOND: Final = 150e6
"""What one core makes, by which the price of a table is estimated."""
_SHARE_WHEN_FREE: Final = 0.02
"""Part of that price that direct answers must have cost before it is paid, while there is room."""
_MAX_SPENT: Final = 4096
"""Tables whose direct answers are added up."""
_REFUSED_SECONDS: Final = 30.0
"""How long a table is not tried again that could not be made."""
_Key: TypeAlias = tuple[SnapshotKey, TableView]

_log = structlog.get_logger("serve.cache")


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
        self._refused: dict[_Key, float] = {}
        self._begun: set[_Key] = set()
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
            self._begin(snapshot, view, make=spent >= price)

    def discard(self, snapshot: Snapshot, table: RowTable, error: RowsDamaged) -> None:
        """Close a table whose file was shortened or removed; what is left of the file is removed when it is opened again."""
        _log.warning("rendered_rows_damaged", alpha=snapshot.alpha_id, reason=str(error))
        self._cache.remove_if(lambda _, one: one is table)

    def drop_unread(self) -> None:
        """Close the tables of snapshots that nobody reads any more, and remove their files."""
        with self._lock:
            self._refused = {key: until for key, until in self._refused.items() if self._is_read(key[0])}
        self._drop_past()
        if self.folder is not None:
            self.folder.drop_unread(self._is_read)

    def _begin(self, snapshot: Snapshot, view: TableView, *, make: bool) -> None:
        """Have a table opened, or made where `make`, unless that was begun."""
        key = (snapshot.key, view)
        with self._lock:
            if key in self._begun or time.monotonic() < self._refused.get(key, 0.0):
                return
            self._begun.add(key)
        try:
            self._maker.submit(self._make, snapshot, view, make=make)
        except RuntimeError:  # the service is going down
            self._begun.discard(key)

    def _make(self, snapshot: Snapshot, view: TableView, *, make: bool) -> None:
        owner = snapshot.key
        try:
            if self._is_read(owner):  # it may have been replaced while it waited for its turn
                table = self._opened_or_made(snapshot, view, make=make)
                if table is not None:
                    self._spent.pop((owner, view), None)
                    self._cache.put(owner, view, table, table.bytes)
        except NotTabled as error:
            _log.info("table_not_cached", alpha=owner[0], reason=str(error))
            self._refused[owner, view] = math.inf
        except (Exception, PanicException) as error:  # noqa: BLE001 - the files answer as before, and say what is wrong with them
            _log.warning("table_not_cached", alpha=owner[0], kind=type(error).__name__, reason=str(error))
            self._refused[owner, view] = time.monotonic() + _REFUSED_SECONDS
        finally:
            if self.folder is not None and not self._is_read(owner):
                self.folder.drop(owner)
            self._drop_past()
            pa.default_memory_pool().release_unused()  # Arrow retains it otherwise
            with self._lock:
                self._begun.discard((owner, view))

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
