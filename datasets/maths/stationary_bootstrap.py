"""The stationary bootstrap: samples of an autocorrelated series, made of blocks of random length."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.maths.series import Floats

Places: TypeAlias = npt.NDArray[np.intp]
"""A row a sample, as long as the series: which observation stands where."""

_MIN_LAGS: Final = 5
"""Autocorrelations in a row that have to be small before later ones are taken for noise."""


def mean_block_length(series: Floats) -> float:
    """Mean length of blocks that estimates the variance of the mean of a series best.

    Parameters
    ----------
    series
        Observations in order, without nulls; at least 20, which vary.

    Returns
    -------
    float
        In observations: at least 1, at most the smaller of three roots and a third of their number, rounded up.

    References
    ----------
    Politis and White (2004), "Automatic Block-Length Selection for the Dependent Bootstrap", Econometric Reviews 23;
    with the correction by Patton, Politis and White (2009), Econometric Reviews 28.
    """
    n = series.size
    deviations = series - series.mean()
    most = math.ceil(min(3 * math.sqrt(n), n / 3))
    lags = math.ceil(math.sqrt(n)) + _MIN_LAGS
    products = np.array([deviations[lag:] @ deviations[: n - lag] for lag in range(lags + 1)])
    covariances = products / n
    # Over the observations that a lag leaves on either side.
    squares = np.cumsum(np.square(deviations))
    behind = squares[-1] - squares[np.arange(lags + 1)]
    ahead = squares[n - 2 - np.arange(lags + 1)]
    small = np.abs(products) < 2 * math.sqrt(math.log10(n) / n) * np.sqrt(behind * ahead)
    runs = np.convolve(small[:lags], np.ones(_MIN_LAGS), "valid")
    (quiet,) = np.nonzero(runs == _MIN_LAGS)
    width = min(2 * max(int(quiet[0]), 1), lags) if quiet.size else lags
    lag = np.arange(1, width + 1)
    # A flat top that falls to 0 over its second half.
    weight = np.minimum(1.0, 2.0 * (1.0 - lag / width))
    slope = float(2 * (weight * lag * covariances[1 : width + 1]).sum())
    variance = float(covariances[0] + 2 * (weight * covariances[1 : width + 1]).sum())
    if variance == 0:
        return float(most)
    return float(min(max((slope**2 / variance**2 * n) ** (1 / 3), 1.0), most))


def resampled_places(draw: np.random.Generator, samples: int, n: int, mean_block: float) -> Places:
    """Draw samples of a series: blocks that begin anywhere, go round its end, and end with probability 1 / `mean_block`.

    Parameters
    ----------
    draw
        Where randomness comes from.
    samples
        Rows to return.
    n
        Observations of the series, and of each sample; at least 1.
    mean_block
        Mean length of a block in observations, at least 1.

    Returns
    -------
    Places
        ``samples`` rows of ``n`` places, each from 0 to ``n - 1``.

    References
    ----------
    Politis and Romano (1994), "The Stationary Bootstrap", Journal of the American Statistical Association 89.
    """
    begins = draw.random((samples, n)) < 1.0 / mean_block
    begins[:, 0] = True
    flat = np.flatnonzero(begins)
    lengths = np.diff(flat, append=begins.size)
    # A place is the one its block begins at, plus the steps since.
    shift = (draw.random(flat.size) * n).astype(np.intp) - flat
    places: Places = (np.arange(begins.size) + np.repeat(shift, lengths)) % n
    return places.reshape(samples, n)
