"""Random kill times that adapt to the machine's speed."""

from __future__ import annotations

import random


class KillSchedule:
    """Random delays, spread a little past the end of the work.

    The duration of the work is not known beforehand: on a busy machine it varies by a factor of several. So the caller
    reports whether each kill came in time, and the spread adapts: it shrinks after a late kill and grows after a timely one.

    Parameters
    ----------
    generator
        Random generator of the delays.
    spread
        First guess of the longest delay, in seconds.
    """

    def __init__(self, generator: random.Random, spread: float) -> None:
        self._generator = generator
        self._spread = spread
        self._least = spread / 1000

    def next(self) -> float:
        """Return the seconds to wait before the next kill."""
        return self._generator.uniform(0, self._spread)

    def adapt(self, *, in_time: bool) -> None:
        """Record whether the last kill interrupted anything."""
        # One late kill offsets six timely ones, so about one in seven comes too late on any machine.
        self._spread = max(self._least, self._spread * (1.12 if in_time else 0.5))
