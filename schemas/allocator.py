"""Settings of the GNU C library's allocator for processes that build; other C libraries ignore them."""

from __future__ import annotations

import ctypes
import os
from typing import Final

BUILDING: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
}
"""One heap, where each thread would retain as much as its largest piece of work needed; columns of a table return to the
system when they are freed."""
_OPTIONS: Final = {"MALLOC_ARENA_MAX": -8, "MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3}
"""Variable -> the option of ``mallopt`` in <malloc.h>."""


def prepare_building() -> None:
    """Apply `BUILDING` to this process.

    To be called before a library that starts threads is loaded. What an operator set is left as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in BUILDING.items():
            if name not in os.environ:
                mallopt(_OPTIONS[name], int(value))
