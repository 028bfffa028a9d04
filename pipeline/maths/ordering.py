"""Sorting of values within groups, all groups at once, and of the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from datasets.figures.rank_correlation import Integers, in_ties, tie_starts
from datasets.figures.series import Floats

_PADDING: Final = 4
"""How many times larger than its values a rectangle of all groups may be."""


def ascending_within(values: Floats, size: Integers, *, stable: bool = False) -> Integers:
    """Find the order that sorts every group.

    Parameters
    ----------
    values : Floats, shape (n_rows,)
        One value a row, no NaN; the rows of a group stand together, groups in order.
    size : Integers, shape (n_groups,)
        Rows by group; a group may have none.
    stable : bool
        Leave equal values of a group in the order of their rows.

    Returns
    -------
    Integers, shape (n_rows,)
        Positions of the rows, group by group and ascending in each; equal values in any order unless `stable`.
    """
    if stable:
        order = ascending_within(values, size)
        starts = tie_starts(values[order], size)
        tied = in_ties(starts)
        if tied.any():
            rows = order[tied]
            order[tied] = rows[np.lexsort((rows, np.cumsum(starts[tied])))]
        return order
    if values.size == 0:
        return np.empty(0, np.int64)
    widest = int(size.max())
    if size.size * widest > _PADDING * values.size or not np.isfinite(values).all():
        # Most of a rectangle would be empty, or a value equals its filler.
        return np.lexsort((values, np.repeat(np.arange(size.size), size)))
    # All groups are the rows of one rectangle, sorted at once: several times quicker than group by group.
    filled: npt.NDArray[np.bool_] = np.arange(widest) < size[:, np.newaxis]
    rectangle = np.full(filled.shape, np.inf)
    rectangle[filled] = values
    order = np.argsort(rectangle, axis=1)
    order += (np.cumsum(size) - size)[:, np.newaxis]
    by_row: Integers = order[filled]
    return by_row


def order_codes(values: Floats, group: Integers) -> Integers:
    """Code values so that :func:`datasets.figures.rank_correlation.centred_ranks` can rank any subset of them.

    Parameters
    ----------
    values : Floats, shape (n_rows,)
        One value a row, in any order; no NaN.
    group : Integers, shape (n_rows,)
        Group of each row, a whole number of at least 0.

    Returns
    -------
    Integers, shape (n_rows,)
        Equal exactly for equal values of one group, in the order of the values inside a group, and in the order of
        the groups between them.
    """
    size = np.bincount(group)
    if np.all(group[1:] >= group[:-1]):
        order = ascending_within(values, size)
    else:
        by_group = np.argsort(group, kind="stable")
        order = by_group[ascending_within(values[by_group], size)]
    codes = np.empty(values.size, np.int64)
    codes[order] = np.cumsum(tie_starts(values[order], size)) - 1
    return codes


def in_order(rows: pl.DataFrame, order: Sequence[str]) -> bool:
    """Return whether rows ascend.

    Parameters
    ----------
    rows : polars.DataFrame
        Any rows; a null stands in order with everything.
    order : Sequence[str]
        The columns rows are ordered by, at least one, the most significant first.

    Returns
    -------
    bool
        True also for rows that agree in all the columns, and for fewer than two rows.
    """
    if rows.height < 2:
        return True
    # Series by series: an expression would wait for its turn in the engine, behind the files being written.
    ascends, tied = _steps(rows[order[0]])
    for name in order[1:]:
        above, same = _steps(rows[name])
        ascends, tied = ascends | (tied & above), tied & same
    # Nulls are passed over by `all`.
    return bool((ascends | tied).all())


def _steps(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return where a value is above the one before it, and where it is the same."""
    later, earlier = values.slice(1), values.slice(0, values.len() - 1)
    return later > earlier, later == earlier


def ordered(rows: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Return the rows sorted; themselves, without a copy, where they stand in order."""
    return rows if in_order(rows, order) else rows.sort(order)
