"""Weekly rank correlation of two columns of the cross-section."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.maths.rank_correlation import spearman_by_group
from pipeline.maths.ordering import order_codes


def weekly_ic(decisions: pl.DataFrame, signal: str, outcome: str = "forward_return") -> pl.DataFrame:
    """Spearman's rank correlation within each week, ties averaged.

    Parameters
    ----------
    decisions
        One row per name and week, in any order, with ``date`` and the two columns.
    signal, outcome
        Columns to correlate, over the names where both are known.

    Returns
    -------
    polars.DataFrame
        One row per date of the input, ascending: ``date``, ``ic`` (null with fewer than two pairs or when either
        side is constant) and ``n_pairs`` (Int64).

    References
    ----------
    Spearman (1904), "The Proof and Measurement of Association between Two Things", American Journal of Psychology 15.
    """
    dates = decisions["date"].unique().sort()
    pairs = decisions.select(
        week=pl.col("date").rank("dense").cast(pl.Int64) - 1, x=pl.col(signal), y=pl.col(outcome)
    ).drop_nulls()
    week = pairs["week"].to_numpy()
    x_code, y_code = (order_codes(pairs[side].cast(pl.Float64).to_numpy(), week) for side in ("x", "y"))
    ic, n_pairs = spearman_by_group(x_code, y_code, week, dates.len())
    return pl.DataFrame({"date": dates, "ic": ic, "n_pairs": n_pairs.astype(np.int64)}).with_columns(
        pl.col("ic").fill_nan(None)
    )
