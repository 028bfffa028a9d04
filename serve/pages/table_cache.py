"""Which tables are worth memory, and their rendering beside the requests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final, Protocol, TypeAlias

import structlog
from polars.exceptions import PanicException

from schemas.errors import DiskUnavailable
from serve.cache.lru import SizedLRUCache, SnapshotKey
from serve.pages.rendered_table import RenderedTable
from serve.pages.rows_file import RowsDamaged
from serve.pages.rows_folder import RowsFolder
from serve.pages.rows_format import RowsWriter
from serve.runtime import release_arrow_memory

_RENDERED_BYTES_A_SECOND: Final = 150e6
"""What one core renders, by which the price of caching a table is estimated."""
_SHARE_WHEN_FREE: Final = 0.02
"""Part of that price that direct answers must have cost before it is paid, while memory lies idle."""
_MAX_TRANSIT_BYTES: Final = 128 << 20
"""Bytes that reading and rendering take besides what is cached in the end, what the allocators of the engine, of the frames
and of the interpreter have not given back of it yet included; they come out of the bound, as far as a part of it goes."""
_TRANSIT_DIVISOR: Final = 3
_MAX_TABLES: Final = 4096
"""Tables whose direct answers are added up."""
_POLL_SECONDS: Final = 0.1
"""Between two looks whether another process has rendered a table."""
_UPKEEP_SECONDS: Final = 20.0
"""Between two looks at the files in use."""
_REFUSED_SECONDS: Final = 30.0
"""How long a table is not tried again that could not be rendered."""
_Key: TypeAlias = tuple[SnapshotKey, Hashable]

_log = structlog.get_logger("serve.cache")


class NotRenderable(Exception):
    """A table has not the form that is rendered."""


class TableSource(Protocol):
    """What a table is rendered of."""

    @property
    def size(self) -> int:
        """Bytes it is estimated to take."""
        ...

    @property
    def made_of(self) -> str | None:
        """Names what is rendered; None when it cannot be."""
        ...

    def read(self) -> RenderedTable | None:
        """Render it into memory; None when it cannot be."""
        ...

    def write(self, writer: RowsWriter) -> None:
        """Render it to a file; NotRenderable when it cannot be."""
        ...


class TableCache:
    """Rendered tables, chosen by what answering from their files has cost.

    Rendering pays when it costs less than the direct answers it saves, which nobody knows beforehand. While there is
    room a table is rendered after a few direct answers; when others would have to go for it, only after the direct
    answers have cost as much as the rendering will: whatever is asked, no more than twice the best is spent.

    Parameters
    ----------
    cache
        Where tables stay, or what is in memory of those in a folder.
    is_read
        Whether a snapshot is served or asked for: what was rendered of another is not kept.
    folder
        Where the rows of tables are; None for memory.
    verify_seconds
        How long a file of the folder is trusted after it was written or compared with its checksums.
    """

    def __init__(
        self,
        cache: SizedLRUCache[RenderedTable],
        is_read: Callable[[SnapshotKey], bool],
        folder: RowsFolder | None = None,
        verify_seconds: float = 86_400.0,
    ) -> None:
        self._cache = cache
        self._is_read = is_read
        self._folder = folder
        self._bounded: Final = cache if folder is None else folder
        """Where the rows are, in files or in memory."""
        self._verify_seconds = verify_seconds
        self.get: Final = cache.get
        """Return a table that is cached; None on a miss."""
        self._spent: OrderedDict[_Key, float] = OrderedDict()
        self._begun: set[_Key] = set()
        self._refused: OrderedDict[_Key, float] = OrderedDict()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        # One at a time: rendering takes memory for a moment, and must leave cores to the requests.
        self._renderer = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._upkeep = threading.Thread(target=self._follow_files, name="rendered rows", daemon=True)
        if folder is not None:
            self._upkeep.start()

    @property
    def folder(self) -> RowsFolder | None:
        """Where the rows are; None for memory."""
        return self._folder

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self._cache.bytes

    def has_room(self, size: int, share: float = 1.0) -> bool:
        """Whether so many bytes fit into a share of the bound without anything being removed."""
        return self._bounded.bytes + size <= self._bounded.limit * share

    def close(self) -> None:
        """Begin no rendering any more, and wait for the one at work."""
        self._closing.set()
        self._renderer.shutdown(cancel_futures=True)
        if self._upkeep.is_alive():
            self._upkeep.join()

    def load(self, owner: SnapshotKey, name: Hashable, source: TableSource) -> RenderedTable | None:
        """Return a table that is cached, or whose file another process or an earlier one wrote; None on a miss."""
        table = self._cache.get(owner, name)
        if table is not None and not table.damaged:
            return table
        if table is not None:
            _log.warning("rendered_rows_damaged", alpha=owner[0], reason="a read failed")
            self._cache.remove(owner, name)
        if self._folder is None or not self._folder.holds_any(owner):
            return None
        made_of = source.made_of
        if made_of is None:
            return None
        if table is not None:
            self._folder.discard(owner, made_of)
            return None
        return self._opened(owner, name, made_of)

    def record_miss(self, owner: SnapshotKey, name: Hashable, *, seconds: float, source: TableSource) -> None:
        """Note what a direct answer cost, and have the table rendered once that pays.

        Parameters
        ----------
        owner, name
            Of the table.
        seconds
            The answer took.
        source
            What the table is rendered of, on a thread of its own.
        """
        size, key = source.size, (owner, name)
        if size > self._bounded.limit:
            return
        price = size / _RENDERED_BYTES_A_SECOND * (_SHARE_WHEN_FREE if self.has_room(size) else 1.0)
        with self._lock:
            spent = self._spent.pop(key, 0.0) + seconds
            self._spent[key] = spent
            while len(self._spent) > _MAX_TABLES:
                self._spent.popitem(last=False)
        if spent >= price:
            self._begin(key, source)

    def prewarm(self, owner: SnapshotKey, name: Hashable, source: TableSource) -> None:
        """Have a table rendered, in its turn, and wait until it is."""
        rendering = self._begin((owner, name), source)
        if rendering is not None:
            with contextlib.suppress(CancelledError):  # the service is going down
                rendering.result()

    def drop_unread(self) -> None:
        """Remove the tables of snapshots that nobody reads any more, and their files."""
        for owner in self._cache.owners:
            self._drop_if_unread(owner)
        if self._folder is not None:
            self._folder.drop_unread(self._is_read)

    def _begin(self, key: _Key, source: TableSource) -> Future[None] | None:
        """Have a table rendered, unless that was begun; None also when the service is going down."""
        with self._lock:
            if key in self._begun or time.monotonic() < self._refused.get(key, 0.0):
                return None
            self._begun.add(key)
        try:
            return self._renderer.submit(self._render, key, source)
        except RuntimeError:
            self._begun.discard(key)
            return None

    def _render(self, key: _Key, source: TableSource) -> None:
        try:
            if not self._is_read(key[0]):  # replaced while it waited for its turn
                return
            if self._folder is None or not self._rendered_to_file(self._folder, key, source):
                self._render_into_memory(key, source)
        except (Exception, PanicException) as error:  # noqa: BLE001 - the files answer as before, and say what is wrong with them
            self._not_cached(key, error)
        finally:
            with self._lock:
                self._spent.pop(key, None)
                self._begun.discard(key)

    def _rendered_to_file(self, folder: RowsFolder, key: _Key, source: TableSource) -> bool:
        """Render a table to a file, or wait for another process to; False when the disk takes no more."""
        made_of = source.made_of
        if made_of is None:
            return True
        while self._is_read(key[0]) and self._opened(*key, made_of) is None:
            try:
                with folder.writer(key[0], made_of, source.size) as writer:
                    if writer is not None:
                        release_arrow_memory()
                        source.write(writer)
                        release_arrow_memory()
            except NotRenderable:
                return True
            except DiskUnavailable as error:
                if not self._is_read(key[0]):  # its folder went while it was written
                    break
                self._not_cached(key, error)
                return source.size > self._cache.limit
            if writer is None and self._closing.wait(_POLL_SECONDS):
                return True
        self._drop_if_unread(key[0])
        return True

    def _render_into_memory(self, key: _Key, source: TableSource) -> None:
        # Beforehand, so that what goes and what comes are not in memory at once; a small memory is not emptied
        # for what is on its way.
        transit = min(_MAX_TRANSIT_BYTES, self._cache.limit // _TRANSIT_DIVISOR)
        self._cache.make_room(min(self._cache.limit, source.size + transit))
        release_arrow_memory()
        found = source.read()
        if found is not None:
            self._keep(*key, found)
            del found
        release_arrow_memory()

    def _not_cached(self, key: _Key, error: BaseException) -> None:
        _log.warning("table_not_cached", alpha=key[0][0], kind=type(error).__name__, reason=str(error))
        with self._lock:
            self._refused[key] = time.monotonic() + _REFUSED_SECONDS
            while len(self._refused) > _MAX_TABLES:
                self._refused.popitem(last=False)

    def _opened(self, owner: SnapshotKey, name: Hashable, made_of: str) -> RenderedTable | None:
        assert self._folder is not None
        reader = self._folder.open(owner, made_of)
        if reader is None:
            return None
        try:
            table = reader.table()
        except RowsDamaged as error:
            _log.warning("rendered_rows_damaged", alpha=owner[0], reason=str(error))
            self._folder.discard(owner, made_of)
            return None
        self._keep(owner, name, table)
        return table

    def _keep(self, owner: SnapshotKey, name: Hashable, table: RenderedTable) -> None:
        """Cache a table, unless its snapshot was replaced while it was made."""
        if self._is_read(owner):
            self._cache.put(owner, name, table, table.bytes)
        # Once more: what is replaced from now on is dropped by whoever replaces it, as it finds the table here.
        self._drop_if_unread(owner)

    def _drop_if_unread(self, owner: SnapshotKey) -> None:
        if not self._is_read(owner):
            self._cache.drop(owner)
            if self._folder is not None:
                self._folder.drop(owner)

    def _follow_files(self) -> None:
        """Write down now and then which files are used, and compare those that have not been for long with their checksums."""
        while not self._closing.wait(_UPKEEP_SECONDS):
            for table in self._cache.values():
                if self._closing.is_set():
                    return
                if table.file is not None and table.file.used:
                    table.file.note_use()
                    self._verify(table)

    def _verify(self, table: RenderedTable) -> None:
        file = table.file
        if file is None or table.verify is None or time.time() - file.verified_at < self._verify_seconds:
            return
        try:
            table.verify()
        except RowsDamaged as error:
            _log.warning("rendered_rows_damaged", reason=str(error))
        else:
            file.note_verified()
