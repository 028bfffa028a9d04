"""Clocks of the limiter: a monotonic one for windows, and the wall clock for calendar months."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Continues during suspend, on systems with such a clock."""
US: Final = 1000
"""Nanoseconds per microsecond, the limiter's unit."""


def wall_us() -> int:
    """Return the wall clock in whole microseconds since 1970; it may be set at any moment."""
    return time.time_ns() // US


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks of one machine, in nanoseconds; every call reads both.

    Attributes
    ----------
    wall
        Nanoseconds since 1970 by the wall clock, which may be set at any moment.
    steady
        Since some moment, the same one for every process of the machine until it is started anew; nobody sets it, and it
        never goes back.
    """

    wall: Callable[[], int]
    steady: Callable[[], int]

    @classmethod
    def of_this_machine(cls) -> Clocks:
        """Return the system's clocks."""
        return cls(time.time_ns, partial(time.clock_gettime_ns, _STEADY))
