"""Tests of the best of several trials against data snooping: Reality Check and SPA."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from datasets.figures.bootstrap import MIN_OBSERVATIONS, Places, count
from datasets.figures.series import ROUNDING, Floats, Matrix
from datasets.figures.unavailable import Unavailable, no_variation, too_few


def data_snooping(
    returns: Matrix, samples: Iterable[Places], mean_block: float
) -> dict[str, float] | Unavailable:
    """Test the best of several trials by the stationary bootstrap.

    Parameters
    ----------
    returns : Matrix, shape (n_days, n_trials)
        Daily return of each trial in excess of the benchmark, fractions in order of date, without NaN.
    samples : iterable of Places, shape (n_samples, n_days)
        Resampled days, as :func:`datasets.figures.bootstrap.resample` draws them.
    mean_block : float
        Mean block length of the samples in days, at least 1.

    Returns
    -------
    dict or Unavailable
        p-values, between 0 and 1, of the hypothesis that no trial has a mean return above 0: ``reality_check``, White's, of
        unscaled means with every trial recentred at 0; ``spa``, Hansen's consistent test of studentised means, in which trials
        clearly worse than 0 are not recentred; and its liberal and conservative bounds, ``spa_lower`` and ``spa_upper``, in
        which only trials above 0 are recentred, or all trials are. ``insufficient_data`` with fewer than two trials or 20 days;
        ``nonpositive_variance`` when a trial is constant.

    References
    ----------
    White (2000), "A Reality Check for Data Snooping", Econometrica 68. Hansen (2005), "A Test for Superior Predictive
    Ability", Journal of Business and Economic Statistics 23. Variance of a mean under the stationary bootstrap: Politis and
    Romano (1994), Journal of the American Statistical Association 89, lemma 1.
    """
    days, trials = returns.shape
    if trials < 2:
        return too_few(trials, 2, "sealed trials")
    if days < MIN_OBSERVATIONS:
        return too_few(days, MIN_OBSERVATIONS, "days with the returns of every trial")
    if (np.ptp(returns, axis=0) <= ROUNDING).any():
        return no_variation("returns of a trial")
    mean = returns.mean(axis=0)
    error = np.sqrt(_variances(returns - mean, mean_block))
    sampled = np.concatenate([count(places) @ returns for places in samples]) / days
    consistent = mean >= -error * np.sqrt(2.0 * np.log(np.log(days)) / days)
    spa, lower, upper = (
        _share_above(sampled / error, mean / error, np.where(recentred, mean / error, 0.0))
        for recentred in (consistent, mean > 0, np.ones(trials, np.bool_))
    )
    reality_check = _share_above(sampled, mean, mean)
    return {"reality_check": reality_check, "spa": spa, "spa_lower": lower, "spa_upper": upper}


def _share_above(sampled: Matrix, mean: Floats, centre: Floats) -> float:
    """Return the share of samples whose best centred trial exceeds the observed best."""
    return float(((sampled - centre).max(axis=1) > mean.max()).mean())


def _variances(deviations: Matrix, mean_block: float) -> Floats:
    """Return the bootstrap variance of sqrt(days) times the mean, for each trial."""
    days = len(deviations)
    # Autocovariances at all lags, by the FFT of the padded series.
    padded = 1 << (2 * days - 1).bit_length()
    spectrum = np.fft.rfft(deviations.T, padded)
    covariances = np.fft.irfft(np.square(np.abs(spectrum)), padded)[:, :days].T / days
    lag, stay = np.arange(1, days), 1.0 - 1.0 / mean_block
    weights = (1.0 - lag / days) * stay**lag + lag / days * stay ** (days - lag)
    variances: Floats = covariances[0] + 2.0 * (weights @ covariances[1:])
    return variances
