"""Rows of a run grouped by week."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags, Floats

_BLOCK_ROWS: Final = 16_000
"""Rows of a block, whose arrays fit a core's cache and reuse their memory; allocating arrays for a complete run costs as much
as the arithmetic."""


@dataclass(frozen=True, slots=True)
class Weeks:
    """The weeks of a table and the order that sorts its rows by week.

    Attributes
    ----------
    dates : polars.Series, length n_weeks
        Distinct dates, ascending.
    size : Integers, shape (n_weeks,)
        Rows of each date, at least 1.
    """

    dates: pl.Series
    size: Integers
    _order: Integers | None

    @classmethod
    def of(cls, dates: pl.Series) -> Weeks:
        """Find the weeks of a column.

        Parameters
        ----------
        dates : polars.Series, length n_rows
            Dates in any order, without nulls.

        Returns
        -------
        Weeks
            The distinct weeks.
        """
        day = dates.cast(pl.Int32).to_numpy()
        order = None
        if np.any(day[1:] < day[:-1]):
            order = np.argsort(day, kind="stable")
            day = day[order]
        starts = np.concatenate([np.flatnonzero(day[:1] == day[:1]), np.flatnonzero(day[1:] != day[:-1]) + 1])
        size = np.diff(starts, append=day.size)
        return cls(dates.gather(starts if order is None else order[starts]), size, order)

    def rows(self, column: pl.Series) -> Floats:
        """Return a numeric column sorted by week, in the order of the table within a week.

        Parameters
        ----------
        column : polars.Series, length n_rows
            A column of the same table.

        Returns
        -------
        Floats, shape (n_rows,)
            NaN stands for null.
        """
        values = column.cast(pl.Float64).to_numpy()
        return values if self._order is None else values[self._order]

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Split the table into blocks of weeks, as :func:`iter_blocks`.

        Yields
        ------
        weeks, rows : slice
            Consecutive weeks, and their rows sorted by week.
        """
        return iter_blocks(self.size)


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


def count_flags(flags: Flags, size: Integers) -> Integers:
    """Count the flagged rows of each week.

    Parameters
    ----------
    flags : Flags, shape (n_rows,)
        Rows sorted by week.
    size : Integers, shape (n_weeks,)
        Rows of each week, at least 1.

    Returns
    -------
    Integers, shape (n_weeks,)
        Number of flagged rows.
    """
    counts: Integers = np.add.reduceat(flags, np.cumsum(size) - size, dtype=np.int64)
    return counts
