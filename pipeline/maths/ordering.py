"""Sorting of the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


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
    return rows if rows.is_sorted(order) else rows.sort(order)
