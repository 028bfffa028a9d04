"""Daily returns of thousands of series in memory, rounded: to 8 bits for a first look at all, to 16 for a second at some.

A row is a series of returns on weekdays, a column a weekday. Where a row has no return there is a zero, which adds
nothing to any sum, and its day is not in the calendar of the row. Each row is rounded to whole steps of its own, as long as
its largest return and the bits allow, and how much that lost is known of each.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Flags, Floats
from serve.peers.calendars import WORD, Calendars, weekday_numbers
from serve.peers.returns import DailyReturns, Days

BLOCK: Final = 16
"""Columns after which the sums so far are known."""
LARGEST: Final = 1e6
"""Larger returns are left to double precision."""
EIGHT, SIXTEEN = 127, 32767
"""Steps from zero to the largest return."""
_MAX_WIDTH: Final = 2**16
"""Columns with which no sum of products of 8 bits is beyond 32: two and a half centuries."""
_SPARE: Final = 8
"""One in so many rows is left free for alphas that come later."""
_MIN_SPARE: Final = 256
_MARGIN_DAYS: Final = 64
"""Weekdays after the last that are left free for sessions to come."""


class RoundedReturns:
    """Rows of rounded returns. They are added by one thread while others read them.

    Parameters
    ----------
    first, last
        Days that the columns are to hold, at least.
    rows
        How many there will be about.
    limit
        Bytes they may take.

    Attributes
    ----------
    used
        How many rows there are.
    eight, sixteen
        The returns in steps, one row a series.
    size
        Largest return of each row, its sign aside.
    lost
        By bits, the root of the sum of squares of what rounding each row lost, in steps.
    sums
        Of 8 bits, and of their squares, before each block; a block's of all rows side by side.
    calendar, calendars
        Of each row the number of its calendar, and those.
    """

    def __init__(self, first: int, last: int, rows: int, limit: int) -> None:
        (begin, end), _ = weekday_numbers(np.array([first, last], np.int32))
        self._first = int(begin)
        self.width = -(-(int(end) - self._first + 1 + _MARGIN_DAYS) // WORD) * WORD
        blocks = self.width // BLOCK
        # A calendar of its own for each row at worst.
        self.row_bytes = 3 * self.width + 2 * 4 * (blocks + 1) + self.width // 8 + 6 * 8
        room = limit // self.row_bytes if self.width <= _MAX_WIDTH else 0
        self.capacity = min(rows + max(_MIN_SPARE, rows // _SPARE), room)
        self.eight: npt.NDArray[np.int8] = np.zeros((self.capacity, self.width), np.int8)
        self.sixteen: npt.NDArray[np.int16] = np.zeros((self.capacity, self.width), np.int16)
        self.size = np.zeros(self.capacity)
        self.lost = {EIGHT: np.zeros(self.capacity), SIXTEEN: np.zeros(self.capacity)}
        self.sums: npt.NDArray[np.int32] = np.zeros((2, blocks + 1, self.capacity), np.int32)
        self.calendar = np.zeros(self.capacity, np.int64)
        self.calendars = Calendars(self.width, self.capacity)
        self.used = 0

    @property
    def nbytes(self) -> int:
        """Memory taken by the rows there are; what is spare is not touched."""
        return self.used * self.row_bytes

    def add(self, returns: DailyReturns) -> int | None:
        """Add a series and return its row; None when it does not fit: too many, other days, or too large returns."""
        row = self.used
        columns, weekday = self.columns(returns.days)
        size = float(np.abs(returns.values).max(initial=0.0))
        if (
            row >= self.capacity
            or columns.size == 0
            or not weekday.all()
            or columns[0] < 0
            or columns[-1] >= self.width
            or size > LARGEST
        ):
            return None
        for steps, rounded in ((EIGHT, self.eight), (SIXTEEN, self.sixteen)):
            rounded[row, columns], self.lost[steps][row] = in_steps(returns.values, size, steps)
        blocks = self.eight[row].reshape(-1, BLOCK).astype(np.int32)
        self.sums[0, 1:, row] = np.cumsum(blocks.sum(axis=1))
        self.sums[1, 1:, row] = np.cumsum(np.vecdot(blocks, blocks))
        self.size[row] = size
        self.calendar[row] = self.calendars.number(columns)
        self.used = row + 1
        return row

    def columns(self, days: Days) -> tuple[Integers, Flags]:
        """Return the column of each day, there or not, and which days are weekdays."""
        numbers, weekday = weekday_numbers(days)
        return numbers - self._first, weekday

    def before(self, rows: Integers, days: Days) -> Integers:
        """Return how many returns each of some rows has before its day."""
        columns = np.clip(self.columns(days)[0], 0, self.width)
        return self.calendars.before(self.calendar[rows], columns)


def in_steps(values: Floats, size: float, steps: int) -> tuple[Floats, float]:
    """Round values to whole steps, and tell the root of the sum of squares of what that lost, in steps.

    Parameters
    ----------
    values
        None larger than `size`, whatever its sign.
    size
        What is `steps` steps long; 0 rounds all to 0.
    steps
        How many are as long as the largest value.
    """
    exact = values * (steps / size) if size > 0 else np.zeros_like(values)
    if not np.isfinite(exact).all():  # a size so small that its inverse is beyond all numbers
        return np.zeros_like(values), float(steps) * values.size
    rounded = np.rint(exact)
    return rounded, float(np.linalg.norm(exact - rounded))
