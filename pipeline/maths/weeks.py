"""Rows of a run by week."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers

_BLOCK_ROWS: Final = 16_000
"""Rows of a block, whose arrays fit a core's cache and reuse their memory; allocating arrays for a complete run costs as much
as the arithmetic."""


def week_sizes(dates: pl.Series) -> tuple[pl.Series, Integers]:
    """Count the rows of each week.

    Parameters
    ----------
    dates : polars.Series, length n_rows
        Dates, ascending, without nulls.

    Returns
    -------
    dates : polars.Series, length n_weeks
        Distinct dates, ascending.
    size : Integers, shape (n_weeks,)
        Rows of each date, at least 1.
    """
    weeks = dates.rle().struct
    return weeks.field("value").alias(dates.name), weeks.field("len").cast(pl.Int64).to_numpy()


def iter_blocks(size: Integers) -> Iterator[tuple[slice, slice]]:
    """Split weeks into blocks whose rows fit a core's cache.

    Parameters
    ----------
    size : Integers, shape (n_weeks,)
        Rows of each week; may be 0.

    Yields
    ------
    weeks, rows : slice
        Consecutive weeks, and their rows sorted by week; a single empty block when there are no weeks.
    """
    closed = np.cumsum(size)
    cuts = np.flatnonzero(np.diff(closed // _BLOCK_ROWS)) + 1
    first = 0
    for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), closed.size], strict=True):
        last = int(closed[end - 1]) if end else 0
        yield slice(begin, end), slice(first, last)
        first = last
