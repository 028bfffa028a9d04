"""Sorting of values within groups, all groups at once, and of the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats


def ascending_within(values: Floats, size: Integers) -> Integers:
    """Find the order that sorts every group; equal values of a group keep the order of their rows.

    Parameters
    ----------
    values : Floats, shape (n_rows,)
        Values; the rows of each group are adjacent, groups in order; without NaN.
    size : Integers, shape (n_groups,)
        Rows of each group; may be 0.

    Returns
    -------
    Integers, shape (n_rows,)
        Row positions, groups in order and values ascending within each.

    Examples
    --------
    >>> ascending_within(np.array([2.0, 1.0, 0.0, 5.0, 4.0]), np.array([2, 3]))
    array([1, 0, 2, 4, 3])
    """
    return np.lexsort((values, np.repeat(np.arange(size.size), size)))


def ordered(rows: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Sort rows, without a copy when they are already in order.

    Parameters
    ----------
    rows : polars.DataFrame
        With the columns of `order`, without nulls.
    order : sequence of str
        Columns, at least one, the most significant first.

    Returns
    -------
    polars.DataFrame
        `rows` itself when it is in order.
    """
    return rows if rows.select(pl.struct(order)).to_series().is_sorted() else rows.sort(order)
