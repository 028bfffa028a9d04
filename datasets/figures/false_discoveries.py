"""Multiple testing: q-values, haircut Sharpe ratios, and minimum backtest length."""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.figures.daily_returns import MIN_SESSIONS
from datasets.figures.newey_west import bandwidth
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import SESSIONS_PER_YEAR, Floats
from datasets.figures.sharpe import expected_maximum_sharpe

Singles: TypeAlias = npt.NDArray[np.float32]
"""Two-dimensional float32 array."""
_LEAST_VARIANCE: Final = np.float32(1e-5)
"""Ratio of squared deviations from the mean to raw squares below which a series may be constant within rounding."""


def hac_degrees(observations: Floats) -> Floats:
    """Return the degrees of freedom of Newey-West errors.

    A Newey-West error is less precise than a sample deviation. Student's t with ``n - 1`` degrees of freedom would therefore
    understate p-values far in the tails, which matter with thousands of tests.

    Parameters
    ----------
    observations : Floats, shape (n_tests,)
        Number of observations of each test, at least 1; NaN stands for null.

    Returns
    -------
    Floats, shape (n_tests,)
        ``3 n / (2 (lag + 1))`` with the lag of :func:`datasets.figures.newey_west.bandwidth`, at most n - 1; NaN where
        `observations` is.

    References
    ----------
    Priestley (1981), "Spectral Analysis and Time Series", table 6.2: the equivalent degrees of freedom of Bartlett's window,
    half of them at frequency 0.
    """
    counts, place = np.unique(observations, return_inverse=True)
    lags = np.array([math.nan if math.isnan(n) else bandwidth(int(n)) for n in counts.tolist()])
    degrees: Floats = np.minimum(1.5 * counts / (lags + 1.0), counts - 1.0)[place]
    return degrees


def mean_p_values(t_stats: Floats, degrees: Floats) -> Floats:
    """Return the two-sided p-values of means, from Student's t.

    Parameters
    ----------
    t_stats : Floats, shape (n_tests,)
        Mean over standard error; NaN stands for null.
    degrees : Floats, shape (n_tests,)
        Degrees of freedom, above 0; NaN stands for null.

    Returns
    -------
    Floats, shape (n_tests,)
        Between 0 and 1; NaN if either argument is.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - slow to load: programs start without it

    p_values: Floats = 2.0 * stdtr(degrees, -np.abs(t_stats))
    return p_values


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return q-values: the smallest false discovery rate at which each test is a discovery.

    Among the tests with a q-value of at most *a*, the expected share of false discoveries is at most *a*, when the tests are
    independent or positively dependent.

    Parameters
    ----------
    p_values : Floats, shape (n_tests,)
        Between 0 and 1; NaN for tests that are not part of the family.

    Returns
    -------
    Floats, shape (n_tests,)
        At least the p-value, at most 1; NaN if the p-value is.

    References
    ----------
    Benjamini and Hochberg (1995), "Controlling the False Discovery Rate", Journal of the Royal Statistical Society B 57.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.02, np.nan, 0.5]))
    array([0.03, 0.03,  nan, 0.5 ])
    """
    return _step_up(p_values, 1.0)


def benjamini_yekutieli(p_values: Floats) -> Floats:
    """Return the q-values under arbitrary dependence of the tests.

    Parameters
    ----------
    p_values : Floats, shape (n_tests,)
        Between 0 and 1; NaN for tests that are not part of the family.

    Returns
    -------
    Floats, shape (n_tests,)
        At least those of :func:`benjamini_hochberg`, at most 1; NaN if the p-value is.

    References
    ----------
    Benjamini and Yekutieli (2001), "The Control of the False Discovery Rate in Multiple Testing under Dependency", Annals of
    Statistics 29.
    """
    tests = int(np.count_nonzero(~np.isnan(p_values)))
    return _step_up(p_values, float(np.sum(1.0 / np.arange(1, tests + 1))))


