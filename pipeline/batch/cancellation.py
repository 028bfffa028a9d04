"""Ending a batch, from a signal, another thread or an orchestrator: gently, or at once."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from schemas.terminal import echo

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Cancellation:
    """Ends a batch that is at work; safe to use from any thread, before, during and after it.

    Attributes
    ----------
    stopping
        Set once no further build is to begin.
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
        """Kill the builds at work as well. What was served still is, and no part of a snapshot is visible."""
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


@contextmanager
def stoppable(cancellation: Cancellation) -> Iterator[None]:
    """End a batch by signals for the length of a block; outside the main thread none can be caught.

    SIGTERM lets what is at work finish, Ctrl-C and a second signal end it at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler runs between two steps of the main thread, which may have just taken the lock of the event, of the
    # builds or of the output: the handler would wait for it for ever. So it only notes the signal, and a thread reacts.
    received: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    reacting = threading.Thread(target=_react, args=(received, cancellation), name="signals", daemon=True)
    reacting.start()
    before = {number: signal.signal(number, lambda number, _: received.put(number)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        received.put(None)
        reacting.join()


def _react(received: queue.SimpleQueue[int | None], cancellation: Cancellation) -> None:
    while (number := received.get()) is not None:
        if number == signal.SIGTERM and not cancellation.stopping.is_set():
            cancellation.finish()
            echo("SIGTERM: finishing what is at work; a second one ends it at once", err=True)
        else:
            cancellation.abort()
