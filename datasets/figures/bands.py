"""Bands of figures by the stationary bootstrap: how far a figure might lie from what it is, by luck alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.figures import rank_ic, ratios
from datasets.figures.equity import solvent_returns
from datasets.figures.series import ROUNDING, SESSIONS_PER_YEAR, WEEKS_PER_YEAR, Floats, is_constant, measured
from datasets.figures.unavailable import Unavailable, no_variation, too_few

Places: TypeAlias = npt.NDArray[np.intp]
"""A row a sample, as long as the series: which observation stands where."""

_MIN_LAGS: Final = 5
"""Consecutive autocorrelations that have to be small before later ones count as noise."""


def mean_block_length(series: Floats) -> float:
    """Mean length of blocks that estimates the variance of the mean of a series best.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
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
    draw : numpy.random.Generator
        Where randomness comes from.
    samples : int
        Rows to return.
    n : int
        Observations of the series, and of each sample; at least 1.
    mean_block : float
        Mean length of a block in observations, at least 1.

    Returns
    -------
    Places, shape (samples, n)
        ``samples`` rows of ``n`` places, each from 0 to ``n - 1``.

    References
    ----------
    Politis and Romano (1994), "The Stationary Bootstrap", Journal of the American Statistical Association 89.
    """
    begins = draw.random((samples, n)) < 1.0 / mean_block
    begins[:, 0] = True
    flat = np.flatnonzero(begins)
    first = (draw.random(flat.size) * n).astype(np.intp)
    # The step from one place to the next is 1 within a block.
    steps = np.ones(begins.size, np.intp)
    steps[flat] = np.diff(first, prepend=0) - np.diff(flat, prepend=0) + 1
    steps[0] = first[0]
    places: Places = np.cumsum(steps, out=steps)
    # No block is longer than the series, so one turn is enough, at a fifth of a division's time.
    np.subtract(places, n, out=places, where=places >= n)
    return places.reshape(samples, n)


SAMPLES: Final = 1000
"""Samples drawn of a series."""
LEVEL: Final = 0.95
"""Share of the samples whose figure lies inside the band."""
MIN_OBSERVATIONS: Final = 20
"""Observations below which samples of a series say little of it."""
_PART: Final = 2**18
"""Numbers of one intermediate array at most: long windows take no more memory than short ones."""

Matrix: TypeAlias = npt.NDArray[np.float64]
Figure: TypeAlias = float | Unavailable
Sampled: TypeAlias = Mapping[str, Floats]
"""Figure -> its value in each sample; NaN where a sample does not determine it."""


@dataclass(frozen=True, slots=True)
class Band:
    """A figure and the equal-tailed percentile interval of its bootstrap distribution.

    Attributes
    ----------
    estimate
        Of the window itself; not necessarily inside.
    lower, upper
        Quantiles of the samples, interpolated linearly.
    """

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of the figures of one series.

    Attributes
    ----------
    figures
        Figure -> its band, or why it has none.
    mean_block
        Mean length of the blocks in observations; None when no sample was drawn.
    """

    figures: Mapping[str, Band | Unavailable]
    mean_block: float | None = None


def volatility(starting: Floats, ending: Floats) -> Figure:
    """Sample deviation (ddof 1) of the daily returns, annualised with the square root of 252.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session.

    Returns
    -------
    float or Unavailable
        Ratio; withheld with fewer than two returns, or when a session opens with equity not above 0. 0 when they are all the same, which is a measurement.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return returns
    returns = measured(returns)
    if returns.size < 2:
        return too_few(int(returns.size), 2, "daily returns")
    return 0.0 if is_constant(returns) else float(returns.std(ddof=1)) * SESSIONS_PER_YEAR**0.5


def annualised_return(starting: Floats, ending: Floats) -> Figure:
    """Compounded return of the window, scaled to a year of 252 sessions.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session.

    Returns
    -------
    float or Unavailable
        Ratio; the product of one plus each return, to the power of 252 over their number, less one. Withheld without a
        return, or when equity falls to 0 or below.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return returns
    returns = measured(returns)
    if returns.size == 0:
        return too_few(0, 1, "daily returns")
    growth = 1.0 + returns
    if (growth <= 0).any():
        return _vanished()
    return float(np.prod(growth) ** (SESSIONS_PER_YEAR / returns.size)) - 1.0


