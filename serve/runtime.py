"""How much memory this process may fill with what it keeps."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path
from typing import Final

_SHARE: Final = 4
"""One part in this many is kept for rendered rows and bodies unless the settings say otherwise."""
_YOUNG: Final = 20_000
_MIDDLE: Final = 20
_OLD: Final = 50
"""How many objects, and then collections of the younger ones, a collection waits for."""
_C: Final = ctypes.CDLL(None)
_ALLOCATOR: Final = {-1: 32 << 20, -3: 8 << 20}
"""What the C library's allocator is told, by the numbers of <malloc.h>.

``M_TRIM_THRESHOLD`` and ``M_MMAP_THRESHOLD``: a body or a buffer of some hundred kilobytes is asked for and let go
with every answer. Left to itself the allocator hands such a block back to the system each time, and every page of the
next one has to be found and cleared again.
"""
_ONE_HEAP: Final = (-8, 1)
"""``M_ARENA_MAX``: otherwise each thread has a heap of its own, and each keeps as much as the largest answer needs."""
ONE_HEAP_OF_CHILDREN: Final = {"MALLOC_ARENA_MAX": "1"}
"""The same for processes to be started, as an environment variable."""
_CONTROL_GROUP: Final = Path("/sys/fs/cgroup/memory.max")


def limit_malloc_arenas() -> None:
    """Have all threads take memory from one heap; to be called before a library that starts threads is loaded."""
    _tell(*_ONE_HEAP)


def settle() -> None:
    """Spare the collector what is there for good; to be called once, before a program begins to serve.

    Half a million objects of imported code would otherwise be gone through again and again, in the middle of
    requests, and none of them is ever let go.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    for option, value in _ALLOCATOR.items():
        _tell(option, value)


def _tell(option: int, value: int) -> None:
    tell = getattr(_C, "mallopt", None)
    if tell is not None:  # as below
        tell(option, value)


def unsettle() -> None:
    """Let the collector see everything again, so that a process that ends leaves nothing behind that it complains of."""
    gc.unfreeze()


def trim_heap() -> None:
    """Return what was freed to the machine; allocators keep it otherwise, one for each library, in case."""
    import pyarrow as pa  # noqa: PLC0415 - it starts threads, and those before it share a heap

    pa.default_memory_pool().release_unused()
    trim = getattr(_C, "malloc_trim", None)
    if trim is not None:  # the C library of most Linux systems has it, others need it less
        trim(0)


def kept_bytes(setting: int, workers: int) -> int:
    """Return the bound on what one worker keeps: the setting, or its part of a quarter of the memory there is."""
    return setting or _available() // _SHARE // workers


def _available() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = _CONTROL_GROUP.read_text().strip()
    except OSError:  # no such control on this machine
        return physical
    return min(physical, int(allowed)) if allowed.isdigit() else physical
