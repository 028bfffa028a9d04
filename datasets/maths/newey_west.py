"""Newey-West test of a mean against zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasets.maths.conventions import MIN_HAC_OBSERVATIONS
from datasets.maths.series import Floats, is_constant, measured
from datasets.maths.unavailable import Unavailable, no_variation, too_few


@dataclass(frozen=True, slots=True)
class NeweyWest:
    """Mean of a series with a heteroskedasticity and autocorrelation consistent (HAC) standard error.

    Attributes
    ----------
    t_stat
        Mean in standard errors.
    p_value
        Two-sided, from Student's t with ``n - 1`` degrees of freedom.
    lag
        Autocovariances used.
    n
        Observations.
    mean, standard_error
        In the unit of the series.
    """

    t_stat: float
    p_value: float
    lag: int
    n: int
    mean: float
    standard_error: float


def bandwidth(n: int) -> int:
    """Lag of the plug-in rule ``floor(4 (n / 100)^(2/9))``.

    Found in whole numbers, since the rule's value is whole at n = 100 and at n = 51,200, where a floating power may
    fall just below.

    Parameters
    ----------
    n
        Observations, at least 0.

    Returns
    -------
    int
        The largest L with ``L^9 100^2 <= 4^9 n^2``.

    References
    ----------
    Newey and West (1994), "Automatic Lag Selection in Covariance Matrix Estimation", Review of Economic Studies 61.
    """
    lag = 0
    while (lag + 1) ** 9 * 100**2 <= 4**9 * n**2:
        lag += 1
    return lag


def long_run_variance(residuals: Floats, lag: int) -> float:
    """Bartlett-weighted sum of the autocovariances of a series about its mean.

    ``g_0 + 2 sum_{l=1..lag} (1 - l / (lag + 1)) g_l`` with ``g_l = (1/n) sum_t e_t e_{t-l}``, computed as the equal
    mean square of moving sums over ``lag + 1`` terms (the series padded with zeros at both ends). The second form
    cannot turn negative by rounding, which the difference of large autocovariances can.

    Parameters
    ----------
    residuals
        Deviations from the mean, n of them, without nulls; at least one.
    lag
        Autocovariances to use, at least 0.

    Returns
    -------
    float
        In the square of the unit of the series; at least 0.
    """
    window_sums = np.convolve(residuals, np.ones(lag + 1))
    return float(np.square(window_sums).sum()) / (residuals.size * (lag + 1))


def newey_west(series: Floats) -> NeweyWest | Unavailable:
    """Test whether the mean of an autocorrelated series differs from zero.

    Parameters
    ----------
    series
        Weekly ICs or daily returns in order of date. Nulls are dropped, so a lag counts measured observations.

    Returns
    -------
    NeweyWest or Unavailable
        ``insufficient_data`` with fewer than ten observations; ``nonpositive_variance`` when they do not vary
        (the only way for the Bartlett-weighted variance to vanish).

    References
    ----------
    Newey and West (1987), "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation Consistent
    Covariance Matrix", Econometrica 55. No small-sample correction of the variance.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - slow to load: programs start without it

    values = measured(series)
    n = int(values.size)
    if n < MIN_HAC_OBSERVATIONS:
        return too_few(n, MIN_HAC_OBSERVATIONS, "observations")
    mean = float(values.mean())
    lag = bandwidth(n)
    variance = long_run_variance(values - mean, lag)
    if is_constant(values) or variance <= 0:
        return no_variation("observations")
    standard_error = float(np.sqrt(variance / n))
    t_stat = mean / standard_error
    return NeweyWest(
        t_stat=t_stat,
        p_value=2.0 * float(stdtr(n - 1, -abs(t_stat))),
        lag=lag,
        n=n,
        mean=mean,
        standard_error=standard_error,
    )
