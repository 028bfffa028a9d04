"""Confidence bands of figures by the stationary bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from datasets.figures import rank_ic, ratios
from datasets.figures.bootstrap import (
    Bands,
    Places,
    band,
    block_length,
    count,
    ratio,
    resample,
    sample_moments,
)
from datasets.figures.equity import solvent_returns
from datasets.figures.run_figures import Ledger
from datasets.figures.series import SESSIONS_PER_YEAR, WEEKS_PER_YEAR, Flags, Floats, Matrix, measured
from datasets.figures.unavailable import Figure, Unavailable

Sampled: TypeAlias = Mapping[str, Floats]
"""Figure -> its value in each sample; NaN where a sample does not determine it."""


def _of_returns(measure: Callable[[Floats], Figure]) -> Callable[[Ledger], Figure]:
    def figure(ledger: Ledger) -> Figure:
        returns = solvent_returns(ledger.starting, ledger.ending)
        return returns if isinstance(returns, Unavailable) else measure(measured(returns))

    return figure


LEDGER_FIGURES: Final[Mapping[str, Callable[[Ledger], Figure]]] = {
    "sharpe": ratios.FROM_LEDGER["information_ratio"],
    "excess_sharpe": ratios.FROM_LEDGER["excess_sharpe"],
    "annualised_return": _of_returns(ratios.annualised_return),
    "volatility": _of_returns(ratios.annualised_volatility),
    **{name: ratios.FROM_LEDGER[name] for name in ("pnl", "max_drawdown", "max_drawdown_pct", "turnover")},
}
"""Figure -> function of the ledger."""

WEEKLY_FIGURES: Final[Mapping[str, Callable[[Floats], Figure]]] = {
    "ic": rank_ic.mean_ic,
    "icir": rank_ic.icir,
    "hit_rate": rank_ic.hit_rate,
    "dispersion": rank_ic.dispersion,
}
"""Figure -> function of the weekly information coefficients."""


def ledger_bands(ledger: Ledger | Unavailable, draw: np.random.Generator) -> Bands:
    """Return the bands of the figures of a daily ledger.

    Return, risk-free return and turnover of a session are resampled together.

    Parameters
    ----------
    ledger : Ledger or Unavailable
        Sessions in order of date, or the reason why there are none. Those without a return or turnover are not resampled, and
        those without a risk-free return not for ``excess_sharpe``, which is withheld if no session has one.
    draw : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    Bands
        One band per figure of :data:`LEDGER_FIGURES`. All are ``insufficient_data`` with fewer than 20 sessions,
        ``nonpositive_variance`` when the returns are constant, and ``nonpositive_equity`` when a session opens with equity
        not above 0.

    References
    ----------
    Politis and Romano (1994), "The Stationary Bootstrap", Journal of the American Statistical Association 89.
    """
    if isinstance(ledger, Unavailable):
        return Bands(dict.fromkeys(LEDGER_FIGURES, ledger))
    returns = solvent_returns(ledger.starting, ledger.ending)
    if isinstance(returns, Unavailable):
        return Bands(dict.fromkeys(LEDGER_FIGURES, returns))
    estimates = {name: measure(ledger) for name, measure in LEDGER_FIGURES.items()}
    opening = float(ledger.starting[0]) if ledger.starting.size else 0.0
    rates = np.nan_to_num(ledger.risk_free)
    known = ~np.isnan(returns + ledger.turnover)
    rated = known & ~np.isnan(ledger.risk_free)

    def resampled(sessions: Flags) -> Bands:
        series = np.stack([returns, returns - rates, ledger.turnover])[:, sessions]
        mean_block = block_length(series[0], "sessions", "daily returns")
        return _bands(
            estimates,
            series.shape[1],
            mean_block,
            lambda places: _ledger_samples(places, series, opening),
            draw,
        )

    bands = resampled(known)
    # Without any rate, excess_sharpe is withheld already.
    if rated.any() and not np.array_equal(rated, known):
        excess = resampled(rated).figures["excess_sharpe"]
        return replace(bands, figures={**bands.figures, "excess_sharpe": excess})
    return bands


def weekly_bands(ic: Floats | Unavailable, draw: np.random.Generator) -> Bands:
    """Return the bands of the figures of a weekly information coefficient.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,), or Unavailable
        One IC per week in order of date, where NaN is ignored; or the reason why it is withheld.
    draw : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    Bands
        One band per figure of :data:`WEEKLY_FIGURES`, withheld under the conditions of :func:`ledger_bands`.
    """
    if isinstance(ic, Unavailable):
        return Bands(dict.fromkeys(WEEKLY_FIGURES, ic))
    values = measured(ic)
    estimates = {name: measure(ic) for name, measure in WEEKLY_FIGURES.items()}
    mean_block = block_length(values, "weeks with a measured IC", "weekly ICs")
    return _bands(estimates, values.size, mean_block, lambda places: _weekly_samples(places, values), draw)


def _bands(
    estimates: Mapping[str, Figure],
    n: int,
    mean_block: float | Unavailable,
    sampled: Callable[[Places], Sampled],
    draw: np.random.Generator,
) -> Bands:
    """Resample `n` observations in blocks, and compute the band of every figure."""
    if isinstance(mean_block, Unavailable):
        return Bands(dict.fromkeys(estimates, mean_block))
    parts = [sampled(places) for places in resample(draw, n, mean_block)]
    figures = {
        name: band(estimate, np.concatenate([part[name] for part in parts]))
        for name, estimate in estimates.items()
    }
    return Bands(figures, mean_block)


def _ledger_samples(places: Places, series: Matrix, opening: float) -> Sampled:
    """Compute the figures of samples of returns, excess returns and turnover, shape (3, n_sessions)."""
    year, times, returns = SESSIONS_PER_YEAR, count(places), series[0]
    mean, deviation = sample_moments(times, series)
    sharpe, excess_sharpe, _ = ratio(mean, deviation) * year**0.5
    equity = np.cumprod((1.0 + returns)[places], axis=1)
    # No return of the window says what a book in debt earns.
    equity[times @ (returns < -1.0) > 0] = np.nan
    peak = np.maximum(np.maximum.accumulate(equity, axis=1), 1.0)
    growth = np.where(times @ (returns <= -1.0) > 0, np.nan, equity[:, -1])
    fall = peak - equity
    return {
        "sharpe": sharpe,
        "excess_sharpe": excess_sharpe,
        "annualised_return": growth ** (year / returns.size) - 1.0,
        "volatility": deviation[0] * year**0.5,
        "pnl": opening * (equity[:, -1] - 1.0),
        "max_drawdown": opening * np.maximum(fall.max(axis=1), 0.0),
        "max_drawdown_pct": 100.0 * np.maximum((fall / peak).max(axis=1), 0.0),
        "turnover": mean[2] * year,
    }


def _weekly_samples(places: Places, ic: Floats) -> Sampled:
    times = count(places)
    (mean,), (deviation,) = sample_moments(times, ic[None])
    return {
        "ic": mean,
        "icir": ratio(mean, deviation) * WEEKS_PER_YEAR**0.5,
        "hit_rate": times @ (ic > 0) / ic.size,
        "dispersion": deviation,
    }
