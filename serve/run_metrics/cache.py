"""A bounded memory of what was computed from immutable snapshots."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Keeps the most recently used results, up to a number of bytes. Safe to share between threads.

    Parameters
    ----------
    most
        Bytes that all results together may take. One that alone takes more is handed out, but not kept.
    weigh
        Bytes of a result, about.
    whole
        Whether a result is kept at all.
    """

    def __init__(
        self, most: int, weigh: Callable[[T], int], whole: Callable[[T], bool] = lambda _: True
    ) -> None:
        self._most = most
        self._whole = whole
        self._weigh = weigh
        self._known: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def known(self, key: Hashable) -> T | None:
        """Return what is kept under a key, None when nothing is."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            self._known.move_to_end(key)
            return found[0]

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a key, or make it; what makes it fail is not kept.

        Two threads that ask for the same thing at once may both make it: the results are equal.
        """
        found = self.known(key)
        if found is not None:
            return found
        made = make()
        size = self._weigh(made)
        with self._lock:
            if key not in self._known and size <= self._most and self._whole(made):
                self._known[key] = (made, size)
                self._bytes += size
            while self._bytes > self._most:
                _, (_, freed) = self._known.popitem(last=False)
                self._bytes -= freed
        return made

    @property
    def nbytes(self) -> int:
        """Bytes that the kept results take."""
        return self._bytes
