"""The weekly panel of a window: series, IC by horizon, rank autocorrelation, coverage and deciles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datasets.figures.equity import day
from datasets.figures.rank_correlation import Integers, spearman
from datasets.figures.series import Dates, Flags, Floats, mean_or_null, measured, null_if_nan
from datasets.figures.unavailable import Unavailable
from schemas.tables.weekly_signal import BUCKETS


@dataclass(frozen=True, slots=True)
class WeeklyMean:
    """Mean of one weekly series.

    Attributes
    ----------
    step
        The horizon or lag of the series, in weeks.
    mean
        Ratio; ``None`` when it was measured in no week.
    weeks
        Weeks in which it was measured.
    """

    step: int
    mean: float | None
    weeks: int


@dataclass(frozen=True, slots=True)
class PanelCoverage:
    """Sizes of the traded cross-sections of a window.

    Attributes
    ----------
    weeks
        Traded weeks with a cross-section.
    mean_n_symbols
        Mean number of names in the cross-section.
    mean_cohort_size
        Mean number of names with a valid score.
    mean_share_with_return
        Ratio; mean share of the cross-section with a score and a forward return.
    """

    weeks: int
    mean_n_symbols: float | None
    mean_cohort_size: float | None
    mean_share_with_return: float | None


def weekly_series(dates: Dates, values: Floats) -> list[tuple[dt.date, float]]:
    """Return the measured weeks with their values.

    Parameters
    ----------
    dates : Dates, shape (n_weeks,)
        Rebalance days, ascending.
    values : Floats, shape (n_weeks,)
        One value a week, as long as ``dates``.

    Returns
    -------
    list of (datetime.date, float)
        In order of date. A week that could not be measured has no entry, so the mean of the values is the figure
        reported elsewhere for the same series.
    """
    return [(day(dates, week), float(values[week])) for week in np.flatnonzero(np.isfinite(values)).tolist()]


def weekly_means(series: Mapping[int, Floats]) -> tuple[WeeklyMean, ...]:
    """Average a family of weekly series: ICs by horizon, or autocorrelations by lag.

    Parameters
    ----------
    series : Mapping[int, Floats]
        Horizon or lag in weeks, to its series over the window.

    Returns
    -------
    tuple of WeeklyMean
        In ascending order of the step.
    """
    return tuple(
        WeeklyMean(step=step, mean=mean_or_null(series[step]), weeks=int(measured(series[step]).size))
        for step in sorted(series)
    )


def panel_coverage(
    n_symbols: Floats, cohort_size: Floats, n_return_obs: Floats, traded: Flags
) -> PanelCoverage:
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
    PanelCoverage
        With ``weeks`` 0 and the means ``None`` when no traded week has a name.
    """
    counted = traded & (n_symbols > 0)
    return PanelCoverage(
        weeks=int(counted.sum()),
        mean_n_symbols=mean_or_null(n_symbols[counted]),
        mean_cohort_size=mean_or_null(cohort_size[counted]),
        mean_share_with_return=mean_or_null(n_return_obs[counted] / n_symbols[counted]),
    )