LEDGER_FIGURES: Final[Mapping[str, Callable[[Floats, Floats, Floats, Floats], Figure]]] = {
    "sharpe": lambda starting, ending, _, __: ratios.information_ratio(starting, ending),
    "excess_sharpe": lambda starting, ending, risk_free, _: ratios.excess_sharpe(starting, ending, risk_free),
    "annualised_return": lambda starting, ending, _, __: annualised_return(starting, ending),
    "volatility": lambda starting, ending, _, __: volatility(starting, ending),
    "pnl": lambda starting, ending, _, __: ratios.pnl(starting, ending),
    "max_drawdown": lambda starting, ending, _, __: ratios.max_drawdown(starting, ending),
    "max_drawdown_pct": lambda starting, ending, _, __: ratios.max_drawdown_pct(starting, ending),
    "turnover": lambda _, __, ___, daily: ratios.turnover(daily),
}
"""Figure -> how it is measured from starting and ending equity, risk-free return and turnover by session."""

WEEKLY_FIGURES: Final[Mapping[str, Callable[[Floats], Figure]]] = {
    "ic": rank_ic.mean_ic,
    "icir": rank_ic.icir,
    "hit_rate": rank_ic.hit_rate,
    "dispersion": rank_ic.dispersion,
}
"""Figure -> how it is measured from the weekly information coefficients."""


