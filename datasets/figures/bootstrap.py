"""The stationary bootstrap: block samples, counts of observations per sample, and quantiles.

Samples are drawn and measured a few rows at a time, in arrays that fit a core's cache: with larger arrays, memory access costs
more than the arithmetic.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.figures.series import Floats, Matrix, Window, unmeasurable
from datasets.figures.unavailable import Figure, Unavailable
from schemas.metrics.families.family import SAMPLES

Places: TypeAlias = npt.NDArray[np.intp]
"""Indices of observations, shape (n_samples, n_observations)."""
Band: TypeAlias = dict[str, float]
"""A figure and the equal-tailed percentile interval of its bootstrap distribution: ``estimate``, the figure of the window, which
may lie outside the interval; ``lower`` and ``upper``, quantiles of the samples; and ``level``."""

LEVEL: Final = 0.95
"""Confidence level of the bands."""
MIN_OBSERVATIONS: Final = 20
"""Minimum observations of a series."""
_MAX_ELEMENTS: Final = 2**15
"""Maximum elements of an array of samples."""
_MIN_VARIANCE_SHARE: Final = 1e-12
"""Share of a sample's squared deviations from the series mean below which those from its own mean are rounding."""
_SEED_BYTES: Final = 6
"""Bytes of a seed, few enough that every JSON reader reads it exactly."""
_MIN_LAGS: Final = 5
"""Consecutive small autocorrelations after which later ones count as noise."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of the figures of one series.

    Attributes
    ----------
    figures : Mapping[str, Band | Unavailable]
        Figure -> its band, or the reason why it has none.
    mean_block : float or None
        Mean block length in observations; None when no sample was drawn.
    """

    figures: Mapping[str, Band | Unavailable]
    mean_block: float | None = None


def make_seed(alphas: Iterable[str], book: str, window: Window) -> int:
    """Return the seed of the random numbers, which depends only on the arguments.

    Parameters
    ----------
    alphas : iterable of str
        Ids of the alphas measured together, in the order of the request.
    book : str
        Name of the book.
    window : Window
        Days to measure.

    Returns
    -------
    int
        At most 48 bits.
    """
    text = f"{' '.join(alphas)} {book} {window.first or ''} {window.last or ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES], "big")


def mean_block_length(series: Floats) -> float:
    """Optimal mean block length for the variance of the mean of a series.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        In order of date, without NaN; at least 20 observations that are not constant.

    Returns
    -------
    float
        Observations; between 1 and ``min(3 sqrt(n), n / 3)``, rounded up.

    References
    ----------
    Politis and White (2004), "Automatic Block-Length Selection for the Dependent Bootstrap", Econometric Reviews 23;
    with the correction by Patton, Politis and White (2009), Econometric Reviews 28.
    """
    n = series.size
    deviations = series - series.mean()
    longest = math.ceil(min(3 * math.sqrt(n), n / 3))
    lags = math.ceil(math.sqrt(n)) + _MIN_LAGS
    products = np.array([deviations[lag:] @ deviations[: n - lag] for lag in range(lags + 1)])
    covariances = products / n
    # Sums of squares over the overlapping observations of each lag.
    squares = np.cumsum(np.square(deviations))
    behind = squares[-1] - squares[np.arange(lags + 1)]
    ahead = squares[n - 2 - np.arange(lags + 1)]
    small = np.abs(products) < 2 * math.sqrt(math.log10(n) / n) * np.sqrt(behind * ahead)
    runs = np.convolve(small[:lags], np.ones(_MIN_LAGS), "valid")
    (quiet,) = np.nonzero(runs == _MIN_LAGS)
    width = min(2 * max(int(quiet[0]), 1), lags) if quiet.size else lags
    lag = np.arange(1, width + 1)
    # Flat-top window: 1 over its first half, then falling linearly to 0.
    weight = np.minimum(1.0, 2.0 * (1.0 - lag / width))
    slope = float(2 * (weight * lag * covariances[1 : width + 1]).sum())
    variance = float(covariances[0] + 2 * (weight * covariances[1 : width + 1]).sum())
    if variance == 0:
        return float(longest)
    return float(min(max((slope**2 / variance**2 * n) ** (1 / 3), 1.0), longest))


