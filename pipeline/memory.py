"""What the C library's allocator of a process is told before it builds."""

from __future__ import annotations

import ctypes
from typing import Final

_ONE_ARENA: Final = (-8, 1)
"""``M_ARENA_MAX`` of <malloc.h>: otherwise each thread that reads, checks or writes retains memory of its own."""
_RETURNED: Final = {-1: 4 << 20, -3: 4 << 20}
"""``M_TRIM_THRESHOLD`` and ``M_MMAP_THRESHOLD``: columns of a table are returned to the system when they are freed."""


def limit_malloc_arenas() -> None:
    """Have all threads of this process share one heap, and return large blocks to the system at once.

    To be called before a library that starts threads is loaded. Does nothing where the C library has no such options.
    """
    tell = getattr(ctypes.CDLL(None), "mallopt", None)
    if tell is not None:
        for option, value in (_ONE_ARENA, *_RETURNED.items()):
            tell(option, value)
