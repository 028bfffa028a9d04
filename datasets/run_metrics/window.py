"""Days asked for, and the rows that lie inside them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

import numpy as np

from datasets.maths.series import Dates


@dataclass(frozen=True, slots=True)
class Window:
    """Inclusive days; None at an end that is open."""

    first: dt.date | None = None
    last: dt.date | None = None

    @property
    def whole(self) -> bool:
        """Whether neither end was given, so that every row lies inside."""
        return self.first is None and self.last is None

    def rows(self, dates: Dates) -> slice:
        """Return the place of the rows inside, of days that ascend."""
        first = 0 if self.first is None else int(np.searchsorted(dates, np.datetime64(self.first), "left"))
        last = (
            dates.size
            if self.last is None
            else int(np.searchsorted(dates, np.datetime64(self.last), "right"))
        )
        return slice(first, last)

    def touches(self, other: Window) -> bool:
        """Whether a bounded span and this window have a day in common."""
        assert other.first is not None
        assert other.last is not None
        starts = self.last is None or other.first <= self.last
        return starts and (self.first is None or other.last >= self.first)

    def cuts(self, other: Window) -> bool:
        """Whether a bounded span has a day outside this window."""
        assert other.first is not None
        assert other.last is not None
        before = self.first is not None and self.first > other.first
        return before or (self.last is not None and self.last < other.last)

    def within(self, other: Window) -> Window:
        """Return the days that both have; it holds no row when there are none."""
        firsts = [day for day in (self.first, other.first) if day is not None]
        lasts = [day for day in (self.last, other.last) if day is not None]
        return Window(max(firsts, default=None), min(lasts, default=None))


WHOLE_RUN: Final = Window()
