"""Memory caches: values with their sizes, bounded within one budget per process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

V = TypeVar("V")

SnapshotKey = tuple[str, str]
"""Address and snapshot id of an alpha; entries derived from a snapshot are dropped with it."""
LISTING: Final = ""
"""Takes the place of the address in the key of a list of alphas, together with the list's edition; no alpha has this address."""
_MAX_OFFERED: Final = 16_384
"""Maximum number of values that are remembered as seen once."""


class SizedLRUCache(Generic[V]):
    """Values derived from snapshots, bounded in bytes. Thread-safe.

    Parameters
    ----------
    limit
        Maximum bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self.bytes = 0
        """Bytes in use."""
        self._values: OrderedDict[tuple[SnapshotKey, Hashable], tuple[V, int]] = OrderedDict()
        self.hits = self.misses = 0
        """Hits and misses of :meth:`get` and :meth:`get_or_load`."""
        self._offered: dict[int, None] = {}
        """Hashes of the keys that :meth:`put_if_repeated` saw once, oldest first."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._values)

    def __contains__(self, key: tuple[SnapshotKey, Hashable]) -> bool:
        """Whether there is an entry, which is neither counted nor marked as used."""
        return key in self._values

    def get(self, owner: SnapshotKey, name: Hashable) -> V | None:
        """Return an entry and mark it as used; None on a miss."""
        key = (owner, name)
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self._values.move_to_end(key)
            return entry[0]

    def get_or_load(
        self, owner: SnapshotKey, name: Hashable, load: Callable[[], V], size: Callable[[V], int]
    ) -> V:
        """Return an entry, or load and cache it; `size` returns the bytes of a value. If loading fails, nothing is cached."""
        value = self.get(owner, name)
        if value is None:
            value = load()
            self.put(owner, name, value, size(value))
        return value

    def put(self, owner: SnapshotKey, name: Hashable, value: V, size: int) -> None:
        """Cache a value; one larger than the limit is not cached."""
        if size > self.limit:
            return
        with self._lock:
            self._remove((owner, name))
            self._evict(size)
            self._values[owner, name] = (value, size)
            self.bytes += size

    def put_if_repeated(self, owner: SnapshotKey, name: Hashable, value: V, size: int) -> None:
        """Cache a value the second time it is offered, so that a client that reads every page once evicts no repeated ones."""
        key = hash((owner, name))
        with self._lock:
            is_repeated = key in self._offered
            if is_repeated:
                del self._offered[key]
            else:
                self._offered[key] = None
                if len(self._offered) > _MAX_OFFERED:
                    del self._offered[next(iter(self._offered))]
        if is_repeated:
            self.put(owner, name, value, size)

    def make_room(self, size: int) -> None:
        """Evict entries until `size` bytes, at most the limit, would fit."""
        with self._lock:
            self._evict(size)

    def remove_if(self, is_stale: Callable[[SnapshotKey, V], bool]) -> None:
        """Drop the entries for which a predicate of snapshot and value is true."""
        with self._lock:
            for key in [key for key, (value, _) in self._values.items() if is_stale(key[0], value)]:
                self._remove(key)

    def _evict(self, size: int) -> None:
        while self._values and self.bytes + size > self.limit:
            self._remove(next(iter(self._values)))

    def _remove(self, key: tuple[SnapshotKey, Hashable]) -> None:
        entry = self._values.pop(key, None)
        self.bytes -= 0 if entry is None else entry[1]


_MEBIBYTE: Final = 2**20
_CACHE_DIVISOR: Final = 4
"""Divisor of the available memory that gives the default memory for caches."""
_CONTROL_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN_GROUP: Final = Path("/proc/self/cgroup")
"""Names the control group of this process; a container usually sees its own as the root of all."""


_SHARES: Final = {
    "bodies": (8, None),  # cutting a page from a table costs little
    "ledgers": (16, None),  # of equity curves, some 0.2 MB for 1,500 sessions
    "symbols": (64, 16 * _MEBIBYTE),  # some 60 kB for the 500 names of a run
    "rebalances": (64, 24 * _MEBIBYTE),  # 300 weeks take some 50 kB
    "luck": (64, 16 * _MEBIBYTE),  # an answer takes some 12 kB
}
"""Cache -> divisor of the cache memory that gives its limit, and its maximum bytes. The rest is for row tables."""
ROWS: Final = "rows"


def make_caches(memory: int) -> dict[str, SizedLRUCache[Any]]:
    """Return the caches of a process by name, which together take at most `memory` bytes."""
    limits = {name: min(memory // divisor, limit or memory) for name, (divisor, limit) in _SHARES.items()}
    limits[ROWS] = memory - sum(limits.values())
    return {name: SizedLRUCache(limit) for name, limit in limits.items()}


def cache_bytes(setting: int, workers: int) -> int:
    """Return the bytes that one worker may cache: the setting, or its share of a quarter of the available memory."""
    return setting or _available() // _CACHE_DIVISOR // workers


def _available() -> int:
    return min((os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_group_limits()))


def _group_limits() -> Iterator[int]:
    """Yield the memory limits of the control group of this process and of those above it."""
    try:
        groups = _OWN_GROUP.read_text().splitlines()
    except OSError:
        groups = []
    own = next((line.removeprefix("0::/") for line in groups if line.startswith("0::/")), "")
    group = _CONTROL_GROUPS / own
    for folder in (group, *group.parents):
        with contextlib.suppress(OSError, ValueError):  # there is no such group, or its limit is "max"
            yield int((folder / "memory.max").read_text())
