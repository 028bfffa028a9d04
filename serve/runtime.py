"""The process itself: its memory, its allocator and its garbage collector."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Final

_CACHE_DIVISOR: Final = 4
"""One part in this many is for cached rows and bodies unless the settings say otherwise."""
_GC_THRESHOLDS: Final = (20_000, 20, 50)
"""How many objects, and then collections of each younger generation, a collection waits for."""
ALLOCATOR: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(8 << 20),
}
"""What the allocator of the GNU C library reads when a process starts; others ignore it.

One heap: otherwise each thread has its own, and each retains as much as its largest answer needed. The thresholds: a body
or a buffer of some hundred kilobytes is allocated and freed with every answer. By default such a block goes back to the
system each time, and every page of the next one has to be found and cleared again. With 120 MB for the cache and eight
callers who read everything the peak is 373 to 380 MB; it was 373 to 375 with `mallopt` and `malloc_trim`, and is 400 without.
"""
_SERVING_COMMANDS: Final = ("run", "demo")
"""The commands that live long enough for it to matter."""
_CONTROL_GROUP: Final = Path("/sys/fs/cgroup/memory.max")


def restart_with_allocator_settings(arguments: list[str]) -> None:
    """Start a serving command again, in this very process, unless `ALLOCATOR` is in its environment.

    To be called before anything else is loaded. What an operator set is left as it is; worker processes inherit it.

    Parameters
    ----------
    arguments
        What follows the name of the program.
    """
    if arguments and arguments[0] in _SERVING_COMMANDS and not ALLOCATOR.keys() <= os.environ.keys():
        os.execve(sys.executable, sys.orig_argv, {**ALLOCATOR, **os.environ})  # noqa: S606 - the same command


def freeze_gc() -> None:
    """Spare the collector what is there for good; to be called once, before a program begins to serve.

    Half a million objects of imported code would otherwise be gone through again and again, in the middle of
    requests, and none of them is ever freed.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def unfreeze_gc() -> None:
    """Let the collector see everything again, so that a process that ends leaves nothing behind that it complains of."""
    gc.unfreeze()


def release_arrow_memory() -> None:
    """Return the unused memory of Arrow's pool to the machine; the pool retains it otherwise."""
    import pyarrow as pa  # noqa: PLC0415 - only processes that read files load it

    pa.default_memory_pool().release_unused()


def cache_bytes(setting: int, workers: int) -> int:
    """Return the bound on what one worker caches: the setting, or its part of a quarter of the memory there is."""
    return setting or _available() // _CACHE_DIVISOR // workers


def _available() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = _CONTROL_GROUP.read_text().strip()
    except OSError:  # no such control on this machine
        return physical
    return min(physical, int(allowed)) if allowed.isdigit() else physical
