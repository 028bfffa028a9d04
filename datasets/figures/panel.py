"""The weekly panel of a window: series, IC by horizon, rank autocorrelation, coverage and deciles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from datasets.figures.rank_correlation import Integers, spearman
from datasets.figures.series import Dates, Flags, Floats, day, mean_or_null, measured, null_if_nan
from datasets.figures.unavailable import Unavailable
from schemas.metrics.deciles import BUCKET_MEANS, bucket_name
from schemas.metrics.statistic import FORWARD_RETURNS_PRESENT
from schemas.tables.weekly_signal import BUCKETS, MIN_DECILE_NAMES


def weekly_series(dates: Dates, values: Floats, figure: str) -> list[dict[str, Any]]:
    """Return the measured weeks with their values.

    Parameters
    ----------
    dates : Dates, shape (n_weeks,)
        Rebalance dates, ascending.
    values : Floats, shape (n_weeks,)
        One value per week; NaN stands for null.
    figure : str
        Key of the value in an entry.

    Returns
    -------
    list of dict
        ``date`` (ISO 8601) and the value, in order of date. Weeks without a finite value are omitted, so that the mean of the
        values equals the figure reported elsewhere for the series.
    """
    return [
        {"date": day(dates, week).isoformat(), figure: float(values[week])}
        for week in np.flatnonzero(np.isfinite(values)).tolist()
    ]


def weekly_means(series: Mapping[int, Floats], step: str, mean: str) -> list[dict[str, Any]]:
    """Average a family of weekly series: ICs by horizon, or autocorrelations by lag.

    Parameters
    ----------
    series : Mapping[int, Floats]
        Horizon or lag in weeks -> its values by week; NaN stands for null.
    step, mean : str
        Keys of the horizon or lag and of the mean in an entry.

    Returns
    -------
    list of dict
        One entry per horizon or lag, ascending, with the number of measured ``weeks``; the mean is None if there are none.
    """
    return [
        {step: n, mean: mean_or_null(series[n]), "weeks": int(measured(series[n]).size)}
        for n in sorted(series)
    ]


def panel_coverage(
    n_symbols: Floats, cohort_size: Floats, n_return_obs: Floats, traded: Flags
) -> dict[str, float | None]:
    """Average the sizes of the traded cross-sections.

    Parameters
    ----------
    n_symbols : Floats, shape (n_weeks,)
        Names in the cross-section, by rebalance week.
    cohort_size : Floats, shape (n_weeks,)
        Names with a valid score, by rebalance week.
    n_return_obs : Floats, shape (n_weeks,)
        Names with a score and a forward return, by rebalance week.
    traded : Flags, shape (n_weeks,)
        Whether the week's status is ``traded``; others do not count, as in :func:`datasets.figures.rank_ic.coverage`.

    Returns
    -------
    dict
        ``weeks``, the number of traded weeks with a name, and means over them, None if there are none: ``mean_n_symbols``,
        ``mean_cohort_size`` and ``mean_share_with_return`` (fraction between 0 and 1).
    """
    counted = traded & (n_symbols > 0)
    return {
        "weeks": int(counted.sum()),
        "mean_n_symbols": mean_or_null(n_symbols[counted]),
        "mean_cohort_size": mean_or_null(cohort_size[counted]),
        "mean_share_with_return": mean_or_null(n_return_obs[counted] / n_symbols[counted]),
    }


@dataclass(frozen=True, slots=True)
class WeeklyDeciles:
    """Rows of the weekly decile table; NaN stands for null.

    Attributes
    ----------
    date : Dates, shape (n_rows,)
        Rebalance date; ascending if a window is selected.
    bucket : Integers, shape (n_rows,)
        1 for the lowest scores to 10 for the highest; unique together with `date`.
    n_symbols, n_return_obs : Integers, shape (n_rows,)
        Numbers of names in the bucket, and of those with a forward return.
    mean_score, mean_score_z : Floats, shape (n_rows,)
        Means of the score and of its z-score over the names of the bucket.
    mean_long_short_weight, mean_long_only_weight : Floats, shape (n_rows,)
        Mean target weights, fractions of equity.
    mean_forward_return : Floats, shape (n_rows,)
        Mean over the names with a forward return, a fraction.
    ic : Floats, shape (n_rows,)
        Rank correlation of score and forward return inside the bucket.
    """

    date: Dates
    bucket: Integers
    n_symbols: Integers
    mean_score: Floats
    mean_score_z: Floats
    mean_long_short_weight: Floats
    mean_long_only_weight: Floats
    mean_forward_return: Floats
    ic: Floats
    n_return_obs: Integers


def decile_block(rows: WeeklyDeciles, rebalance_weeks: int) -> dict[str, Any] | Unavailable:
    """Average the weekly decile rows of a window.

    A week without any forward return is excluded from every figure, including means of scores and weights, so that all
    columns of the table describe the same weeks.

    Parameters
    ----------
    rows : WeeklyDeciles
        Every row of the window, in any order: ten for each rebalance week that was cut.
    rebalance_weeks : int
        Number of rebalance dates in the window, of any status.

    Returns
    -------
    dict or Unavailable
        The members of :data:`schemas.metrics.deciles.DECILES` from ``weeks`` onwards; ``weeks_skipped`` are rebalance weeks
        that were not cut. ``forward_returns_absent`` when no decile week has a forward return, ``insufficient_data`` when
        no week was cut.
    """
    weeks, week = np.unique(rows.date, return_inverse=True)
    returns = np.bincount(week, weights=rows.n_return_obs, minlength=weeks.size)
    if weeks.size == 0:
        return Unavailable(
            "insufficient_data",
            f"no week of the window has {MIN_DECILE_NAMES} scored names, not all with one score, to be cut into deciles",
        )
    if not returns.any():
        return Unavailable("forward_returns_absent", "no decile week of the window has a forward return")
    has_return = returns[week] > 0
    buckets = [_bucket(rows, rank, has_return & (rows.bucket == rank)) for rank in range(1, BUCKETS + 1)]
    means = np.array([bucket["mean_forward_return"] for bucket in buckets], dtype=np.float64)
    return {
        "weeks": int((returns > 0).sum()),
        "buckets": buckets,
        "monotonicity": {
            "spearman_bucket_vs_mean_forward_return": null_if_nan(
                spearman(np.arange(1.0, BUCKETS + 1.0), means)
            ),
            "top_minus_bottom": null_if_nan(means[-1] - means[0]),
        },
        "forward_returns": FORWARD_RETURNS_PRESENT,
        "weeks_skipped": rebalance_weeks - int(weeks.size),
    }


def _bucket(rows: WeeklyDeciles, rank: int, in_bucket: Flags) -> dict[str, Any]:
    """Average one bucket over its weeks in order of date, so that the sums do not depend on the order of rows."""
    order = np.flatnonzero(in_bucket)[np.argsort(rows.date[in_bucket], kind="stable")]
    return {
        "bucket": bucket_name(rank),
        "rank": rank,
        "weeks": int(order.size),
        "mean_n_symbols": mean_or_null(rows.n_symbols[order].astype(np.float64)),
        **{name: mean_or_null(getattr(rows, name)[order]) for name in BUCKET_MEANS},
        "n_return_obs": int(rows.n_return_obs[order].sum()),
    }
