"""Settings of the glibc allocator for processes that build; other C libraries ignore them."""

from __future__ import annotations

import ctypes
import os
from typing import Final

BUILDING: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
}
"""A single heap, since each thread would otherwise retain the memory of its largest task; freed columns are returned to the
system."""
_OPTIONS: Final = {"MALLOC_ARENA_MAX": -8, "MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3}
"""Variable -> option of ``mallopt`` in <malloc.h>."""


def prepare_building() -> None:
    """Apply `BUILDING` to this process.

    Call it before loading a library that starts threads. Variables set by an operator take precedence.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in BUILDING.items():
            if name not in os.environ:
                mallopt(_OPTIONS[name], int(value))
