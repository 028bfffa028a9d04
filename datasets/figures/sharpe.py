"""Significance of Sharpe ratios: probabilistic and deflated ratio, minimum track record.

Sharpe ratios here are per observation, not annualised, because the probabilities depend on the number of observations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from datasets.figures.series import ROUNDING, SESSIONS_PER_YEAR, Floats, Matrix, measured, unmeasurable
from datasets.figures.unavailable import Unavailable

MIN_OBSERVATIONS: Final = 10
"""Minimum returns for the normal approximation of these figures."""
_NO_DISPERSION: Final = Unavailable(
    "nonpositive_variance",
    "skewness and kurtosis of the returns imply no positive variance of the Sharpe ratio",
)
_EULER_GAMMA: Final = float(np.euler_gamma)
_NORMAL: Final = NormalDist()
"""From the standard library, because SciPy would add a quarter of a second of loading to every build."""


@dataclass(frozen=True, slots=True)
class SharpeMoments:
    """Moments that determine the distribution of an estimated Sharpe ratio.

    Attributes
    ----------
    observations : int
        Number of returns.
    sharpe : float
        Mean over sample deviation (ddof 1), per observation.
    skewness : float
        Adjusted Fisher-Pearson coefficient; 0 for a normal distribution.
    kurtosis : float
        Bias-adjusted sample kurtosis; 3 for a normal distribution.
    """

    observations: int
    sharpe: float
    skewness: float
    kurtosis: float

    @property
    def dispersion(self) -> float:
        """Variance of the estimate times (observations - 1), from Mertens (2002); 0 or negative if undefined."""
        return 1.0 - self.skewness * self.sharpe + (self.kurtosis - 1.0) / 4.0 * self.sharpe**2


def sharpe_moments(returns: Floats, what: str = "daily returns") -> SharpeMoments | Unavailable:
    """Compute the moments of a series of returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        One return per session; NaN is ignored.
    what : str
        Name of the returns in the plural, for the reason.

    Returns
    -------
    SharpeMoments or Unavailable
        ``insufficient_data`` with fewer than ten returns; ``nonpositive_variance`` when they are constant.

    References
    ----------
    Joanes and Gill (1998), "Comparing measures of sample skewness and kurtosis", The Statistician 47: G1 and G2, as
    :func:`scipy.stats.skew` and :func:`scipy.stats.kurtosis` compute them with ``bias=False``.
    """
    values = measured(returns)
    reason = unmeasurable(values, MIN_OBSERVATIONS, what)
    if reason is not None:
        return reason
    n = int(values.size)
    deviations = values - values.mean()
    second, third, fourth = (float((deviations**power).mean()) for power in (2, 3, 4))
    skewness = third / second**1.5 * math.sqrt(n * (n - 1)) / (n - 2)
    excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (fourth / second**2 - 3) + 6)
    sharpe = float(values.mean()) / math.sqrt(second * n / (n - 1))
    return SharpeMoments(n, sharpe, skewness, excess + 3.0)


def sharpe_deviation(returns: Matrix) -> float | None:
    """Sample deviation (ddof 1) of the Sharpe ratios of several series, per observation.

    Parameters
    ----------
    returns : Matrix, shape (n_days, n_trials)
        Daily returns, fractions, without NaN.

    Returns
    -------
    float or None
        None with fewer than two series or ten days, or when one of the series is constant.
    """
    days, trials = returns.shape
    if trials < 2 or days < MIN_OBSERVATIONS:
        return None
    deviations = returns.std(axis=0, ddof=1)
    if (deviations <= ROUNDING).any():
        return None
    return float((returns.mean(axis=0) / deviations).std(ddof=1))


def probabilistic_sharpe(moments: SharpeMoments, benchmark: float = 0.0) -> float | Unavailable:
    """Probability that the true Sharpe ratio exceeds a benchmark, given the estimate.

    Parameters
    ----------
    moments : SharpeMoments
        Moments of the measured returns.
    benchmark : float
        Sharpe ratio per observation.

    Returns
    -------
    float or Unavailable
        Between 0 and 1. ``nonpositive_variance`` when skewness and kurtosis imply a variance of the estimate of 0 or less.

    References
    ----------
    Bailey and López de Prado (2012), "The Sharpe Ratio Efficient Frontier", Journal of Risk 15(2), equation 11.
    """
    if moments.dispersion <= 0:
        return _NO_DISPERSION
    distance = (moments.sharpe - benchmark) * math.sqrt(moments.observations - 1)
    return math.erfc(-distance / math.sqrt(2.0 * moments.dispersion)) / 2.0


def expected_maximum_sharpe(trials: int, deviation: float) -> float:
    """Expected maximum Sharpe ratio of independent trials without skill.

    Parameters
    ----------
    trials : int
        Number of trials, at least 1.
    deviation : float
        Standard deviation of the Sharpe ratios of the trials, at least 0.

    Returns
    -------
    float
        In the scale of `deviation` (per observation or annualised); 0 for one trial.

    References
    ----------
    Bailey and López de Prado (2014), "The Deflated Sharpe Ratio", Journal of Portfolio Management 40(5), equation 1
    with a mean of 0, which is that of trials without skill.

    Examples
    --------
    >>> round(expected_maximum_sharpe(10, 1.0), 4)
    1.5746
    """
    if trials == 1:
        return 0.0
    # -ppf(q) instead of ppf(1 - q), because 1 - q would lose digits with many trials.
    expected = -(1 - _EULER_GAMMA) * _NORMAL.inv_cdf(1 / trials) - _EULER_GAMMA * _NORMAL.inv_cdf(
        1 / (trials * math.e)
    )
    return deviation * float(expected)


def deflated_sharpe(moments: SharpeMoments, trials: int, deviation: float) -> float | Unavailable:
    """Probability that the true Sharpe ratio exceeds 0, given that the best of several trials was selected.

    Parameters
    ----------
    moments : SharpeMoments
        Moments of the returns of the selected trial.
    trials : int
        Number of independent trials, including the selected one; at least 1. Copies lower `deviation` more than they
        raise the number, which makes the probability too high, so combine them first (:mod:`datasets.figures.overfitting`).
    deviation : float
        Standard deviation of the Sharpe ratios of the trials per observation, at least 0.

    Returns
    -------
    float or Unavailable
        As :func:`probabilistic_sharpe` against :func:`expected_maximum_sharpe`.

    References
    ----------
    Bailey and López de Prado (2014), "The Deflated Sharpe Ratio", Journal of Portfolio Management 40(5), equation 2.
    """
    return probabilistic_sharpe(moments, expected_maximum_sharpe(trials, deviation))


def minimum_track_record(
    moments: SharpeMoments, benchmark: float = 0.0, confidence: float = 0.95
) -> float | Unavailable:
    """Observations needed to conclude at a confidence level that the true Sharpe ratio exceeds a benchmark.

    Parameters
    ----------
    moments : SharpeMoments
        Moments of the measured returns, which are assumed to persist.
    benchmark : float
        Sharpe ratio per observation.
    confidence : float
        Above one half and below 1.

    Returns
    -------
    float or Unavailable
        Observations, at least 1, not rounded. ``insufficient_data`` if the measured ratio is not above the benchmark, because
        no length is then enough; ``nonpositive_variance`` as in :func:`probabilistic_sharpe`.

    References
    ----------
    Bailey and López de Prado (2012), "The Sharpe Ratio Efficient Frontier", Journal of Risk 15(2), equation 13.
    """
    if moments.dispersion <= 0:
        return _NO_DISPERSION
    if moments.sharpe <= benchmark:
        return Unavailable(
            "insufficient_data",
            "the measured Sharpe ratio is not above the benchmark, so no length is enough",
        )
    return 1.0 + moments.dispersion * (_NORMAL.inv_cdf(confidence) / (moments.sharpe - benchmark)) ** 2


OUTLIER: Final = 3.0
"""Deviations from the median at which a ratio is clipped."""
_NORMAL_MAD: Final = 1.482602218505602
"""Standard deviation over median absolute deviation of a normal distribution."""


def run_deviation(ratios: Floats, sessions: Floats, length: int) -> float | None:
    """Deviation of the Sharpe ratios that the runs would have over track records of equal length.

    The standard error of an annualised ratio over *T* sessions is about ``sqrt(252 / T)``. Runs are therefore weighted by
    their sessions, the variance between runs beyond this error is estimated, and the error of a record of `length`
    sessions is added to it. If all runs have that length, the result is their sample deviation, but never below the error.

    Ratios are first winsorised at three deviations from the weighted median. This deviation combines the weighted median
    absolute deviation (x 1.4826) and the standard error of the run.

    Parameters
    ----------
    ratios : Floats, shape (n_runs,)
        Annualised Sharpe ratio of each run; NaN stands for null.
    sessions : Floats, shape (n_runs,)
        Number of returns of each run; NaN stands for null. Runs without a ratio or without sessions are ignored.
    length : int
        Sessions of the track record to compare with the runs, at least 1.

    Returns
    -------
    float or None
        Annualised; None with fewer than two runs.

    References
    ----------
    Error of the ratio without skill: Lo (2002), "The Statistics of Sharpe Ratios", Financial Analysts Journal 58(4).
    Spread beyond the error: DerSimonian and Laird (1986), "Meta-analysis in clinical trials", Controlled Clinical
    Trials 7(3). Median and three deviations: Hampel (1974), "The influence curve and its role in robust estimation",
    JASA 69.
    """
    known = ~np.isnan(ratios) & (sessions > 0)
    ratios, weights = ratios[known], sessions[known] / SESSIONS_PER_YEAR
    if ratios.size < 2:
        return None
    median = _weighted_median(ratios, weights)
    spread = _NORMAL_MAD * _weighted_median(np.abs(ratios - median), weights)
    bound = OUTLIER * np.sqrt(spread**2 + 1 / weights)
    ratios = np.clip(ratios, median - bound, median + bound)
    total = float(weights.sum())
    mean = float(weights @ ratios) / total
    excess = float(weights @ (ratios - mean) ** 2) - (ratios.size - 1)
    between = max(0.0, excess / (total - float(weights @ weights) / total))
    return math.sqrt(between + SESSIONS_PER_YEAR / length)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median; if there are two middle values, their mean."""
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(weights[order])
    half = cumulative[-1] / 2
    # Rounding must not decide whether there are two middle values.
    tolerance = 1e-12 * cumulative[-1]
    low, high = np.searchsorted(cumulative, [half - tolerance, half + tolerance])
    return float(values[low] + values[min(high, values.size - 1)]) / 2
