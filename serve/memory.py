"""How much memory this process may fill with what it keeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_SHARE: Final = 4
"""One part in this many is kept for rendered rows and bodies unless the settings say otherwise."""
_CONTROL_GROUP: Final = Path("/sys/fs/cgroup/memory.max")


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
