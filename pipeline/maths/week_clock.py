"""The clock of weeks in a run with skipped weeks: defines "K weeks later", and matches rows of the same name.

The clock counts every week in which a signal was in force: traded weeks, and pending ones, which have
scores like any other and only lack the next open. A week with a skip reason does not count even if it has scores, because
the engine declared them unfit. Horizons and lags use the same clock, so stepping back by a lag undoes the step of an equal
horizon. A pending week has no forward return and so never
enters a compounded one: horizons span traded weeks only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers, order_codes
from datasets.figures.series import Floats
from pipeline.maths.weeks import iter_blocks
from schemas.tables.rebalances import PENDING, TRADED


def week_clock(rebalances: pl.DataFrame) -> pl.DataFrame:
    """Number the weeks in which a signal was in force.

    Parameters
    ----------
    rebalances : polars.DataFrame
        One row per rebalance date, in any order, with ``date`` and ``week_status``.

    Returns
    -------
    polars.DataFrame
        ``date``, ascending, and ``week_index`` (Int64) from 0 on; skipped weeks have no row.

    Examples
    --------
    >>> week_clock(pl.DataFrame({"date": [1, 2, 3], "week_status": ["traded", "skipped", "pending"]})).rows()
    [(1, 0), (3, 1)]
    """
    counted = rebalances.filter(pl.col("week_status").is_in([TRADED, PENDING]))
    return counted.select("date").sort("date").with_columns(week_index=pl.int_range(pl.len(), dtype=pl.Int64))


@dataclass(frozen=True)
class WeeklyPanel:
    """Columns of the run on the clock, as arrays sorted by week and name.

    Attributes
    ----------
    clock : polars.DataFrame
        Dates by week, as :func:`week_clock` returns them.
    week_index : Integers, shape (n_rows,)
        Week of each row.
    key : Integers, shape (n_rows,)
        ``week_index * width`` plus a number for the name, strictly ascending.
    width : int
        Distance in ``key`` from a name to the same name one week later.
    columns : dict of str to Floats, shape (n_rows,)
        Column name -> values; NaN stands for null.
    """

    clock: pl.DataFrame
    week_index: Integers
    key: Integers
    width: int
    columns: dict[str, Floats]
    _codes: dict[str, Integers] = field(default_factory=dict, init=False, repr=False, compare=False)

    def codes(self, column: str) -> Integers:
        """Return the ordinal codes of a column by week, computed once.

        Parameters
        ----------
        column : str
            Name of a column.

        Returns
        -------
        Integers, shape (n_rows,)
            As returned by :func:`datasets.figures.rank_correlation.order_codes` with weeks as groups; 0 where the column is null.
        """
        if column not in self._codes:
            values = self.columns[column]
            codes = np.zeros(values.size, np.int64)
            for weeks, rows in self.blocks():
                known = rows.start + np.flatnonzero(~np.isnan(values[rows]))
                # A block has no more codes than rows, so its codes end before those of the next block.
                codes[known] = rows.start + order_codes(values[known], self.week_index[known] - weeks.start)
            self._codes[column] = codes
        return self._codes[column]

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Split the panel into blocks of weeks that fit a core's cache.

        Yields
        ------
        weeks, rows : slice
            Slices of the weeks of the clock, and of their rows.
        """
        return iter_blocks(np.bincount(self.week_index, minlength=self.clock.height))

    @classmethod
    def of(cls, rebalances: pl.DataFrame, decisions: pl.DataFrame, *columns: str) -> WeeklyPanel:
        """Arrange the decisions of a run on the clock.

        Parameters
        ----------
        rebalances : polars.DataFrame
            One row per rebalance date: ``date``, ``week_status``.
        decisions : polars.DataFrame
            One row per name and week, unique in ``date`` and ``symbol``.
        *columns : str
            Names of numeric columns to include.

        Returns
        -------
        WeeklyPanel
            Without the rows of skipped weeks.
        """
        clock = week_clock(rebalances)
        # The numbers of names only have to be distinct, so the cheapest numbering is used.
        name = pl.col("symbol").cast(pl.String).cast(pl.Categorical).to_physical().cast(pl.Int64)
        rows = decisions.select("date", name.alias("name"), *columns).join(clock, on="date", how="inner")
        width = int(rows.select(pl.col("name").max() + 1).item() or 1)
        rows = rows.with_columns(key=pl.col("week_index") * width + pl.col("name")).sort("key")
        return cls(
            clock=clock,
            week_index=rows["week_index"].to_numpy(),
            key=rows["key"].to_numpy(),
            width=width,
            columns={
                column: rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy() for column in columns
            },
        )

    def same_name(self, rows: Integers, weeks: int) -> tuple[Integers, Integers]:
        """Find the rows of the same names some weeks later or earlier.

        Parameters
        ----------
        rows : Integers, shape (n_given,)
            Rows of the panel.
        weeks : int
            Weeks of the clock: later when positive, earlier when negative.

        Returns
        -------
        position : Integers, shape (n_matches,)
            Positions in `rows` that have a row of the same name in that week.
        partner : Integers, shape (n_matches,)
            The matching row of the panel for each of them.
        """
        keys = self.key[rows] + weeks * self.width
        candidate = np.searchsorted(self.key, keys)
        candidate[candidate == self.key.size] = 0
        position = np.flatnonzero(self.key[candidate] == keys)
        return position, candidate[position]

    def weekly(self, figures: Mapping[str, Floats]) -> pl.DataFrame:
        """Return figures by week as a frame.

        Parameters
        ----------
        figures : Mapping[str, Floats]
            Name -> values by week of the clock, shape (n_weeks,).

        Returns
        -------
        polars.DataFrame
            ``date``, ascending, and a column per figure; NaN becomes null.
        """
        return self.clock.select("date").with_columns(
            pl.Series(name, values, nan_to_null=True) for name, values in figures.items()
        )
