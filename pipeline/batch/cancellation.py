"""Asking a batch to end, from a signal, another thread or an orchestrator: gently, or at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancellation:
    """Ends a batch that is at work; safe to use from any thread, before, during and after it.

    Attributes
    ----------
    stopping
        Set once nothing more is to be begun.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._end: Callable[[], None] | None = None
        self._aborted = False
        self._lock = threading.Lock()

    def finish(self) -> None:
        """Begin no further build; those at work are finished and reported, the rest as ``not started``."""
        self.stopping.set()

    def abort(self) -> None:
        """Kill the builds at work as well. What was served still is, and nothing half-written is visible."""
        self.stopping.set()
        with self._lock:
            self._aborted = True
            end = self._end
        if end is not None:
            end()

    @contextmanager
    def ending_with(self, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` when builds that are at work are to be killed, for the length of a block."""
        with self._lock:
            self._end, aborted = end, self._aborted
        if aborted:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._end = None