def resample(draw: np.random.Generator, n: int, mean_block: float) -> Iterator[Places]:
    """Draw :data:`SAMPLES` samples of blocks that start anywhere, wrap around, and end with probability 1 / `mean_block`.

    Parameters
    ----------
    draw : numpy.random.Generator
        Source of random numbers: one for each observation of each sample, in order.
    n : int
        Observations of the series, and of each sample; at least 1.
    mean_block : float
        Mean length of a block in observations, at least 1.

    Yields
    ------
    Places, shape (n_part, n)
        Each from 0 to ``n - 1``; all parts together have :data:`SAMPLES` rows.

    References
    ----------
    Politis and Romano (1994), "The Stationary Bootstrap", Journal of the American Statistical Association 89.
    """
    rows = max(1, _MAX_ELEMENTS // n)
    for start in range(0, SAMPLES, rows):
        chance = draw.random((min(rows, SAMPLES - start), n))
        chance[:, 0] /= mean_block  # every sample begins with a block
        flat = np.flatnonzero(chance < 1.0 / mean_block)
        # Where a block begins, the random number times `mean_block` is itself uniform between 0 and 1.
        first = (chance.ravel()[flat] * (mean_block * n)).astype(np.intp)
        # Within a block, the step from one index to the next is 1.
        steps = np.ones(chance.size, np.intp)
        steps[flat] = np.diff(first - flat, prepend=1) + 1
        places = np.cumsum(steps, out=steps)
        # No block is longer than the series, so one subtraction suffices, at a fifth of the cost of a modulo.
        np.subtract(places, n, out=places, where=places >= n)
        yield places.reshape(chance.shape)


def count(places: Places) -> Matrix:
    """Return the counts of each observation in each sample, so that sums over samples are one matrix product.

    Parameters
    ----------
    places : Places, shape (n_samples, n)
        Indices from 0 to ``n - 1``.

    Returns
    -------
    Matrix, shape (n_samples, n)
        Whole numbers; each row sums to n.

    Examples
    --------
    >>> count(np.array([[0, 0, 2]]))
    array([[2., 0., 1.]])
    """
    return np.stack([np.bincount(sample, minlength=sample.size) for sample in places]).astype(np.float64)


def sample_sums(draw: np.random.Generator, mean_block: float, terms: Matrix) -> Matrix:
    """Return the sums of several series over each of :data:`SAMPLES` samples.

    Parameters
    ----------
    draw : numpy.random.Generator
        As in :func:`resample`.
    mean_block : float
        As in :func:`resample`.
    terms : Matrix, shape (n, n_series)
        The series, without NaN.

    Returns
    -------
    Matrix, shape (n_samples, n_series)
        In the unit of each series.
    """
    return np.concatenate([count(places) @ terms for places in resample(draw, len(terms), mean_block)])


def sample_moments(times: Matrix, series: Matrix) -> tuple[Matrix, Matrix]:
    """Return the means and deviations of samples of several series.

    Parameters
    ----------
    times : Matrix, shape (n_samples, n)
        As :func:`count` returns them.
    series : Matrix, shape (n_series, n)
        Without NaN.

    Returns
    -------
    mean : Matrix, shape (n_series, n_samples)
        In the unit of the series.
    deviation : Matrix, shape (n_series, n_samples)
        Sample deviations (ddof 1) in the unit of the series; exactly 0 when they are within rounding.
    """
    n, centre = series.shape[1], series.mean(axis=1, keepdims=True)
    deviations = series - centre
    total, squares = np.split((times @ np.concatenate([deviations, np.square(deviations)]).T).T, 2)
    variance = squares - total**2 / n
    variance[variance <= _MIN_VARIANCE_SHARE * squares] = 0.0
    return centre + total / n, np.sqrt(variance / (n - 1))


def resampled_moments(draw: np.random.Generator, mean_block: float, series: Matrix) -> tuple[Matrix, Matrix]:
    """Return the means and deviations of :data:`SAMPLES` samples of several series, resampled together.

    Parameters
    ----------
    draw : numpy.random.Generator
        As in :func:`resample`.
    mean_block : float
        As in :func:`resample`.
    series : Matrix, shape (n_series, n)
        Without NaN.

    Returns
    -------
    mean, deviation : Matrix, shape (n_series, n_samples)
        As returned by :func:`sample_moments`.
    """
    parts = [sample_moments(count(places), series) for places in resample(draw, series.shape[1], mean_block)]
    mean, deviation = (np.concatenate(moments, axis=1) for moments in zip(*parts, strict=True))
    return mean, deviation


def ratio(mean: Matrix, deviation: Matrix) -> Matrix:
    """Divide means by deviations.

    Parameters
    ----------
    mean, deviation : Matrix, shape (n_series, n_samples)
        As :func:`sample_moments` returns them.

    Returns
    -------
    Matrix, shape (n_series, n_samples)
        NaN where the deviation is 0.
    """
    quotient = np.full(mean.shape, np.nan)
    np.divide(mean, deviation, out=quotient, where=deviation > 0)
    return quotient


def interval(values: Floats) -> dict[str, float] | None:
    """Return the equal-tailed percentile interval of a figure.

    Parameters
    ----------
    values : Floats, shape (n_samples,)
        Figure of each sample, in its own unit; NaN where the sample does not determine it.

    Returns
    -------
    dict or None
        ``lower`` and ``upper``, interpolated linearly, and their ``level``; None when a value is not finite.
    """
    if not np.isfinite(values).all():
        return None
    lower, upper = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"lower": float(lower), "upper": float(upper), "level": LEVEL}


def block_length(series: Floats, observations: str, values: str) -> float | Unavailable:
    """Return the mean block length of a series, or the reason why it cannot be resampled.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        In order of date, without NaN.
    observations, values : str
        Names of the observations and of their values in the plural, for reasons, such as ``sessions`` and ``daily returns``.

    Returns
    -------
    float or Unavailable
        As :func:`mean_block_length`; ``insufficient_data`` with fewer than 20 observations, ``nonpositive_variance`` when they
        are constant.
    """
    return unmeasurable(series, MIN_OBSERVATIONS, observations, values) or mean_block_length(series)


def band(estimate: Figure, values: Floats) -> Band | Unavailable:
    """Return the band of a figure.

    Parameters
    ----------
    estimate : float or Unavailable
        Figure of the window, or the reason why it has none.
    values : Floats, shape (n_samples,)
        Figure of each sample; NaN where a sample does not determine it.

    Returns
    -------
    Band or Unavailable
        ``insufficient_data`` if :func:`interval` returns None.
    """
    if isinstance(estimate, Unavailable):
        return estimate
    ends = interval(values)
    if ends is None:
        return Unavailable("insufficient_data", "some samples do not determine the figure, so it has no band")
    return {"estimate": estimate, **ends}