@dataclass(frozen=True, slots=True)
class WeeklyDeciles:
    """Rows of the weekly decile table in a window, as arrays of equal length in any order.

    Attributes
    ----------
    date, bucket
        Key of a row: the rebalance day and the bucket, 1 for the lowest scores to 10 for the highest.
    n_symbols, n_return_obs
        Names in the bucket that week, and those of them with a forward return.
    mean_score, mean_score_z, mean_long_short_weight, mean_long_only_weight, mean_forward_return
        Means over the names of the bucket.
    ic
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


@dataclass(frozen=True, slots=True)
class DecileBucket:
    """One bucket over the window: means of weekly means over the weeks in which each is known.

    Attributes
    ----------
    rank
        1 for the lowest scores to 10 for the highest.
    weeks
        Weeks in which the bucket held a name.
    mean_n_symbols
        Names in a week.
    mean_score, mean_score_z, mean_long_short_weight, mean_long_only_weight, mean_forward_return, ic
        Mean of the weekly figure; ``None`` when it was known in no week.
    n_return_obs
        Forward returns in all weeks together.
    """

    rank: int
    weeks: int
    mean_n_symbols: float | None
    mean_score: float | None
    mean_score_z: float | None
    mean_long_short_weight: float | None
    mean_long_only_weight: float | None
    mean_forward_return: float | None
    ic: float | None
    n_return_obs: int


@dataclass(frozen=True, slots=True)
class DecileBlock:
    """The decile table of a window.

    Attributes
    ----------
    weeks
        Weeks measured: enough scored names, and a forward return of at least one.
    weeks_skipped
        Rebalance weeks with too few scored names to be cut. A week that has the names but no forward return (a
        pending one) is in neither count.
    buckets
        Ten, lowest scores first.
    spearman_bucket_vs_mean_forward_return
        Rank correlation of bucket number and mean forward return; ``None`` when fewer than two are known or all
        are equal.
    top_minus_bottom
        Ratio; mean forward return of the highest bucket less the lowest, ``None`` when either is not known.
    """

    weeks: int
    weeks_skipped: int
    buckets: tuple[DecileBucket, ...]
    spearman_bucket_vs_mean_forward_return: float | None
    top_minus_bottom: float | None


def decile_block(rows: WeeklyDeciles, rebalance_weeks: int) -> DecileBlock | Unavailable:
    """Average the weekly decile rows of a window.

    A week without any forward return is excluded from every figure, including means of scores and weights:
    otherwise the columns of one table would describe different weeks.

    Parameters
    ----------
    rows : WeeklyDeciles
        Every row of the window; every rebalance week with enough scored names has its ten.
    rebalance_weeks : int
        Rebalance dates in the window, whatever their status.

    Returns
    -------
    DecileBlock or Unavailable
        ``forward_returns_absent`` when weeks were cut but none has a forward return, ``insufficient_data`` when no
        week had enough scored names.
    """
    weeks, week = np.unique(rows.date, return_inverse=True)
    returns = np.bincount(week, weights=rows.n_return_obs, minlength=weeks.size)
    if weeks.size == 0:
        return Unavailable(
            "insufficient_data", "no week of the window has enough scored names to be cut into deciles"
        )
    if not returns.any():
        return Unavailable("forward_returns_absent", "no decile week of the window has a forward return")
    has_return = returns[week] > 0
    buckets = tuple(_bucket(rows, rank, has_return & (rows.bucket == rank)) for rank in range(1, BUCKETS + 1))
    means = np.array([np.nan if b.mean_forward_return is None else b.mean_forward_return for b in buckets])
    return DecileBlock(
        weeks=int((returns > 0).sum()),
        weeks_skipped=rebalance_weeks - int(weeks.size),
        buckets=buckets,
        spearman_bucket_vs_mean_forward_return=null_if_nan(spearman(np.arange(1.0, BUCKETS + 1.0), means)),
        top_minus_bottom=null_if_nan(means[-1] - means[0]),
    )


def _bucket(rows: WeeklyDeciles, rank: int, mine: npt.NDArray[np.bool_]) -> DecileBucket:
    """Average one bucket over its weeks by date, so that the sums do not depend on the order of rows."""
    order = np.flatnonzero(mine)[np.argsort(rows.date[mine], kind="stable")]
    return DecileBucket(
        rank=rank,
        weeks=int(order.size),
        mean_n_symbols=mean_or_null(rows.n_symbols[order].astype(np.float64)),
        mean_score=mean_or_null(rows.mean_score[order]),
        mean_score_z=mean_or_null(rows.mean_score_z[order]),
        mean_long_short_weight=mean_or_null(rows.mean_long_short_weight[order]),
        mean_long_only_weight=mean_or_null(rows.mean_long_only_weight[order]),
        mean_forward_return=mean_or_null(rows.mean_forward_return[order]),
        ic=mean_or_null(rows.ic[order]),
        n_return_obs=int(rows.n_return_obs[order].sum()),
    )
