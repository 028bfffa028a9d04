"""Random kill times that adapt to the machine's speed."""

from __future__ import annotations

import random


class KillSchedule:
    """Random delays, spread a little past the end of the work.

    How long the work takes is not known beforehand: what was measured once, on a machine that did something else
    beside, may be several times what the next one takes. So each kill says whether it came in time, and the spread
    follows: narrower after one that came too late, wider after one that came in time.

    Parameters
    ----------
    generator
        What the delays are drawn from.
    spread
        A first guess of the longest delay, in seconds.
    """

    def __init__(self, generator: random.Random, spread: float) -> None:
        self._generator = generator
        self._spread = spread
        self._least = spread / 1000

    def next(self) -> float:
        """Return how many seconds to wait before the next kill."""
        return self._generator.uniform(0, self._spread)

    def adapt(self, *, in_time: bool) -> None:
        """Record whether the last kill interrupted anything."""
        # One late kill undoes six timely ones: about one in seven comes too late, whatever the machine.
        self._spread = max(self._least, self._spread * (1.12 if in_time else 0.5))
