"""Calls that do harm to the process they are made in, in a module of its own: it imports nothing else of the suite."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn


def take_memory(size: int, _: Callable[[str], None]) -> int:
    """Take so many bytes, and let them go."""
    return len(bytearray(b"x" * size))


def die(words: str, _: Callable[[str], None]) -> NoReturn:
    """Write something and be killed."""
    os.write(2, words.encode())
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")
