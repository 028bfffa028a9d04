"""Codes that stand for values in a rank correlation."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats


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
    place = pl.DataFrame({"value": values, "group": group}).select(
        pl.col("value").rank("dense").over("group")
    )
    size = np.bincount(group)
    first = np.cumsum(size) - size
    codes: Integers = first[group] + place.to_series().to_numpy().astype(np.int64) - 1
    return codes
