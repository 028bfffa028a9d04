"""Ending a batch, from a signal, another thread or an orchestrator: gently, or at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

POLL_SECONDS: Final = 0.25
"""How soon a batch notices that it is to end."""


class Cancellation:
    """Ends a batch that is at work; safe to use from any thread and from a signal handler, before, during and after it.

    Attributes
    ----------
    stopping
        Whether no further build is to begin.
    aborted
        Whether builds at work are to be killed.
    """

    def __init__(self) -> None:
        # No events: a signal handler that set one could wait for a lock which the interrupted thread holds.
        self.stopping = False
        self.aborted = False

    def finish(self) -> None:
        """Begin no further build; those at work are finished and reported, the rest as ``not started``."""
        self.stopping = True

    def abort(self) -> None:
        """Kill the builds at work as well. What was served still is, and no part of a snapshot is visible."""
        self.stopping = self.aborted = True

    def wait(self, seconds: float) -> None:
        """Sleep, until no further build is to begin."""
        end = time.monotonic() + seconds
        while not self.stopping and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))


@contextmanager
def stoppable(cancellation: Cancellation) -> Iterator[None]:
    """End a batch by signals for the length of a block; outside the main thread none can be caught.

    SIGTERM lets what is at work finish, Ctrl-C and a second signal end it at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: Any) -> None:
        if number == signal.SIGTERM and not cancellation.stopping:
            cancellation.finish()
            # Not through sys.stderr, which the interrupted thread may be writing to.
            os.write(2, b"SIGTERM: finishing what is at work; a second one ends it at once\n")
        else:
            cancellation.abort()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
