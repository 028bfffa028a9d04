"""Correlations of one series with thousands, in single precision, each with a bound on its error.

Reading every return of every alpha in double precision takes the memory's speed to its end several times over. Most of
it can be spared: in single precision every correlation is known to some 1e-4, and only those that could be among the ones asked
for need to be computed in double precision.

A row is a series of returns on weekdays, a column a weekday. Where a row has no return there is a zero, which adds
nothing to any sum, and its bit in `known` is not set.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from datasets.maths.correlation import MIN_SESSIONS
from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Flags, Floats
from serve.peers.returns import DailyReturns, Days

_BLOCK: Final = 64
"""Columns whose sums are known: as many as there are bits in a word of `known`."""
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
    same
        Whether the row has a return on every day that the series has in the window, and on no other between them.
    """

    correlation: Floats
    error: Floats
    observations: Integers
    same: Flags


def weekday_numbers(days: Days) -> tuple[Integers, Flags]:
    """Return the number of each day among weekdays, and which days are weekdays."""
    week, day = np.divmod(days.astype(np.int64) + 3, 7)  # 1970-01-01 was a Thursday
    return week * 5 + np.minimum(day, 4), day < 5


class ReturnsMatrix:
    """Daily returns in single precision. Rows are added by one thread while others estimate.

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
        self.width = -(-(int(end) - self._first + 1 + _MARGIN_DAYS) // _BLOCK) * _BLOCK
        blocks = self.width // _BLOCK
        row_bytes = 4 * self.width + (8 + 2 * 8) * blocks + 8
        self.capacity = min(rows + max(_MIN_SPARE, rows // _SPARE), limit // row_bytes)
        self.row_bytes = row_bytes
        self._values = np.zeros((self.capacity, self.width), np.float32)
        self._known: _Words = np.zeros((self.capacity, blocks), np.uint64)
        self._sums = np.zeros((2, self.capacity, blocks))
        self._ends = np.zeros((2, self.capacity), np.int32)
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
        self._known[row] = _bits(columns, self.width)
        self._sums[0, row] = blocks.sum(axis=1)
        self._sums[1, row] = np.vecdot(blocks, blocks)
        self._ends[:, row] = columns[0], columns[-1]
        self.used = row + 1
        return row

    def starts(self, rows: Integers, day: int) -> Integers:
        """Return how many returns some rows have before a weekday."""
        (column,), _ = weekday_numbers(np.array([day], np.int32))
        mask = _span_bits(0, max(0, int(column) - self._first), self.width)
        found: Integers = np.bitwise_count(self._known[rows] & mask).sum(axis=1, dtype=np.int64)
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
        nothing = Estimates(
            np.zeros(used), np.full(used, np.inf), np.zeros(used, np.int64), np.zeros(used, np.bool_)
        )
        if columns.size < 2 or np.abs(own).max() > _LARGEST:
            return nothing._replace(observations=np.full(used, -1 if columns.size else 0))
        begin, end = int(columns[0]), int(columns[-1]) + 1
        dense = np.zeros(end - begin)
        dense[columns - begin] = own - own.mean()
        # Correlations know no scale: one near 1 keeps single precision away from its ends.
        scale = max(float(np.abs(dense).max()), float(np.finfo(np.float64).tiny))
        dense /= scale
        common, same, regular = self._common(columns, begin, end, used)
        x1, x2 = self._own_sums(dense, begin, end, used)
        y1, y2 = self._row_sums(begin, end, used)
        xy = np.vecdot(self._values[:used, begin:end], dense.astype(np.float32)).astype(np.float64)
        n = np.maximum(common, 1)
        own_variance, variance = x2 - x1 * x1 / n, y2 - y1 * y1 / n
        own_share, share = x2 / own_variance, y2 / variance
        correlation = (xy - x1 * y1 / n) / np.sqrt(own_variance * variance)
        # Of first order: products and their sum, the row's sum and sum of squares; then some room.
        error = 1.1 * (
            (end - begin + 300) * _UNIT * np.sqrt(own_share * share) + 200 * _UNIT * share + 1e-9 * own_share
        )
        sure = (
            regular
            & (own_variance * scale**2 > n * _MIN_DEVIATION**2)
            & (variance > n * _MIN_DEVIATION**2)
            & (error < _MAX_ERROR)
            & np.isfinite(correlation)
        )
        few = regular & (common < MIN_SESSIONS)
        return Estimates(
            np.where(sure, correlation, 0.0),
            np.where(sure, error, np.inf),
            np.where(regular, common, -1),
            same & ~few & bool(inside.all()),
        )

    def _common(self, columns: Integers, begin: int, end: int, used: int) -> tuple[Integers, Flags, Flags]:
        """Return the common days of each row, whether it has the very same, and whether what is to follow holds of it.

        It holds of a row all of whose days in the window are the series' too, and that lacks none of those between its own
        first and last.
        """
        first, last = begin // _BLOCK, -(-end // _BLOCK)
        window = _span_bits(begin, end, self.width)[first:last]
        own = _bits(columns, self.width)[first:last]
        known = self._known[:used, first:last] & window
        same: Flags = (known == own).all(axis=1)
        common = np.full(used, columns.size, np.int64)
        regular = same.copy()
        (rest,) = np.nonzero(~same)
        if rest.size:
            theirs = np.bitwise_count(known[rest]).sum(axis=1, dtype=np.int64)
            both = np.bitwise_count(known[rest] & own).sum(axis=1, dtype=np.int64)
            lows, highs = self._within(begin, end, rest)
            passed = np.concatenate([[0], np.cumsum(_dense_flags(columns - begin, end - begin))])
            between = passed[highs] - passed[lows]
            common[rest] = both
            regular[rest] = (theirs == both) & (both == between)
        return common, same, regular

    def _within(self, begin: int, end: int, rows: Integers | slice) -> tuple[Integers, Integers]:
        """Return where some rows begin and end within a window, as places in it."""
        lows = np.clip(self._ends[0][rows].astype(np.int64), begin, end) - begin
        highs = np.clip(self._ends[1][rows].astype(np.int64) + 1, begin, end) - begin
        return lows, np.maximum(lows, highs)

    def _own_sums(self, dense: Floats, begin: int, end: int, used: int) -> tuple[Floats, Floats]:
        """Sum the series and its squares over the days between the first and last of each row."""
        lows, highs = self._within(begin, end, slice(0, used))
        sums = [np.concatenate([[0.0], np.cumsum(x)]) for x in (dense, dense * dense)]
        one, two = (x[highs] - x[lows] for x in sums)
        return one, two

    def _row_sums(self, begin: int, end: int, used: int) -> tuple[Floats, Floats]:
        """Sum each row and its squares over a window: whole blocks are known, what is beside them is summed."""
        first, last = -(-begin // _BLOCK), end // _BLOCK
        edges = [(begin, end)] if first >= last else [(begin, first * _BLOCK), (last * _BLOCK, end)]
        one, two = self._sums[:, :used, first:last].sum(axis=2) if first < last else np.zeros((2, used))
        for low, high in edges:
            if low < high:
                edge = self._values[:used, low:high]
                one = one + np.vecdot(edge, np.ones(high - low, np.float32))
                two = two + np.vecdot(edge, edge)
        return one, two


def _bits(columns: Integers, width: int) -> _Words:
    return _packed(_dense_flags(columns, width))


def _span_bits(begin: int, end: int, width: int) -> _Words:
    flags = np.zeros(width, np.bool_)
    flags[begin:end] = True
    return _packed(flags)


def _dense_flags(columns: Integers, width: int) -> Flags:
    flags = np.zeros(width, np.bool_)
    flags[columns] = True
    return flags


def _packed(flags: Flags) -> _Words:
    return np.packbits(flags, bitorder="little").view(np.uint64)
