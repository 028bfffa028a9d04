"""Correlations of one series with thousands, from rounded returns, each with a bound on its error.

Reading every return of every alpha in double precision takes the memory's speed to its end several times over. Nearly all of
it can be spared: 8 bits a return tell every correlation to within some hundredths, which leaves a few hundred alphas that could
be among those asked for; 16 bits tell theirs to within some 1e-4, and only what could still be among them is computed in double
precision.

The bound: rounding moves the end of a series by the length of what it lost, which turns it by an angle of asin(lost / length)
at most, also once both are taken less their means. A correlation is the cosine of the angle between two series, and a cosine
changes by no more than its angle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats
from serve.peers.returns import DailyReturns
from serve.peers.rounded_returns import BLOCK, EIGHT, LARGEST, SIXTEEN, RoundedReturns, in_steps

_SHORT: Final = 128
"""Columns up to which 8 bits are not worth the look: too much of the window lies beside whole blocks."""
_ROWS_AT_ONCE: Final = 128
"""Rows of 16 bits that are widened at a time: with them a core's own cache is filled."""
_MIN_DEVIATION: Final = 2e-7
"""Deviation above which a series varies by more than rounding, whatever its size up to `LARGEST`, and half of it does too."""
_ROUNDING: Final = 1e-9
"""More than double precision loses of a sum of squares, as a share of it."""
_MAX_ERROR: Final = 0.5
"""A series that is turned by less has more than half of its length left."""


class Estimated(NamedTuple):
    """Correlations of some rows.

    Attributes
    ----------
    correlation
        To within `error`; 0 where that is infinite.
    error
        Infinite where nothing is known, not even whether there is a correlation.
    """

    correlation: Floats
    error: Floats


class _Side(NamedTuple):
    """The series as it is compared, by row where it depends on the common days.

    Attributes
    ----------
    dense
        One entry a column of the window, 0 where it has no return.
    total, squares
        Sum, and sum of squares less the mean, over the common days.
    error
        What its own rounding makes of a correlation at most; infinite where it may not vary, or the common days are no stretch.
    """

    dense: Floats
    total: Floats
    squares: Floats
    error: Floats


