"""Ending a batch: the first signal lets what is at work finish, the second ends it at once."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator

from schemas.terminal import echo

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stoppable(
    end_immediately: Callable[[], None], stopping: threading.Event | None = None
) -> Iterator[threading.Event]:
    """Give an event, or use the one given, that the first SIGINT or SIGTERM sets; the second calls `end_immediately`.

    Outside the main thread, where no signal can be caught, the event is simply never set.
    """
    stopping = stopping or threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    # A handler runs between two steps of the main thread, which may have just taken the lock of the event, of the
    # builds or of the output: the handler would wait for it for ever. So it only notes the signal, and a thread reacts.
    received: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    reacting = threading.Thread(
        target=_react, args=(received, stopping, end_immediately), name="signals", daemon=True
    )
    reacting.start()
    before = {number: signal.signal(number, lambda number, _: received.put(number)) for number in _SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        received.put(None)
        reacting.join()


def _react(
    received: queue.SimpleQueue[int | None], stopping: threading.Event, end_immediately: Callable[[], None]
) -> None:
    asked = False
    while (number := received.get()) is not None:
        if asked:
            end_immediately()
            continue
        asked = True
        stopping.set()
        echo(
            f"{signal.Signals(number).name}: finishing what is at work; a second one ends it at once",
            err=True,
        )
