"""The clocks that calls are counted by: one that is never set, and the one on the wall for the calendar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Runs on while the machine sleeps, where the system has such a clock."""
US: Final = 1000
"""Nanoseconds of a microsecond, the unit that calls are counted in."""


def wall_us() -> int:
    """Return the time in whole microseconds since 1970; may be set to anything at any moment."""
    return time.time_ns() // US


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks of one machine, in nanoseconds as the system tells them: every call reads both.

    Attributes
    ----------
    wall
        Since 1970, by the wall clock, which may be set to anything at any moment.
    steady
        Since some moment, the same one for every process of the machine until it is started anew; nobody sets it, and it
        never goes back.
    """

    wall: Callable[[], int]
    steady: Callable[[], int]

    @classmethod
    def of_this_machine(cls) -> Clocks:
        """Return the real ones."""
        return cls(time.time_ns, partial(time.clock_gettime_ns, _STEADY))
