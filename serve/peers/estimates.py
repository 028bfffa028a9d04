"""Correlations of one series with thousands, in single precision, each with a bound on its error.

Reading every return of every alpha in double precision takes the memory's speed to its end several times over. Most of
it can be spared: in single precision every correlation is known to some 1e-4, and only those that could be among the ones asked
for need to be computed in double precision.

A row is a series of returns on weekdays, a column a weekday. Where a row has no return there is a zero, which adds
nothing to any sum, and its day is not in the calendar of the row.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Flags, Floats
from serve.peers.returns import DailyReturns, Days

_WORD: Final = 64
"""Bits of a word of a calendar."""
_BLOCK: Final = 32
"""Columns after which the sums so far are known: what a window has beside whole blocks is summed for each request."""
_UNIT: Final = 2.0**-24
"""Largest relative error of rounding to single precision."""
_SPARE: Final = 8
"""One in so many rows is left free for alphas that come later."""
_MIN_SPARE: Final = 256
_MARGIN_DAYS: Final = 64
"""Weekdays after the last that are left free for sessions to come."""
_LARGEST: Final = 1e6
_SMALLEST: Final = 1e-30
"""Returns of other sizes are left to double precision: single precision would round them to nothing, or beyond itself."""
_MIN_DEVIATION: Final = 1e-7
"""Deviation above which a series varies by more than rounding, whatever its size up to `_LARGEST`."""
_MAX_ERROR: Final = 0.05
"""Error up to which its bound, of first order, holds with the room it is given."""
_Words = npt.NDArray[np.uint64]


class Estimates(NamedTuple):
    """One entry a row.

    Attributes
    ----------
    correlation
        To within `error`; anything where that is infinite.
    error
        Infinite where nothing is known, not even whether there is a correlation.
    observations
        Common sessions, exactly; -1 where that is not known.
    start
        Where the common sessions begin in the series, if they are neighbours in it and in the row; else -1.
    """

    correlation: Floats
    error: Floats
    observations: Integers
    start: Integers


def weekday_numbers(days: Days) -> tuple[Integers, Flags]:
    """Return the number of each day among weekdays, and which days are weekdays."""
    week, day = np.divmod(days.astype(np.int64) + 3, 7)  # 1970-01-01 was a Thursday
    return week * 5 + np.minimum(day, 4), day < 5


class ReturnsMatrix:
    """Daily returns in single precision. Rows are added by one thread while others estimate.

    Most rows have their returns on the very same days as many others: which days those are, their calendar, is compared with
    those of a series once for all of them.

    Parameters
    ----------
    first, last
        Days that the columns are to hold, at least.
    rows
        How many there will be about.
    limit
        Bytes it may take.
    """

    def __init__(self, first: int, last: int, rows: int, limit: int) -> None:
        (begin, end), _ = weekday_numbers(np.array([first, last], np.int32))
        self._first = int(begin)
        self.width = -(-(int(end) - self._first + 1 + _MARGIN_DAYS) // _WORD) * _WORD
        words, blocks = self.width // _WORD, self.width // _BLOCK
        # A calendar of its own for each row at worst.
        self.row_bytes = 4 * self.width + 2 * 8 * (blocks + 1) + 8 * words + 3 * 8
        self.capacity = min(rows + max(_MIN_SPARE, rows // _SPARE), limit // self.row_bytes)
        self._values = np.zeros((self.capacity, self.width), np.float32)
        # Sums of returns and of their squares before each block, a block's of all rows side by side.
        self._sums = np.zeros((2, blocks + 1, self.capacity))
        self._calendar = np.zeros(self.capacity, np.int64)
        self._calendars: _Words = np.zeros((self.capacity, words), np.uint64)
        self._ends = np.zeros((2, self.capacity), np.int64)
        self._numbers: dict[bytes, int] = {}
        self.used = 0

    @property
    def nbytes(self) -> int:
        """Memory taken by the rows there are; what is spare is not touched."""
        return self.used * self.row_bytes

    def add(self, returns: DailyReturns) -> int | None:
        """Add a series and return its row; None when it does not fit: too many, other days, or unusual sizes."""
        row = self.used
        columns, weekday = weekday_numbers(returns.days)
        columns = columns - self._first
        size = np.abs(returns.values)
        if (
            row >= self.capacity
            or columns.size == 0
            or not weekday.all()
            or columns[0] < 0
            or columns[-1] >= self.width
            or size.max() > _LARGEST
            or (size[size > 0] < _SMALLEST).any()
        ):
            return None
        dense = np.zeros(self.width)
        dense[columns] = returns.values
        blocks = dense.reshape(-1, _BLOCK)
        self._values[row] = dense
        self._sums[0, 1:, row] = np.cumsum(blocks.sum(axis=1))
        self._sums[1, 1:, row] = np.cumsum(np.vecdot(blocks, blocks))
        self._calendar[row] = self._number(columns)
        self.used = row + 1
        return row

    def _number(self, columns: Integers) -> int:
        """Return the number of a calendar, a new one where no row has it yet."""
        bits = _packed(_flags(columns, self.width))
        number = self._numbers.get(bits.tobytes())
        if number is None:
            number = len(self._numbers)
            self._calendars[number] = bits
            self._ends[:, number] = columns[0], columns[-1]
            self._numbers[bits.tobytes()] = number
        return number

    def before(self, rows: Integers, days: Days) -> Integers:
        """Return how many returns each of some rows has before its day."""
        columns = np.clip(weekday_numbers(days)[0] - self._first, 0, self.width)
        # Most are of one calendar and ask about one day.
        asked, each = np.unique(self._calendar[rows] * (self.width + 1) + columns, return_inverse=True)
        calendars, limits = np.divmod(asked, self.width + 1)
        flags = np.arange(self.width) < limits[:, np.newaxis]
        counts = np.bitwise_count(self._calendars[calendars] & _packed(flags)).sum(axis=1, dtype=np.int64)
        found: Integers = counts[each]
        return found

    @np.errstate(all="ignore")
    def estimate(self, series: DailyReturns) -> Estimates:
        """Estimate the correlation of a series with each row over the days that both have.

        Parameters
        ----------
        series
            With as many days as the window has.
        """
        used = self.used
        columns, weekday = weekday_numbers(series.days)
        columns = columns - self._first
        # Days that no row can have are common with none.
        inside = weekday & (columns >= 0) & (columns < self.width)
        columns, own = columns[inside], series.values[inside]
        if columns.size < 2 or np.abs(own).max() > _LARGEST:
            unknown = np.full(used, -1)
            return Estimates(
                np.zeros(used),
                np.full(used, np.inf),
                unknown if columns.size else np.zeros(used, np.int64),
                unknown,
            )
        begin, end = int(columns[0]), int(columns[-1]) + 1
        dense = np.zeros(end - begin)
        dense[columns - begin] = own - own.mean()
        # Correlations know no scale: one near 1 keeps single precision away from its ends.
        scale = max(float(np.abs(dense).max()), float(np.finfo(np.float64).tiny))
        dense /= scale
        calendar = self._calendar[:used]
        places, sums = self._of_calendars(columns, dense, begin, end)
        (observations, start), (x1, x2) = (x[calendar] for x in places), (x[calendar] for x in sums)
        y1, y2 = self._sums_between(begin, end, used)
        xy = (self._values[:used, begin:end] @ dense.astype(np.float32)).astype(np.float64)
        n = np.maximum(observations, 1)
        own_variance, variance = x2 - x1 * x1 / n, y2 - y1 * y1 / n
        own_share, share = x2 / own_variance, y2 / variance
        correlation = (xy - x1 * y1 / n) / np.sqrt(own_variance * variance)
        # Of first order: products and their sum, the row's sums beside whole blocks, those of the blocks; then some room.
        error = 1.1 * (
            (end - begin + 200) * _UNIT * np.sqrt(own_share * share)
            + 150 * _UNIT * share
            + 1e-9 * own_share
            + 1e-10 * self._sums[1, -1, :used] / variance
        )
        sure = (
            (start >= 0)
            & (own_variance * scale**2 > n * _MIN_DEVIATION**2)
            & (variance > n * _MIN_DEVIATION**2)
            & (error < _MAX_ERROR)
            & np.isfinite(correlation)
        )
        return Estimates(
            np.where(sure, correlation, 0.0),
            np.where(sure, error, np.inf),
            observations,
            start if inside.all() else np.full(used, -1),
        )

    def _of_calendars(
        self, columns: Integers, dense: Floats, begin: int, end: int
    ) -> tuple[tuple[Integers, Integers], tuple[Floats, Floats]]:
        """Return of each calendar the common days, where they begin in the series, and its sum and sum of squares over them.

        Where days are missing between its first and last, or there are others than the series has, all that is known is -1.
        """
        count = len(self._numbers)
        first, last = begin // _WORD, -(-end // _WORD)
        window = _packed(np.arange(self.width) >= begin) & _packed(np.arange(self.width) < end)
        own = _packed(_flags(columns, self.width))[first:last]
        known = self._calendars[:count, first:last] & window[first:last]
        theirs = np.bitwise_count(known).sum(axis=1, dtype=np.int64)
        both = np.bitwise_count(known & own).sum(axis=1, dtype=np.int64)
        lows = np.clip(self._ends[0, :count], begin, end) - begin
        highs = np.maximum(np.clip(self._ends[1, :count] + 1, begin, end) - begin, lows)
        passed, one, two = (
            np.concatenate([[0], np.cumsum(x)])
            for x in (_flags(columns - begin, end - begin).astype(np.int64), dense, dense * dense)
        )
        start = passed[lows]
        regular = (theirs == both) & (both == passed[highs] - start)
        places = np.where(regular, both, -1), np.where(regular, start, -1)
        return places, (one[highs] - one[lows], two[highs] - two[lows])

    def _sums_between(self, begin: int, end: int, used: int) -> tuple[Floats, Floats]:
        """Sum each row and its squares over a window: whole blocks are known, what is beside them is summed."""
        first, last = -(-begin // _BLOCK), end // _BLOCK
        edges = [(begin, end)] if first >= last else [(begin, first * _BLOCK), (last * _BLOCK, end)]
        sums = (
            np.zeros((2, used)) if first >= last else self._sums[:, last, :used] - self._sums[:, first, :used]
        )
        for low, high in edges:
            if low < high:
                edge = self._values[:used, low:high]
                sums[0] += np.einsum("ij->i", edge)
                sums[1] += np.einsum("ij,ij->i", edge, edge)
        return sums[0], sums[1]


def _flags(columns: Integers, width: int) -> Flags:
    flags = np.zeros(width, np.bool_)
    flags[columns] = True
    return flags


def _packed(flags: Flags) -> _Words:
    return np.packbits(flags, axis=-1, bitorder="little").view(np.uint64)
