"""The weekly panel of a window: series, IC by horizon, rank autocorrelation and coverage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datasets.maths.equity import day
from datasets.maths.series import Dates, Flags, Floats, mean_or_null, measured


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
    """How full the traded cross-sections of a window are.

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
    """Pair each measured week with its value.

    Parameters
    ----------
    dates
        Rebalance days, ascending.
    values
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
    series
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
    n_symbols
        Names in the cross-section, by rebalance week.
    cohort_size
        Names with a valid score, by rebalance week.
    n_return_obs
        Names with a score and a forward return, by rebalance week.
    traded
        Whether the week's status is ``traded``; others do not count, as in :func:`datasets.maths.rank_ic.coverage`.

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