def _step_up(p_values: Floats, factor: float) -> Floats:
    adjusted = np.full(p_values.size, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    scaled = p_values[order] * factor * tested.size / np.arange(1, tested.size + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def haircut_sharpe(sharpe: Floats, t_stats: Floats, degrees: Floats, adjusted: Floats) -> Floats:
    """Return the Sharpe ratio whose p-value as a single test equals the adjusted p-value.

    Parameters
    ----------
    sharpe : Floats, shape (n_tests,)
        Sharpe ratios, per observation or annualised.
    t_stats, degrees : Floats, shape (n_tests,)
        t-statistics and degrees of freedom, as in :func:`mean_p_values`.
    adjusted : Floats, shape (n_tests,)
        p-values adjusted for multiple testing, between 0 and 1.

    Returns
    -------
    Floats, shape (n_tests,)
        In the scale and with the sign of `sharpe`, and never larger; 0 if the adjusted p-value is 1, NaN if any input is.

    References
    ----------
    Harvey and Liu (2015), "Backtesting", Journal of Portfolio Management 42(1). Their t-statistic is Sharpe ratio x
    sqrt(observations); here it may allow for autocorrelation, and the ratio is scaled in proportion to it.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - as above

    with np.errstate(divide="ignore", invalid="ignore"):
        t_adjusted = -stdtrit(degrees, adjusted / 2.0)
        share = np.where(t_stats == 0, 0.0, np.minimum(t_adjusted / np.abs(t_stats), 1.0))
        haircut: Floats = np.where(adjusted <= 0, sharpe, sharpe * np.maximum(share, 0.0))
    haircut += 0.0  # turns -0.0 into 0.0
    haircut[np.isnan(sharpe + t_stats + degrees + adjusted)] = np.nan
    return haircut


def minimum_backtest_length(trials: int, sharpe: float) -> float:
    """Record length below which the best of several trials without skill is expected to exceed a Sharpe ratio.

    Parameters
    ----------
    trials : int
        Number of independent trials, at least 1.
    sharpe : float
        Annualised, above 0.

    Returns
    -------
    float
        Sessions, not rounded; 0 for one trial.

    References
    ----------
    Bailey, Borwein, López de Prado and Zhu (2014), "Pseudo-Mathematics and Financial Charlatanism", Notices of the American
    Mathematical Society 61(5), theorem 1 and equation 7.

    Examples
    --------
    >>> round(minimum_backtest_length(45, 1.0) / SESSIONS_PER_YEAR, 1)
    5.0
    """
    return SESSIONS_PER_YEAR * (expected_maximum_sharpe(trials, 1.0) / sharpe) ** 2


def effective_number(alphas: int, squared_correlations: float) -> float:
    """Return the effective number of independent series.

    Parameters
    ----------
    alphas : int
        Number of series, at least 1.
    squared_correlations : float
        Squared correlations summed over all ordered pairs of different series, adjusted for estimation error; a negative
        sum counts as 0.

    Returns
    -------
    float
        Between 1 and `alphas`: the squared sum of the eigenvalues of the correlation matrix over the sum of their squares.

    References
    ----------
    Bretherton, Widmann, Dymnikov, Wallace and Bladé (1999), "The Effective Number of Spatial Degrees of Freedom of a
    Time-Varying Field", Journal of Climate 12, equation 5.
    """
    return min(float(alphas), max(1.0, alphas * alphas / (alphas + max(0.0, squared_correlations))))


class Block(NamedTuple):
    """Daily returns of several alphas, in single precision.

    Attributes
    ----------
    series : Singles, shape (n_series, n_days)
        Centred, and scaled to a deviation of about 1; 0 where a series has no session.
    calendars : Singles, shape (n_calendars, n_days)
        1 on the sessions of a calendar, else 0.
    calendar : Integers, shape (n_series,) or (1,)
        Row of `calendars` for each series, or one row for all.
    """

    series: Singles
    calendars: Singles
    calendar: Integers


def squared_correlations(rows: Block, columns: Block) -> Singles:
    """Return the adjusted squared correlations of two sets of series, pairwise over common sessions.

    The squared sample correlation of independent series is 1 / (n - 1) on average, which over many pairs looks like a common
    factor. Each square is therefore adjusted like the R² of a regression with one regressor.

    Parameters
    ----------
    rows, columns : Block
        Returns on the same days.

    Returns
    -------
    Singles, shape (n_rows, n_columns)
        ``1 - (1 - r²) (n - 1) / (n - 2)`` over n common sessions, which may be negative; NaN with fewer than ten, or where
        either series is constant on them.

    References
    ----------
    Ezekiel (1930), "Methods of Correlation Analysis": the adjusted R².
    """
    n = rows.calendars @ columns.calendars.T
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(n >= MIN_SESSIONS, 1.0 / (n - 2.0), np.nan).astype(np.float32)
        scale, mean = _over_sessions(rows, columns, n)
        other_scale, other_mean = _over_sessions(columns, rows, n.T)
        squares: Singles = rows.series @ columns.series.T
        squares *= scale
        squares *= other_scale.T
        squares -= mean * other_mean.T
        np.minimum(np.square(squares, out=squares), 1.0, out=squares)
        # (1 - r²) (n - 1) / (n - 2) is 1 - r² plus a small part of it; single precision needs the two kept apart.
        squares -= (1.0 - squares) * excess.take(rows.calendar, 0).take(columns.calendar, 1)
    return squares


def _over_sessions(rows: Block, columns: Block, n: Singles) -> tuple[Singles, Singles]:
    """Return the scale and the scaled mean of each row over the sessions of each column.

    The scale is one over the root of the squared deviations from the mean; the scaled mean is mean x sqrt(n) x scale. NaN if
    the row is constant there within rounding.
    """
    total = rows.series @ columns.calendars.T
    square = np.square(rows.series) @ columns.calendars.T
    n = n.take(rows.calendar, 0)
    squares = square - total * total / n
    squares[~(squares > _LEAST_VARIANCE * square)] = np.nan
    scale = 1 / np.sqrt(squares)
    pair = (scale, total * scale / np.sqrt(n))
    scales, means = (x.take(columns.calendar, 1).astype(np.float32, copy=False) for x in pair)
    return scales, means
