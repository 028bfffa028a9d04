"""Codes that stand for values in a rank correlation."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats

_PADDING: Final = 4
"""How many times larger than its values a rectangle of all groups may be."""


def order_codes(values: Floats, group: Integers) -> Integers:
    """Code values so that :func:`datasets.maths.rank_correlation.centred_ranks` can rank any subset of them.

    Parameters
    ----------
    values
        One value a row, in any order; no NaN.
    group
        Group of each row, a whole number of at least 0.

    Returns
    -------
    Integers
        Equal exactly for equal values of one group, in the order of the values inside a group, and in the order of
        the groups between them.
    """
    if values.size == 0:
        return np.empty(0, np.int64)
    size = np.bincount(group)
    first = np.cumsum(size) - size
    if size.size * int(size.max()) > _PADDING * values.size:
        # Groups so unequal that most of a rectangle would be empty.
        place = pl.DataFrame({"value": values, "group": group}).select(
            pl.col("value").rank("dense").over("group")
        )
        codes: Integers = first[group] + place.to_series().to_numpy().astype(np.int64) - 1
        return codes
    if np.all(group[1:] >= group[:-1]):
        codes = first[group] + _dense_ranks(values, group, size, first)
    else:
        by_group = np.argsort(group, kind="stable")
        codes = np.empty(values.size, np.int64)
        codes[by_group] = first[group[by_group]] + _dense_ranks(
            values[by_group], group[by_group], size, first
        )
    return codes


def _dense_ranks(values: Floats, group: Integers, size: Integers, first: Integers) -> Integers:
    """Rank within each group from 0, equal values alike; rows of a group stand together.

    All groups are the rows of one rectangle, sorted at once: several times quicker than group by group.
    """
    inside = np.arange(values.size) - first[group]
    rectangle = np.full((size.size, int(size.max())), np.inf)
    rectangle[group, inside] = values
    order = np.argsort(rectangle, axis=1)
    ascending = np.take_along_axis(rectangle, order, axis=1)
    rank = np.zeros(rectangle.shape, np.int64)
    np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=rank[:, 1:])
    ranks = np.empty_like(rank)
    np.put_along_axis(ranks, order, rank, axis=1)
    by_row: Integers = ranks[group, inside]
    return by_row
