"""Cancellation of a batch, by a signal, another thread or an orchestrator."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

POLL_SECONDS: Final = 0.25
"""Seconds within which a batch notices a cancellation."""


class Cancellation:
    """Stops a batch; usable from any thread and from signal handlers, before, during and after it."""

    def __init__(self) -> None:
        # Plain flags: a signal handler that sets a threading.Event could deadlock on a lock of the interrupted thread.
        self.stopping = False
        self.aborted = False
        self._interrupts = False

    def finish(self) -> None:
        """Start no further build; running ones finish, the others are reported as ``not started``."""
        self.stopping = True

    def abort(self) -> None:
        """Kill running builds as well. Served snapshots stay served, and no partial snapshot is visible."""
        self.stopping = self.aborted = True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a signal interrupt the main thread within a block in which no build is running.

        The thread may be waiting for a store and would not notice a cancellation. Has no effect outside :func:`stoppable`.
        """
        self._interrupts = True
        try:
            yield
        finally:
            self._interrupts = False

    def on_signal(self, number: int, _: object) -> None:
        """Let running builds finish after SIGTERM, kill them after Ctrl-C or a second signal; end an interruptible block."""
        if self._interrupts:
            self.abort()
            raise KeyboardInterrupt
        if number == signal.SIGTERM and not self.stopping:
            self.finish()
            # Not via sys.stderr, to which the interrupted thread may be writing.
            os.write(2, b"SIGTERM: finishing the builds in progress; a second one stops them at once\n")
        else:
            self.abort()

    def wait(self, seconds: float) -> None:
        """Sleep until the timeout or a cancellation."""
        end = time.monotonic() + seconds
        while not self.stopping and (remaining := end - time.monotonic()) > 0:
            time.sleep(min(remaining, POLL_SECONDS))


@contextmanager
def stoppable(cancellation: Cancellation) -> Iterator[None]:
    """Let signals cancel a batch within a block; no effect outside the main thread, where signals cannot be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, cancellation.on_signal) for number in numbers}
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
