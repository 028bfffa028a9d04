"""Calls that harm their process, in a module without other imports."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn


def take_memory(size: int, _: Callable[[str], None]) -> int:
    """Allocate that many bytes, and free them."""
    return len(bytearray(b"x" * size))


def die(words: str, _: Callable[[str], None]) -> NoReturn:
    """Write output and kill the process."""
    os.write(2, words.encode())
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")
