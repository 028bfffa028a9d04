"""A bounded memory: what was used longest ago makes room for what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from datasets.snapshot import Snapshot

V = TypeVar("V")

SnapshotKey = tuple[str, str]
"""An alpha and the id of its snapshot; what is kept of it goes when another snapshot is served."""
LISTING: Final = ""
"""Stands for the alpha where a list of alphas is kept, with its edition: no alpha has this address."""


def snapshot_key(snapshot: Snapshot) -> SnapshotKey:
    """Return what the kept parts of a snapshot go with."""
    return (snapshot.alpha_id, snapshot.id)


class SizedLRUCache(Generic[V]):
    """Values with the bytes they take, never more than a bound in all. Safe to share between threads.

    Parameters
    ----------
    limit
        Bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[tuple[SnapshotKey, Hashable], tuple[V, int]] = OrderedDict()
        self._of: dict[SnapshotKey, set[Hashable]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Bytes taken now."""
        return self._bytes

    @property
    def limit(self) -> int:
        """The bound."""
        return self._limit

    @property
    def owners(self) -> tuple[SnapshotKey, ...]:
        """The snapshots of which anything is kept."""
        with self._lock:
            return tuple(self._of)

    def get(self, owner: SnapshotKey, name: Hashable) -> V | None:
        """Return a value and note that it was used; None when it is not kept."""
        with self._lock:
            found = self._values.get((owner, name))
            if found is None:
                return None
            self._values.move_to_end((owner, name))
            return found[0]

    def put(self, owner: SnapshotKey, name: Hashable, value: V, size: int) -> bool:
        """Keep a value, and let others go until all fit; False when it is larger than the bound by itself."""
        if size > self._limit:
            return False
        with self._lock:
            self._remove((owner, name))
            self._let_go(size)
            self._values[owner, name] = (value, size)
            self._of.setdefault(owner, set()).add(name)
            self._bytes += size
        return True

    def make_room(self, size: int) -> None:
        """Let others go until so many bytes, no more than the bound, would fit."""
        with self._lock:
            self._let_go(size)

    def _let_go(self, size: int) -> None:
        while self._values and self._bytes + size > self._limit:
            self._remove(next(iter(self._values)))

    def drop(self, owner: SnapshotKey) -> None:
        """Let everything of one snapshot go."""
        with self._lock:
            for name in tuple(self._of.get(owner, ())):
                self._remove((owner, name))

    def _remove(self, key: tuple[SnapshotKey, Hashable]) -> None:
        found = self._values.pop(key, None)
        if found is None:
            return
        self._bytes -= found[1]
        owner, name = key
        names = self._of[owner]
        names.discard(name)
        if not names:
            del self._of[owner]