class Estimates:
    """One series beside the rows that there are.

    Parameters
    ----------
    returns
        The rows.
    series
        With as many days as the window has.
    count
        How many of the rows; all by default.

    Attributes
    ----------
    observations
        Common sessions of each row, exactly; -1 where that is not known.
    start
        Where the common sessions begin in the series, if they are neighbours in it and in the row; else -1.
    """

    def __init__(self, returns: RoundedReturns, series: DailyReturns, count: int | None = None) -> None:
        self._returns = returns
        self._used = used = returns.used if count is None else count
        columns, weekday = returns.columns(series.days)
        # Days that no row can have are common with none.
        inside = weekday & (columns >= 0) & (columns < returns.width)
        columns, own = columns[inside], series.values[inside]
        self.observations = np.full(used, -1 if columns.size else 0)
        self.start = np.full(used, -1)
        self._possible = columns.size > 1 and bool(np.abs(own).max() <= LARGEST)
        if not self._possible:
            return
        self._begin, self._end = int(columns[0]), int(columns[-1]) + 1
        self._columns = columns - self._begin
        self._deviations = own - own.mean()
        self._size = float(np.abs(self._deviations).max())
        self._calendar = returns.calendar[:used]
        self._common = returns.calendars.common(columns)
        self.observations = self._common.observations[self._calendar]
        self._counts: Integers = np.maximum(self.observations, 1)
        if inside.all():
            self.start = self._common.start[self._calendar]

    @np.errstate(all="ignore")
    def of_all(self) -> Estimated:
        """Estimate the correlation with every row from 8 bits; with none in a short window, in which 16 are as few."""
        if not self._possible or self._end - self._begin <= _SHORT:
            return _unknown(self._used)
        rows, returns = np.s_[: self._used], self._returns
        steps, lost = in_steps(self._deviations, self._size, EIGHT)
        own = self._side(steps, self._size / EIGHT, lost, rows)
        products = _products(returns.eight[rows, self._begin : self._end], own.dense)
        n = self._counts[rows]
        # Days beside whole blocks add anything between nothing and what the blocks have that they are in.
        total, squares, beside = self._block_sums()
        beside_days = -self._begin % BLOCK + self._end % BLOCK
        beside_total = np.sqrt(beside_days * beside)
        least = squares - (np.abs(total) + beside_total) ** 2 / n
        most = squares + beside
        covariance = products - own.total * total / n
        spread = np.abs(own.total) * beside_total / n
        longest, shortest = np.sqrt(own.squares * most), np.sqrt(own.squares * least)
        low, high = covariance - spread, covariance + spread
        low, high = np.minimum(low / longest, low / shortest), np.maximum(high / longest, high / shortest)
        error = (high - low) / 2 + own.error + self._turned(EIGHT, rows, least, most)
        return _known((high + low) / 2, error)

    @np.errstate(all="ignore")
    def of(self, rows: Integers) -> Estimated:
        """Estimate the correlation with some rows from 16 bits."""
        if not self._possible:
            return _unknown(rows.size)
        own = self._side(self._deviations / self._size, self._size, 0.0, rows)
        products, total, squares = np.empty((3, rows.size))
        pair = np.stack([own.dense, np.ones_like(own.dense)], axis=1)
        for low in range(0, rows.size, _ROWS_AT_ONCE):
            part = slice(low, low + _ROWS_AT_ONCE)
            wide = self._returns.sixteen[rows[part], self._begin : self._end].astype(np.float64)
            products[part], total[part] = (wide @ pair).T
            squares[part] = np.vecdot(wide, wide)
        n = self._counts[rows]
        left = squares - total * total / n
        correlation = (products - own.total * total / n) / np.sqrt(own.squares * left)
        return _known(correlation, own.error + self._turned(SIXTEEN, rows, left, squares))

    def _side(self, values: Floats, step: float, lost: float, rows: Integers | slice) -> _Side:
        """Take the series as it is compared: its values in steps so long, of which rounding lost so much."""
        dense = np.zeros(self._end - self._begin)
        dense[self._columns] = values
        low, high, n = self._common.low, self._common.high, np.maximum(self._common.observations, 1)
        # By calendar first: there are few of them.
        total, whole = (
            passed[high] - passed[low]
            for passed in (np.concatenate([[0.0], np.cumsum(x)]) for x in (dense, dense * dense))
        )
        squares = whole - total * total / n
        error = _error(lost, squares, whole, step, n)
        error[self._common.start < 0] = np.inf
        each = self._calendar[rows]
        return _Side(dense, total[each], squares[each], error[each])

    def _turned(self, steps: int, rows: Integers | slice, least: Floats, most: Floats) -> Floats:
        """Return what the rounding of rows makes of a correlation at most.

        Parameters
        ----------
        steps
            `EIGHT` or `SIXTEEN`.
        rows
            Which.
        least, most
            Sums of squares in steps, less the mean and with it, or bounds of them.
        """
        lost = np.minimum(self._returns.lost[steps][rows], 0.5 * np.sqrt(self._end - self._begin))
        return _error(lost, least, most, self._returns.size[rows] / steps, self._counts[rows])

    def _block_sums(self) -> tuple[Floats, Floats, Floats]:
        """Return sums of rows and of their squares over whole blocks of the window, and of the squares in those it cuts."""
        sums, used = self._returns.sums, self._used
        first, last = -(-self._begin // BLOCK), self._end // BLOCK
        inner = (sums[:, last, :used] - sums[:, first, :used]).astype(np.float64)
        outer = sums[1, -(-self._end // BLOCK), :used] - sums[1, self._begin // BLOCK, :used]
        return inner[0], inner[1], outer - inner[1]


def _known(correlation: Floats, error: Floats) -> Estimated:
    """Leave out what is not sure."""
    unsure = ~((error < _MAX_ERROR) & np.isfinite(correlation))
    correlation[unsure], error[unsure] = 0.0, np.inf
    return Estimated(correlation, error)


def _error(lost: Floats | float, squares: Floats, whole: Floats, step: Floats | float, n: Integers) -> Floats:
    """Return what rounding of one side makes of a correlation at most; infinite where that may not vary.

    Parameters
    ----------
    lost
        Root of the sum of squares of what was lost, in steps.
    squares, whole
        Sums of squares in steps, less the mean and with it.
    step
        Its length.
    n
        Common days.
    """
    length = np.sqrt(squares)
    share = lost / length
    # No less than the arc sine up to a half: what matters is below `_MAX_ERROR`, and the arc sine itself takes its time.
    turned: Floats = share + 0.19 * share * share * share + _ROUNDING * whole / squares
    turned[length * step <= np.sqrt(n) * _MIN_DEVIATION] = np.inf
    return turned


def _products(rows: npt.NDArray[np.int8], own: Floats) -> Floats:
    """Multiply rows of 8 bits with a series of whole numbers no larger, exactly."""
    # Loaded by the first search, in a few hundredths of a second that no other start pays.
    from numkong import cdist  # noqa: PLC0415

    found: Floats = np.asarray(cdist(rows, own.astype(np.int8)[np.newaxis], "dot"), np.float64)[:, 0]
    return found


def _unknown(count: int) -> Estimated:
    return Estimated(np.zeros(count), np.full(count, np.inf))