def ledger_bands(
    starting: Floats, ending: Floats, risk_free: Floats, turnover: Floats, draw: np.random.Generator
) -> Bands:
    """Return the bands of the figures of a daily ledger.

    Sessions are drawn whole: return, risk-free return and turnover of a day stay together.

    Parameters
    ----------
    starting, ending, risk_free, turnover : Floats, shape (n_sessions,)
        Columns of the ledger over the window, in order of date. Sessions that lack one of them are not drawn; where
        none has a rate, its figure is withheld.
    draw : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    Bands
        Of every figure of :data:`LEDGER_FIGURES`. All are ``insufficient_data`` with fewer than 20 sessions,
        ``nonpositive_variance`` when the returns do not vary, and ``nonpositive_equity`` when a session opens with
        equity not above 0.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return Bands(dict.fromkeys(LEDGER_FIGURES, returns))
    estimates = {
        name: measure(starting, ending, risk_free, turnover) for name, measure in LEDGER_FIGURES.items()
    }
    if np.isnan(risk_free).all():
        risk_free = np.zeros_like(risk_free)  # the figure that takes it is withheld; the others do without
    known = ~np.isnan(returns + risk_free + turnover)
    opening = float(starting[0]) if starting.size else 0.0
    rows = np.stack([returns[known], risk_free[known], turnover[known]])

    def sampled(places: Places) -> Sampled:
        return _ledger_samples(rows[0][places], rows[1][places], rows[2][places], opening)

    return _bands(estimates, rows[0], "sessions", sampled, draw)


def weekly_bands(ic: Floats, draw: np.random.Generator) -> Bands:
    """Return the bands of the figures of a weekly information coefficient.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,)
        One coefficient a week in order of date; nulls are dropped.
    draw : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    Bands
        Of every figure of :data:`WEEKLY_FIGURES`, withheld as those of :func:`ledger_bands`.
    """
    values = measured(ic)
    estimates = {name: measure(ic) for name, measure in WEEKLY_FIGURES.items()}
    return _bands(
        estimates, values, "weeks with a measured IC", lambda places: _weekly_samples(values[places]), draw
    )


def sharpe_difference(with_it: Floats, without: Floats, draw: np.random.Generator) -> Bands:
    """Return the band of what a Sharpe ratio gains from one book to another.

    Parameters
    ----------
    with_it, without : Floats, shape (n_sessions,)
        Daily returns of both, in order of date, without NaN; sessions are drawn with both returns.
    draw : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    Bands
        Of the figure ``sharpe``, withheld as those of :func:`ledger_bands`.
    """

    def gained(one: Floats, other: Floats) -> Floats:
        sharpes = (_over(x.mean(axis=1), _deviation(x)) for x in (one, other))
        difference: Floats = np.subtract(*sharpes) * SESSIONS_PER_YEAR**0.5
        return difference

    gain = float(gained(with_it[None], without[None])[0]) if with_it.size > 1 else math.nan
    estimate: Figure = no_variation("returns of one of the two books") if math.isnan(gain) else gain
    return _bands(
        {"sharpe": estimate},
        with_it,
        "sessions",
        lambda places: {"sharpe": gained(with_it[places], without[places])},
        draw,
    )


def all_samples(draw: np.random.Generator, n: int, mean_block: float) -> Iterator[Places]:
    """Draw :data:`SAMPLES` samples, so many at a time that they stay in a core's own cache.

    Parameters
    ----------
    draw : numpy.random.Generator
        Source of random numbers.
    n : int
        Observations of a sample.
    mean_block : float
        Mean length of a block, in observations.

    Yields
    ------
    Places, shape (n_part, n)
        Indices of the observations drawn, a row a sample.
    """
    step = max(1, _PART // n)
    for start in range(0, SAMPLES, step):
        yield resampled_places(draw, min(step, SAMPLES - start), n, mean_block)


def _bands(
    estimates: Mapping[str, Figure],
    series: Floats,
    what: str,
    sampled: Callable[[Places], Sampled],
    draw: np.random.Generator,
) -> Bands:
    """Draw samples and take the quantiles of every figure.

    Parameters
    ----------
    series
        By which the length of the blocks is chosen.
    what
        Its observations, in the plural.
    sampled
        Measures every figure in some samples.
    """
    n = int(series.size)
    reason = too_few(n, MIN_OBSERVATIONS, what) if n < MIN_OBSERVATIONS else None
    if reason is None and is_constant(series):
        reason = no_variation("daily returns" if what == "sessions" else "weekly ICs")
    if reason is not None:
        return Bands(dict.fromkeys(estimates, reason))
    mean_block = mean_block_length(series)
    parts = [sampled(places) for places in all_samples(draw, n, mean_block)]
    figures = {
        name: _band(estimate, np.concatenate([part[name] for part in parts]))
        for name, estimate in estimates.items()
    }
    return Bands(figures, mean_block)


def _band(estimate: Figure, values: Floats) -> Band | Unavailable:
    if isinstance(estimate, Unavailable):
        return estimate
    if not np.isfinite(values).all():
        return Unavailable(
            "insufficient_data", "samples of the window do not all determine the figure, so it has no band"
        )
    lower, upper = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(estimate, float(lower), float(upper))


def _ledger_samples(returns: Matrix, risk_free: Matrix, turnover: Matrix, opening: float) -> Sampled:
    year = SESSIONS_PER_YEAR
    mean, deviation = returns.mean(axis=1), _deviation(returns)
    excess = returns - risk_free
    equity = np.cumprod(1.0 + returns, axis=1)
    peak = np.maximum(np.maximum.accumulate(equity, axis=1), 1.0)
    growth = np.where((returns > -1.0).all(axis=1), equity[:, -1], np.nan)
    fall = peak - equity
    return {
        "sharpe": _over(mean, deviation) * year**0.5,
        "excess_sharpe": _over(excess.mean(axis=1), _deviation(excess)) * year**0.5,
        "annualised_return": growth ** (year / returns.shape[1]) - 1.0,
        "volatility": deviation * year**0.5,
        "pnl": opening * (equity[:, -1] - 1.0),
        "max_drawdown": opening * np.maximum(fall.max(axis=1), 0.0),
        "max_drawdown_pct": 100.0 * np.maximum((fall / peak).max(axis=1), 0.0),
        "turnover": turnover.mean(axis=1) * year,
    }


def _weekly_samples(ic: Matrix) -> Sampled:
    mean, deviation = ic.mean(axis=1), _deviation(ic)
    return {
        "ic": mean,
        "icir": _over(mean, deviation) * WEEKS_PER_YEAR**0.5,
        "hit_rate": (ic > 0).mean(axis=1),
        "dispersion": deviation,
    }


def _deviation(values: Matrix) -> Floats:
    """Sample deviation (ddof 1) of each row; 0 where rounding alone makes one."""
    deviation: Floats = values.std(axis=1, ddof=1)
    deviation[deviation <= ROUNDING] = 0.0
    return deviation


def _over(mean: Floats, deviation: Floats) -> Floats:
    ratio = np.full(mean.shape, np.nan)
    np.divide(mean, deviation, out=ratio, where=deviation > 0)
    return ratio


def _vanished() -> Unavailable:
    return Unavailable("insufficient_data", "equity falls to 0 or below in the window")
