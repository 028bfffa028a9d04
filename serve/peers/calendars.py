"""Which weekdays many series of returns are on: most share theirs with many others, and each calendar is stored once.

A column is a weekday, a calendar a set of columns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Flags
from serve.peers.returns import Days

WORD: Final = 64
"""Bits of a word of a calendar; the columns are a multiple of it."""
_Words = npt.NDArray[np.uint64]


class Common(NamedTuple):
    """The days that a series has in common with calendars, one entry a calendar.

    Attributes
    ----------
    observations
        How many; -1 where they are no stretch of the series, or not all that the calendar has between its ends.
    start
        Where they begin in the series; -1 as above.
    low, high
        First and one past the last column that the calendar has within the series, counted from where that begins.
    """

    observations: Integers
    start: Integers
    low: Integers
    high: Integers


def weekday_numbers(days: Days) -> tuple[Integers, Flags]:
    """Return the number of each day among weekdays, and which days are weekdays."""
    week, day = np.divmod(days.astype(np.int64) + 3, 7)  # 1970-01-01 was a Thursday
    return week * 5 + np.minimum(day, 4), day < 5


class Calendars:
    """Calendars by their number. One thread adds some while others ask.

    Parameters
    ----------
    width
        Columns, a multiple of `WORD`.
    capacity
        How many calendars there can be.
    """

    def __init__(self, width: int, capacity: int) -> None:
        self._width = width
        self._bits: _Words = np.zeros((capacity, width // WORD), np.uint64)
        self._ends = np.zeros((2, capacity), np.int64)
        self._numbers: dict[bytes, int] = {}

    def number(self, columns: Integers) -> int:
        """Return the number of the calendar of some ascending columns, a new one where there is none yet."""
        bits = _packed(_flags(columns, self._width))
        number = self._numbers.get(bits.tobytes())
        if number is None:
            number = len(self._numbers)
            self._bits[number] = bits
            self._ends[:, number] = columns[0], columns[-1]
            self._numbers[bits.tobytes()] = number
        return number

    def before(self, numbers: Integers, columns: Integers) -> Integers:
        """Return how many columns each of some calendars has before one of its own."""
        # Most are of one calendar and ask about one day.
        asked, each = np.unique(numbers * (self._width + 1) + columns, return_inverse=True)
        calendars, limits = np.divmod(asked, self._width + 1)
        flags = np.arange(self._width) < limits[:, np.newaxis]
        counts = np.bitwise_count(self._bits[calendars] & _packed(flags)).sum(axis=1, dtype=np.int64)
        found: Integers = counts[each]
        return found

    def common(self, columns: Integers) -> Common:
        """Compare each calendar with that of a series.

        Parameters
        ----------
        columns
            Of the series, ascending, at least one.
        """
        count = len(self._numbers)
        begin, end = int(columns[0]), int(columns[-1]) + 1
        first, last = begin // WORD, -(-end // WORD)
        window = _packed(np.arange(self._width) >= begin) & _packed(np.arange(self._width) < end)
        own = _packed(_flags(columns, self._width))[first:last]
        known = self._bits[:count, first:last] & window[first:last]
        theirs = np.bitwise_count(known).sum(axis=1, dtype=np.int64)
        both = np.bitwise_count(known & own).sum(axis=1, dtype=np.int64)
        low = np.clip(self._ends[0, :count], begin, end) - begin
        high = np.maximum(np.clip(self._ends[1, :count] + 1, begin, end) - begin, low)
        passed = np.concatenate([[0], np.cumsum(_flags(columns - begin, end - begin), dtype=np.int64)])
        start = passed[low]
        regular = (theirs == both) & (both == passed[high] - start)
        return Common(np.where(regular, both, -1), np.where(regular, start, -1), low, high)


def _flags(columns: Integers, width: int) -> Flags:
    flags = np.zeros(width, np.bool_)
    flags[columns] = True
    return flags


def _packed(flags: Flags) -> _Words:
    return np.packbits(flags, axis=-1, bitorder="little").view(np.uint64)
