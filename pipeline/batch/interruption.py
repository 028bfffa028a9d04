"""Ending a batch by a signal: SIGTERM lets what is at work finish, Ctrl-C and a second signal end it at once."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Iterator

from pipeline.batch.cancellation import Cancellation
from schemas.terminal import echo

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stoppable(cancellation: Cancellation) -> Iterator[None]:
    """End a batch by signals for the length of a block; outside the main thread none can be caught."""
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
