"""Waiting for other processes, threads and refreshes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 400.0
"""Seconds to wait for an event; generous, since interpreters start slowly on a loaded machine and no test asserts a time."""
PAUSE = 0.02
"""Seconds between two polls."""


def eventually(holds: Callable[[], object], what: str = "the awaited condition") -> None:
    """Wait until a condition holds; fail after a long timeout."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(PAUSE)


def eventually_is(poll: Callable[[], T], wanted: T) -> None:
    """Poll until the answer is as expected; fail with the last answer after a long timeout."""
    deadline = time.monotonic() + PATIENCE
    while (result := poll()) != wanted:
        assert time.monotonic() < deadline, f"still {result!r}, not {wanted!r}"
        time.sleep(PAUSE)


def caught(seen: Callable[[], object], process: subprocess.Popen[str], what: str) -> None:
    """Poll rapidly for a short-lived state of a process."""
    while not seen():
        assert process.poll() is None, f"never seen: {what}"
        time.sleep(0.001)
