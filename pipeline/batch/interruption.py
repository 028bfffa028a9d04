"""Ending a batch: the first signal lets what is at work finish, the second ends it at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from schemas.terminal import echo

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stoppable(
    end_at_once: Callable[[], None], stopping: threading.Event | None = None
) -> Iterator[threading.Event]:
    """Give an event, or use the one given, that the first SIGINT or SIGTERM sets; the second calls `end_at_once`.

    Outside the main thread, where no signal can be caught, the event is simply never set.
    """
    stopping = stopping or threading.Event()
    asked = threading.Event()

    def stop(number: int, _: FrameType | None) -> None:
        if asked.is_set():
            end_at_once()
            return
        asked.set()
        stopping.set()
        echo(
            f"{signal.Signals(number).name}: finishing what is at work; a second one ends it at once",
            err=True,
        )

    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
