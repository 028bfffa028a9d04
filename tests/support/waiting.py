"""Waiting for what will come: other processes, other threads, the next look at the catalogue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 400.0
"""Seconds to wait for what will come: interpreters start slowly on a loaded machine, and no test asserts a time."""
FIRST_PAUSE, LAST_PAUSE = 0.01, 0.1
"""Seconds between two looks: what comes soon is seen soon, and what takes long has the processor meanwhile."""


def eventually(
    holds: Callable[[], object], what: str = "what was waited for", patience: float = PATIENCE
) -> None:
    """Wait until something holds; fail when it does not for a very long time."""
    pauses, deadline = _pauses(), time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(next(pauses))


def eventually_is(ask: Callable[[], T], wanted: T, patience: float = PATIENCE) -> None:
    """Ask until the answer is the wanted one; fail, with the last answer, when it is another for a very long time."""
    pauses, deadline = _pauses(), time.monotonic() + patience
    while (found := ask()) != wanted:
        assert time.monotonic() < deadline, f"still {found!r}, not {wanted!r}"
        time.sleep(next(pauses))


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(LAST_PAUSE, pause * 1.5)
