"""Which tables are worth memory, and their rendering beside the requests."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Final

import structlog
from polars.exceptions import PanicException

from serve.cache.lru import SizedLRUCache, SnapshotKey
from serve.query.rendered_table import RenderedTable
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

_log = structlog.get_logger("serve.cache")


class TableCache:
    """Rendered tables, chosen by what answering from their files has cost.

    Rendering pays when it costs less than the direct answers it saves, which nobody knows beforehand. While there is
    room a table is rendered after a few direct answers; when others would have to go for it, only after the direct
    answers have cost as much as the rendering will: whatever is asked, no more than twice the best is spent.

    Parameters
    ----------
    cache
        Where tables stay.
    """

    def __init__(self, cache: SizedLRUCache[RenderedTable]) -> None:
        self._cache = cache
        self.get: Final = cache.get
        """Return a table that is cached; None on a miss."""
        self._spent: OrderedDict[tuple[SnapshotKey, Hashable], float] = OrderedDict()
        self._begun: set[tuple[SnapshotKey, Hashable]] = set()
        self._lock = threading.Lock()
        # One at a time: rendering takes memory for a moment, and must leave cores to the requests.
        self._renderer = ThreadPoolExecutor(1, thread_name_prefix="render")

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self._cache.bytes

    @property
    def limit(self) -> int:
        """The bound."""
        return self._cache.limit

    def close(self) -> None:
        """Begin no rendering any more, and wait for the one at work."""
        self._renderer.shutdown(cancel_futures=True)

    def record_miss(
        self,
        owner: SnapshotKey,
        name: Hashable,
        *,
        seconds: float,
        size: int,
        build: Callable[[], RenderedTable | None],
    ) -> None:
        """Note what a direct answer cost, and have the table rendered once that pays.

        Parameters
        ----------
        owner, name
            Of the table.
        seconds
            The answer took.
        size
            Bytes the table is estimated to take.
        build
            Reads and renders it; called on a thread of its own.
        """
        if size > self._cache.limit:
            return
        free = self._cache.bytes + size <= self._cache.limit
        price = size / _RENDERED_BYTES_A_SECOND * (_SHARE_WHEN_FREE if free else 1.0)
        key = (owner, name)
        with self._lock:
            spent = self._spent.pop(key, 0.0) + seconds
            self._spent[key] = spent
            while len(self._spent) > _MAX_TABLES:
                self._spent.popitem(last=False)
        if spent >= price:
            self._begin(key, size, build)

    def prewarm(
        self, owner: SnapshotKey, name: Hashable, *, size: int, build: Callable[[], RenderedTable | None]
    ) -> None:
        """Have a table rendered, in its turn, and wait until it is; `size` and `build` as of `record_miss`."""
        rendering = self._begin((owner, name), size, build)
        if rendering is not None:
            with contextlib.suppress(CancelledError):  # the service is going down
                rendering.result()

    def _begin(
        self, key: tuple[SnapshotKey, Hashable], size: int, build: Callable[[], RenderedTable | None]
    ) -> Future[None] | None:
        """Have a table rendered, unless that was begun; None also when the service is going down."""
        with self._lock:
            if key in self._begun:
                return None
            self._begun.add(key)
        try:
            return self._renderer.submit(self._render, key, size, build)
        except RuntimeError:
            self._begun.discard(key)
            return None

    def _render(
        self, key: tuple[SnapshotKey, Hashable], size: int, build: Callable[[], RenderedTable | None]
    ) -> None:
        try:
            # Beforehand, so that what goes and what comes are not in memory at once; a small memory is not emptied
            # for what is on its way.
            self._cache.make_room(
                min(self._cache.limit, size + min(_MAX_TRANSIT_BYTES, self._cache.limit // _TRANSIT_DIVISOR))
            )
            release_arrow_memory()
            found = build()
            if found is not None:
                self._cache.put(*key, found, found.bytes)
                del found
            release_arrow_memory()
        except (Exception, PanicException) as error:  # noqa: BLE001 - the files answer as before, and say what is wrong with them
            _log.warning("table_not_cached", alpha=key[0][0], kind=type(error).__name__, reason=str(error))
        finally:
            with self._lock:
                self._spent.pop(key, None)
                self._begun.discard(key)
