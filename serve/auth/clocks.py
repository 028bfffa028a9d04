"""The wall clock of keys and limits, in whole microseconds."""

from __future__ import annotations

import time
from typing import Final

SECOND_US: Final = 1_000_000


def wall_us() -> int:
    """Return microseconds since 1970 by the wall clock, which may be set at any moment."""
    return time.time_ns() // 1000
