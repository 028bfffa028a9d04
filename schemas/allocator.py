"""What the allocator of the GNU C library is told in a process that serves or builds, and BLAS in one that serves.

Other C libraries ignore the first. One heap: otherwise each thread has its own, and each retains as much as its largest
piece of work needed.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

_ONE_HEAP: Final = {"MALLOC_ARENA_MAX": "1"}
SERVING: Final = {
    **_ONE_HEAP,
    "MALLOC_TRIM_THRESHOLD_": str(8 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(8 << 20),
    "OPENBLAS_NUM_THREADS": "1",
}
"""Of a process that answers requests.

One thread: requests run side by side on a thread each, and a product spread over all cores would only wait for the others.

The thresholds: a body or a buffer of some hundred kilobytes is allocated and freed with every answer. By default such a
block goes back to the system each time, and every page of the next one has to be found and cleared again. With 120 MB for
the cache and eight callers who read everything the peak is 373 to 380 MB, and 400 without these settings.
"""
BUILDING: Final = {
    **_ONE_HEAP,
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
}
"""Of a process that builds: columns of a table return to the system when they are freed."""
_SERVING_COMMANDS: Final = ("run", "demo")
"""The commands that live long enough for it to matter."""
_OPTIONS: Final = {"MALLOC_ARENA_MAX": -8, "MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3}
"""Variable -> the option of ``mallopt`` in <malloc.h>."""


def restart_serving(arguments: list[str]) -> None:
    """Start a serving command again, in this very process, unless `SERVING` is in its environment.

    To be called before anything else is loaded. What an operator set is left as it is; worker processes inherit it.

    Parameters
    ----------
    arguments
        What follows the name of the program.
    """
    if arguments and arguments[0] in _SERVING_COMMANDS and not SERVING.keys() <= os.environ.keys():
        os.execve(sys.executable, sys.orig_argv, {**SERVING, **os.environ})  # noqa: S606 - the same command


def prepare_building() -> None:
    """Apply `BUILDING` to this process, which is not worth being started again.

    To be called before a library that starts threads is loaded. What an operator set is left as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in BUILDING.items():
            if name not in os.environ:
                mallopt(_OPTIONS[name], int(value))
