"""Quality of the delivered score, from its weekly figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.bootstrap import MIN_OBSERVATIONS, mean_block_length, sample_sums
from datasets.figures.newey_west import newey_west
from datasets.figures.run_figures import NO_RAW_SIGNAL
from datasets.figures.series import Dates, Floats, Matrix, mean_or_null, measured, unmeasurable
from datasets.figures.unavailable import Figure, Unavailable, no_variation, too_few
from schemas.metrics.deciles import bucket_name
from schemas.metrics.families.signal import DELAYS, SEED
from schemas.plurals import counted
from schemas.tables.weekly_signal import BUCKETS

_MIN_T_STAT: Final = 2.0
"""Minimum absolute t-statistic of the undelayed IC for a half-life."""


@dataclass(frozen=True, slots=True)
class DeliveredSignal:
    """Figures of each week in which a signal was in force; NaN stands for null.

    Attributes
    ----------
    date : Dates, shape (n_weeks,)
        Rebalance dates, ascending.
    ic_by_delay : Mapping[int, Floats]
        Delay in weeks -> rank correlation of the forward return with the score delayed by so many weeks, shape (n_weeks,).
    autocorrelation : Floats, shape (n_weeks,)
        Rank correlation of the score with the previous week's.
    upper, lower : Floats, shape (n_weeks,)
        Rank correlation of score and forward return among the half of the names with the higher or the lower scores.
    deciles : Matrix, shape (n_decile_weeks, 10)
        Mean forward return by decile of the score, a fraction, in weeks with enough names.
    raw_deciles : Matrix, shape (n_raw_decile_weeks, 10), or None
        The same by the score before smoothing; None if the run did not record it.
    """

    date: Dates
    ic_by_delay: Mapping[int, Floats]
    autocorrelation: Floats
    upper: Floats
    lower: Floats
    deciles: Matrix
    raw_deciles: Matrix | None


def signal_quality(weeks: DeliveredSignal) -> dict[str, Any]:
    """Compute the quality of the delivered score.

    Parameters
    ----------
    weeks : DeliveredSignal
        Weeks of the complete run.

    Returns
    -------
    dict
        The members of :data:`schemas.metrics.families.signal.SIGNAL` except the span; each figure is a number or
        :class:`~datasets.figures.unavailable.Unavailable`.
    """
    autocorrelation = _mean(weeks.autocorrelation, "weeks with the names of the week before")
    fresh = _mean(weeks.ic_by_delay[0], "weekly ICs")
    return {
        "ic_by_delay": [_delayed(delay, weeks.ic_by_delay[delay]) for delay in DELAYS]
        if measured(weeks.ic_by_delay[0]).size
        else fresh,
        "half_life_weeks": half_life(weeks.ic_by_delay),
        "rank_autocorrelation": autocorrelation,
        "turnover_adjusted_ic": turnover_adjusted(fresh, autocorrelation),
        "long_side": _side(weeks.upper),
        "short_side": _side(weeks.lower),
        "delivered": decile_figures(weeks.deciles),
        "unsmoothed": NO_RAW_SIGNAL if weeks.raw_deciles is None else decile_figures(weeks.raw_deciles),
    }


def _mean(series: Floats, what: str) -> Figure:
    mean = mean_or_null(series)
    return too_few(0, 1, what) if mean is None else mean


def _delayed(delay: int, ic: Floats) -> dict[str, Any]:
    test = newey_west(ic)
    return {
        "delay_weeks": delay,
        "mean_ic": mean_or_null(ic),
        "t_stat": None if isinstance(test, Unavailable) else test.t_stat,
        "weeks": int(measured(ic).size),
    }


def _side(ic: Floats) -> dict[str, Any]:
    test = newey_west(ic)
    return {
        "mean_ic": _mean(ic, "weekly ICs of the side"),
        "t_stat": test if isinstance(test, Unavailable) else test.t_stat,
        "weeks": int(measured(ic).size),
    }


def half_life(ic_by_delay: Mapping[int, Floats]) -> Figure:
    """Delay at which the mean IC falls to half of the undelayed one.

    Parameters
    ----------
    ic_by_delay : Mapping[int, Floats]
        Delay in weeks (0, 1, 2, …) -> weekly ICs, shape (n_weeks,); NaN is ignored.

    Returns
    -------
    float or Unavailable
        Weeks, interpolated linearly between the two nearest delays. Withheld if the undelayed mean IC is less than two HAC
        standard errors from 0, and if more than half of it remains at every delay.

    References
    ----------
    Qian, Sorensen and Hua (2007), "Information Horizon, Portfolio Turnover, and Optimal Alpha Models", Journal of Portfolio
    Management 34.
    """
    test = newey_west(ic_by_delay[0])
    if isinstance(test, Unavailable):
        return test
    if abs(test.t_stat) < _MIN_T_STAT:
        return Unavailable(
            "insufficient_data", f"the mean IC lies less than {_MIN_T_STAT:g} HAC standard errors from 0"
        )
    before = 1.0
    for delay in range(1, len(ic_by_delay)):
        mean = mean_or_null(ic_by_delay[delay])
        if mean is None:
            return too_few(0, 1, f"weekly ICs of a delay of {counted(delay, 'week')}")
        share_left = mean / test.mean
        if share_left <= 0.5:
            return delay - 1 + (before - 0.5) / (before - share_left)
        before = share_left
    return Unavailable(
        "insufficient_data",
        f"more than half of the IC is left after {counted(len(ic_by_delay) - 1, 'week')}",
    )


def turnover_adjusted(ic: Figure, autocorrelation: Figure) -> Figure:
    """IC over the relative turnover of a book that follows the score.

    Parameters
    ----------
    ic : float or Unavailable
        Mean weekly IC.
    autocorrelation : float or Unavailable
        Mean rank correlation of the score with the previous week's.

    Returns
    -------
    float or Unavailable
        ``ic / sqrt(1 - autocorrelation)``: turnover is proportional to that root, which is 1 for a score that is independent
        from week to week. Withheld if either argument is, or if the autocorrelation is 1.

    References
    ----------
    Qian, Sorensen and Hua (2007), as :func:`half_life`.

    Examples
    --------
    >>> round(turnover_adjusted(0.03, 0.75), 3)
    0.06
    """
    if isinstance(ic, Unavailable):
        return ic
    if isinstance(autocorrelation, Unavailable):
        return autocorrelation
    if autocorrelation >= 1.0:
        return no_variation("ranks from week to week")
    return ic / math.sqrt(1.0 - autocorrelation)


def decile_figures(deciles: Matrix) -> dict[str, Any]:
    """Compute the figures of ten decile portfolios.

    Parameters
    ----------
    deciles : Matrix, shape (n_weeks, 10)
        Mean forward returns, fractions, from the decile with the lowest scores to the highest; weeks with a NaN are ignored.

    Returns
    -------
    dict
        As the blocks ``delivered`` and ``unsmoothed`` of :data:`schemas.metrics.families.signal.SIGNAL`.
    """
    complete = deciles[~np.isnan(deciles).any(axis=1)]
    weeks = int(complete.shape[0])
    reason = too_few(0, 1, "weeks with a return in each decile")
    spread = complete[:, -1] - complete[:, 0]
    test = newey_west(spread)
    return {
        "deciles": [
            {"bucket": bucket_name(rank), "mean_forward_return": float(mean)}
            for rank, mean in zip(range(1, BUCKETS + 1), complete.mean(axis=0), strict=True)
        ]
        if weeks
        else reason,
        "weeks": weeks,
        "spread": float(spread.mean()) if weeks else reason,
        "spread_t_stat": test if isinstance(test, Unavailable) else test.t_stat,
        "monotonicity": {**monotonicity(complete), "seed": SEED},
    }


def monotonicity(portfolios: Matrix) -> dict[str, Figure]:
    """Test whether mean returns increase from each portfolio to the next.

    Parameters
    ----------
    portfolios : Matrix, shape (n_periods, n_portfolios)
        Returns, fractions in order of date, without NaN; the portfolio with the lowest expected return first.

    Returns
    -------
    dict
        ``smallest_step``, the smallest difference J between the means of neighbours; ``p_value`` of the hypothesis that they
        do not increase, by the stationary bootstrap; ``mean_block``, its mean block length in periods. Withheld with fewer
        than 20 periods, or when the difference between the last and the first portfolio is constant.

    References
    ----------
    Patton and Timmermann (2010), "Monotonicity in Asset Returns: New Tests with Applications to the Term Structure, the CAPM,
    and Portfolio Sorts", Journal of Financial Economics 98; equations 6 to 9.
    """
    periods = int(portfolios.shape[0])
    names = ("smallest_step", "p_value", "mean_block")
    spread = portfolios[:, -1] - portfolios[:, 0]
    reason = unmeasurable(spread, MIN_OBSERVATIONS, "weeks with a return in each decile", "weekly spreads")
    if reason is not None:
        return dict.fromkeys(names, reason)
    steps = np.diff(portfolios, axis=1)
    means = steps.mean(axis=0)
    smallest = float(means.min())
    block = mean_block_length(spread)
    draw = np.random.Generator(np.random.PCG64(SEED))
    sampled = sample_sums(draw, block, steps - means) / periods
    p_value = float((sampled.min(axis=1) > smallest).mean())
    return {"smallest_step": smallest, "p_value": p_value, "mean_block": block}
