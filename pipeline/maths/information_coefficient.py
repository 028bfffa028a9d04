"""Weekly rank correlation of a signal and the forward return."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers, centred_ranks_in_order, correlate_ranks
from datasets.figures.series import Floats
from pipeline.maths.ordering import ascending_within, ordered
from pipeline.maths.weeks import count_flags, iter_blocks, week_sizes


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
    n_pairs = count_flags(both, size)
    x, y = x[both], y[both]
    order = ascending_within(x, n_pairs)
    return ic_in_order(x[order], y[order], n_pairs), n_pairs


def ic_in_order(signal: Floats, outcome: Floats, size: Integers) -> Floats:
    """Compute Spearman's rank correlation within each group, for rows sorted by the signal.

    Parameters
    ----------
    signal : Floats, shape (n_rows,)
        Values sorted within each group, groups in order; without NaN.
    outcome : Floats, shape (n_rows,)
        The other side of each pair; without NaN.
    size : Integers, shape (n_groups,)
        Rows of each group; may be 0.

    Returns
    -------
    Floats, shape (n_groups,)
        Between -1 and 1; NaN with fewer than two rows or when either side is constant.

    Examples
    --------
    >>> ic_in_order(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.3, 0.2]), np.array([3]))
    array([0.5])
    """
    order = ascending_within(outcome, size)
    return correlate_ranks(
        centred_ranks_in_order(signal, size)[order], centred_ranks_in_order(outcome[order], size), size
    )
