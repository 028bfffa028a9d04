"""The clocks that calls are counted by: one that is never set, and the one on the wall for the calendar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Runs on while the machine sleeps, where the system has such a clock."""
US: Final = 1000
"""Nanoseconds of a microsecond, the unit that calls are counted in."""


def wall_us() -> int:
    """Return the time in whole microseconds since 1970; may be set to anything at any moment."""
    return time.time_ns() // US


def boot_id() -> str:
    """Return what tells one start of the machine from another, empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


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
    boot
        Names that start; empty when it is not known.
    """

    wall: Callable[[], int]
    steady: Callable[[], int]
    boot: str = ""

    @classmethod
    def of_this_machine(cls) -> Clocks:
        """Return the real ones."""
        return cls(time.time_ns, partial(time.clock_gettime_ns, _STEADY), boot_id())


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by every clock there is.

    Attributes
    ----------
    boot, steady_us, wall_us
        As :class:`Clocks` tells them, in whole microseconds.
    at_us
        On the timeline of a file of call counts, which goes on over restarts.
    """

    boot: str
    steady_us: int
    wall_us: int
    at_us: int

    def resumed(self, clocks: Clocks) -> int:
        """Return the present on the timeline that was at this moment then.

        Until the machine is started anew the steady clock knows how long ago that was, whatever the wall clock was set
        to. After that only the wall clock can tell; when it is behind what it was, no time counts as passed.
        """
        steady = clocks.steady() // US
        if self.boot and self.boot == clocks.boot and steady >= self.steady_us:
            return self.at_us + steady - self.steady_us
        return self.at_us + max(0, clocks.wall() // US - self.wall_us)
