"""Spearman's rank correlation of many cross-sections at once, in exact integers.

With ties averaged, the mean rank of n values is always (n + 1) / 2, so twice a rank minus (n + 1) is a whole number, and
these numbers sum to zero. The three sums of products are exact in float64 for up to 200,000 names: the result does not
depend on the order of the rows, a constant side gives exactly zero, and a perfect ordering gives exactly 1.

Spearman (1904), "The Proof and Measurement of Association between Two Things", American Journal of Psychology 15.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.figures.series import Floats

Integers: TypeAlias = npt.NDArray[np.int64]


def order_codes(values: Floats, group: Integers) -> Integers:
    """Code values so that :func:`centred_ranks` can rank any subset of them.

    Parameters
    ----------
    values : Floats, shape (n_rows,)
        Values in any order; without NaN.
    group : Integers, shape (n_rows,)
        Group of each row, at least 0.

    Returns
    -------
    Integers, shape (n_rows,)
        Codes from 0 on: equal for equal values of a group, ascending in the value within a group, and above every code of
        earlier groups.
    """
    order = np.lexsort((values, group))
    ascending, groups = values[order], group[order]
    is_new = np.ones(values.size, np.bool_)
    is_new[1:] = (ascending[1:] != ascending[:-1]) | (groups[1:] != groups[:-1])
    codes = np.empty(values.size, np.int64)
    codes[order] = np.cumsum(is_new) - 1
    return codes


def centred_ranks(code: Integers, group: Integers, n_groups: int) -> Integers:
    """Twice the average rank within the group, minus the group's size plus one.

    Ranks are counted, not sorted: once the values of a run are coded, any subset of the rows is ranked in one pass.

    Parameters
    ----------
    code : Integers, shape (n_rows,)
        Ordinal code of each row's value, as :func:`order_codes` returns them. Memory grows with the range of the codes.
    group : Integers, shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``; rows in any order.
    n_groups : int
        Number of groups; a group may be empty.

    Returns
    -------
    Integers, shape (n_rows,)
        ``2 rank - (n + 1)`` by row, rank 1 for the lowest value, ties averaged.

    Examples
    --------
    >>> centred_ranks(np.array([5, 5, 9]), np.zeros(3, np.int64), 1)
    array([-1, -1,  2])
    """
    # 2 rank - (n + 1) = (at or below + below, among all rows) - (the same among rows of earlier groups, plus n).
    if code.size:
        code = code - code.min()
    tally = np.bincount(code)
    reached = np.cumsum(tally)
    size = np.bincount(group, minlength=n_groups)
    closed = np.cumsum(size)
    ranks: Integers = (2 * reached - tally)[code] - (2 * closed - size)[group]
    return ranks


def spearman_by_group(
    x_code: Integers, y_code: Integers, group: Integers, n_groups: int
) -> tuple[Floats, Integers]:
    """Rank correlation of two columns within each group.

    Parameters
    ----------
    x_code, y_code : Integers, shape (n_rows,)
        Ordinal codes of the two columns, as :func:`order_codes` returns them; without nulls.
    group : Integers, shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``; rows in any order.
    n_groups : int
        Number of groups.

    Returns
    -------
    rho : Floats, shape (n_groups,)
        Between -1 and 1; NaN with fewer than two rows or when either column is constant.
    pairs : Integers, shape (n_groups,)
        Rows of each group.
    """
    x, y = (centred_ranks(code, group, n_groups) for code in (x_code, y_code))
    xy, xx, yy = (
        np.bincount(group, weights=product, minlength=n_groups) for product in (x * y, x * x, y * y)
    )
    rho = np.full(n_groups, np.nan)
    np.divide(xy, np.sqrt(xx * yy), out=rho, where=(xx > 0) & (yy > 0))
    return np.clip(rho, -1.0, 1.0), np.bincount(group, minlength=n_groups)


def spearman(x: Floats, y: Floats) -> float:
    """Rank correlation of two series over the rows where neither is NaN.

    Parameters
    ----------
    x, y : Floats, shape (n_observations,)
        Pairs; NaN stands for null.

    Returns
    -------
    float
        Between -1 and 1, as :func:`scipy.stats.spearmanr`; NaN with fewer than two pairs or when either side is constant.

    Examples
    --------
    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """
    both = ~(np.isnan(x) | np.isnan(y))
    group = np.zeros(np.count_nonzero(both), np.int64)
    x_code, y_code = (order_codes(side[both], group) for side in (x, y))
    return float(spearman_by_group(x_code, y_code, group, 1)[0][0])
