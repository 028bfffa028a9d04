"""Each week's cross-section cut into ten buckets by the unconditioned signal."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.maths.rank_correlation import Integers, spearman_by_group
from datasets.maths.series import Floats
from pipeline.maths.cross_section import cross_section
from pipeline.maths.ordering import order_codes
from schemas.tables.weekly_signal import BUCKETS, MIN_DECILE_NAMES

_MEANS = {
    "mean_score": "raw_score",
    "mean_score_z": "raw_score_z",
    "mean_long_short_weight": "long_short_target_weight",
    "mean_long_only_weight": "long_only_target_weight",
    "mean_forward_return": "forward_return",
}
"""Mean -> column averaged. Weights are those of the delivered books: unconditioned ones need not have been sealed."""


def weekly_deciles(decisions: pl.DataFrame) -> pl.DataFrame:
    """Cut every week with enough names into ten buckets and describe each.

    The n names with a ``raw_score`` are ranked upwards, equal scores by symbol; rank r falls into bucket
    ``floor(10 (r - 1) / n) + 1``.

    Parameters
    ----------
    decisions
        One row per name and week, in any order: ``date``, ``symbol``, ``raw_score``, ``long_short_target_weight``,
        ``long_only_target_weight``, ``forward_return``.

    Returns
    -------
    polars.DataFrame
        Ten rows for each week with at least 20 scored names, by ``date`` and ``bucket`` (1 for the lowest scores):
        ``n_symbols``, ``mean_score``, ``mean_score_z``, ``mean_long_short_weight``, ``mean_long_only_weight``,
        ``mean_forward_return`` over the names that have one, ``ic`` (rank correlation of signal and forward return
        inside the bucket) and ``n_return_obs``. A week without forward returns has its rows, with null figures of
        return. No week with enough names gives no rows.
    """
    n = pl.len().over("date")
    scored = decisions.filter(pl.col("raw_score").is_not_null())
    names = (
        scored.with_columns(cross_section(scored, "raw_score", "raw_").select("raw_score_z"))
        .filter(n >= MIN_DECILE_NAMES)
        # Fixes the ties, and the order in which the means below are summed.
        .sort("date", "raw_score", pl.col("symbol").cast(pl.String))
        .with_columns(bucket=BUCKETS * pl.int_range(pl.len(), dtype=pl.Int64).over("date") // n + 1)
    )
    keys = names.select("date", "bucket").unique(maintain_order=True)
    group = names.select(pl.struct("date", "bucket").rle_id().cast(pl.Int64)).to_series().to_numpy()
    columns = {name: names[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in _MEANS.values()}
    returned = ~np.isnan(columns["forward_return"])
    inside = group[returned]
    score, forward = (
        order_codes(columns[name][returned], inside) for name in ("raw_score", "forward_return")
    )
    ic, n_return_obs = spearman_by_group(score, forward, inside, keys.height)
    return keys.with_columns(
        pl.Series("n_symbols", np.bincount(group, minlength=keys.height), pl.Int64),
        *(
            pl.Series(mean, _mean_by_group(columns[name], group, keys.height))
            for mean, name in _MEANS.items()
        ),
        pl.Series("ic", ic),
        pl.Series("n_return_obs", n_return_obs, pl.Int64),
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def decile_spread(deciles: pl.DataFrame) -> pl.DataFrame:
    """Mean forward return of the highest bucket less that of the lowest.

    Parameters
    ----------
    deciles
        As :func:`weekly_deciles` gives them.

    Returns
    -------
    polars.DataFrame
        ``date``, ascending, and ``decile_spread`` (a ratio); one row per week of the input, null where either bucket
        has no forward return.
    """
    mean = pl.col("mean_forward_return")
    return (
        deciles.group_by("date")
        .agg(
            decile_spread=mean.filter(pl.col("bucket") == BUCKETS).first()
            - mean.filter(pl.col("bucket") == 1).first()
        )
        .sort("date")
    )


def _mean_by_group(values: Floats, group: Integers, n_groups: int) -> Floats:
    """Mean of what is known in each group, summed row by row; NaN for a group that knows nothing.

    Not a grouped mean of Polars, whose partial sums may depend on the number of threads.
    """
    known = ~np.isnan(values)
    count = np.bincount(group[known], minlength=n_groups)
    total = np.bincount(group[known], weights=values[known], minlength=n_groups)
    means = np.full(n_groups, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means
