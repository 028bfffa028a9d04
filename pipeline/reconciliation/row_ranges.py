"""Ranges of adjacent rows that agree in some columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RowRanges:
    """Maximal row ranges of adjacent rows that agree in some columns.

    Ledgers are usually grouped by session, so that a million rows form a few thousand row ranges, on which sums and
    joins by session are cheap. No order is assumed: ungrouped rows only form more row ranges, with the same results.

    Attributes
    ----------
    heads : polars.DataFrame
        The columns at the first row of each range.
    starts, lengths : int64, shape (n_ranges,)
        First row and number of rows of each range.
    """

    heads: pl.DataFrame
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def row_numbers(first: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of ranges: ``first[0], first[0] + 1, …, first[1], …``."""
    return np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())


def day_numbers(days: pl.Series) -> NDArray[np.int64]:
    """Return a column of dates as days since 1970."""
    return days.to_physical().to_numpy().astype(np.int64)


def find_row_ranges(key: pl.DataFrame) -> RowRanges:
    """Find the ranges of adjacent rows that agree in every column; null equals null."""
    runs = key.to_struct("key").rle().struct
    lengths = runs.field("len").cast(pl.Int64).to_numpy()
    return RowRanges(runs.field("value").struct.unnest(), np.cumsum(lengths) - lengths, lengths)
