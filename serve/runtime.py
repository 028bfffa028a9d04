"""The memory of the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_CACHE_DIVISOR: Final = 4
"""One part in this many is for cached rows and bodies unless the settings say otherwise."""
_CONTROL_GROUP: Final = Path("/sys/fs/cgroup/memory.max")


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
