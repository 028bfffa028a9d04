"""Weekly rank correlation of a signal and the forward return."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers, order_codes, spearman_by_group
from datasets.figures.series import Floats
from pipeline.maths.ordering import ordered
from pipeline.maths.weeks import iter_blocks, week_sizes


def weekly_ic(decisions: pl.DataFrame, signal: str) -> pl.DataFrame:
    """Compute Spearman's rank correlation of a signal and the forward return within each week, ties averaged.

    Parameters
    ----------
    decisions : polars.DataFrame
        One row per name and week, in any order, with ``date``, the signal and ``forward_return``.
    signal : str
        Column of the signal; names without signal or return are left out.

    Returns
    -------
    polars.DataFrame
        One row per date of the input, ascending: ``date``, ``ic`` (between -1 and 1; null with fewer than two pairs or when
        either side is constant) and ``n_pairs`` (Int64).

    References
    ----------
    Spearman (1904), "The Proof and Measurement of Association between Two Things", American Journal of Psychology 15.
    """
    rows = ordered(decisions.select("date", x=signal, y="forward_return"), ("date",))
    dates, size = week_sizes(rows["date"])
    x, y = (rows[name].cast(pl.Float64).to_numpy() for name in ("x", "y"))
    parts = [_week_ics(x[block], y[block], size[weeks]) for weeks, block in iter_blocks(size)]
    ic, n_pairs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return pl.DataFrame(
        [dates, pl.Series("ic", ic, nan_to_null=True), pl.Series("n_pairs", n_pairs, pl.Int64)]
    )


def _week_ics(x: Floats, y: Floats, size: Integers) -> tuple[Floats, Integers]:
    both = ~(np.isnan(x) | np.isnan(y))
    week = np.repeat(np.arange(size.size), size)
    return ic_by_group(x[both], y[both], week[both], size.size)


def ic_by_group(signal: Floats, outcome: Floats, group: Integers, n_groups: int) -> tuple[Floats, Integers]:
    """Compute Spearman's rank correlation of two columns within each group.

    Parameters
    ----------
    signal, outcome : Floats, shape (n_rows,)
        The two sides of each pair; without NaN.
    group : Integers, shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``; rows in any order.
    n_groups : int
        Number of groups; a group may be empty.

    Returns
    -------
    ic : Floats, shape (n_groups,)
        Between -1 and 1; NaN with fewer than two rows or when either side is constant.
    n_pairs : Integers, shape (n_groups,)
        Rows of each group.

    Examples
    --------
    >>> ic_by_group(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]), np.zeros(3, np.int64), 1)
    (array([0.5]), array([3]))
    """
    return spearman_by_group(order_codes(signal, group), order_codes(outcome, group), group, n_groups)
