"""All caches of a process: their shares of the memory, what is dropped with a snapshot, and how each of them does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from serve.cache.lru import CacheCounts, SizedLRUCache, SnapshotKey

_MEBIBYTE: Final = 2**20


class _Share(NamedTuple):
    """One part in `part` of the memory, and no more than `most` bytes."""

    part: int
    most: int | None = None


_SHARES: Final = {
    "bodies": _Share(8),  # cutting a page from a table costs little
    "ledgers": _Share(16),  # behind equity curves, some 0.7 MB for 1,500 sessions
    "returns": _Share(64, 16 * _MEBIBYTE),  # some 18 kB for 1,500 sessions
    "symbols": _Share(64, 16 * _MEBIBYTE),  # some 60 kB for the 500 names of a run
    "rebalances": _Share(64, 24 * _MEBIBYTE),  # 300 weeks take some 50 kB
    "run_figures": _Share(16, 64 * _MEBIBYTE),  # a run of six years takes some 600 kB
    "metrics": _Share(16, 64 * _MEBIBYTE),  # the largest answer takes some 150 kB
    "luck": _Share(64, 16 * _MEBIBYTE),  # an answer takes some 12 kB
}
"""Cache -> what of the memory it may take. The rest is for tables of rows."""
ROWS: Final = "rows"


class CacheRegistry:
    """Makes the caches of a process within one budget, and knows all of them.

    Parameters
    ----------
    memory
        Bytes of all of them together.
    """

    def __init__(self, memory: int) -> None:
        limits = {
            name: min(memory // share.part, memory if share.most is None else share.most)
            for name, share in _SHARES.items()
        }
        limits[ROWS] = memory - sum(limits.values())
        self._caches: dict[str, SizedLRUCache[Any]] = {
            name: SizedLRUCache(limit) for name, limit in limits.items()
        }

    def __getitem__(self, name: str) -> SizedLRUCache[Any]:
        """Return a cache; KeyError when there is none of this name."""
        return self._caches[name]

    @property
    def counts(self) -> Mapping[str, CacheCounts]:
        """Cache -> hits, misses, entries and bytes."""
        return {name: cache.counts for name, cache in self._caches.items()}

    def drop_unread(self, is_read: Callable[[SnapshotKey], bool]) -> None:
        """Drop the entries of every snapshot that nobody reads any more."""
        for cache in self._caches.values():
            for owner in cache.owners:
                if not is_read(owner):
                    cache.drop(owner)
