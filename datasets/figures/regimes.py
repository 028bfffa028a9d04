"""Regimes of a track record (halves, up and down markets, volatility terciles), and a test for a structural break."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.bootstrap import interval, make_seed, mean_block_length, sample_sums
from datasets.figures.equity import solvent_returns
from datasets.figures.price import Benchmark
from datasets.figures.run_figures import Ledger
from datasets.figures.series import (
    ROUNDING,
    SESSIONS_PER_YEAR,
    Dates,
    Flags,
    Floats,
    Matrix,
    Window,
    cut,
    measured,
    observed,
    unmeasurable,
)
from datasets.figures.unavailable import Unavailable
from datasets.figures.withheld import settle
from schemas.metrics.families.family import SAMPLES

MIN_OBSERVATIONS: Final = 20
"""Minimum sessions in a regime, and minimum observations in a break test."""
VOLATILITY_SESSIONS: Final = 63
"""Sessions in the window of the benchmark's volatility: a quarter."""


@dataclass(frozen=True, slots=True)
class Market:
    """A benchmark at the sessions of a book; NaN stands for null.

    Attributes
    ----------
    returns : Floats, shape (n_sessions,)
        Return since the previous day of the benchmark's own calendar, a fraction.
    volatility : Floats, shape (n_sessions,)
        Sample deviation of the 63 daily returns before the session, not annualised, so known when the session begins.
    """

    returns: Floats
    volatility: Floats


def find_break(days: Dates, series: Floats, what: str) -> dict[str, Any] | Unavailable:
    """Test a series for a break of its mean, by CUSUM.

    Parameters
    ----------
    days : Dates, shape (n_observations,)
        Ascending.
    series : Floats, shape (n_observations,)
        Daily returns or weekly ICs, assumed uncorrelated; NaN is ignored.
    what : str
        Name of the observations in the plural, for the reason.

    Returns
    -------
    dict or Unavailable
        ``statistic``, the largest absolute cumulative sum of deviations from the mean, over deviation x sqrt(observations);
        ``p_value``, the probability that the supremum of a Brownian bridge exceeds it; ``date`` of the largest sum, ISO 8601,
        the estimated last day before the break; and ``observations``. ``insufficient_data`` with fewer than 20 observations;
        ``nonpositive_variance`` when they are constant.

    References
    ----------
    Ploberger and Krämer (1992), "The CUSUM Test with OLS Residuals", Econometrica 60.
    """
    from scipy.special import kolmogorov  # noqa: PLC0415 - slow to load: programs start without it

    known = ~np.isnan(series)
    values = series[known]
    reason = unmeasurable(values, MIN_OBSERVATIONS, what)
    if reason is not None:
        return reason
    residuals = values - values.mean()
    path = np.abs(np.cumsum(residuals)) / math.sqrt(float(residuals @ residuals))
    at = int(path.argmax())
    return {
        "statistic": float(path[at]),
        "p_value": float(kolmogorov(path[at])),
        "date": str(days[known][at]),
        "observations": values.size,
    }


def market_at(benchmark: Benchmark, sessions: Dates) -> Market:
    """Return a benchmark's returns and volatility at the sessions of a book.

    Parameters
    ----------
    benchmark : Benchmark
        Daily prices.
    sessions : Dates, shape (n_sessions,)
        Ascending.

    Returns
    -------
    Market
        From adjusted closes if all those needed are known, else from closes. NaN on sessions without a benchmark price, and
        on sessions with too few returns before them.
    """
    ends = sessions[[0, -1]] if sessions.size else sessions
    first, last = np.searchsorted(benchmark.dates, ends).tolist() or (0, 0)
    days, returns, _ = benchmark.returns(slice(max(0, first - VOLATILITY_SESSIONS - 1), last + 1))
    if not days.size:
        return Market(*np.full((2, sessions.size), np.nan))
    volatility = np.full(returns.size, np.nan)
    if returns.size > VOLATILITY_SESSIONS + 1:
        windows = np.lib.stride_tricks.sliding_window_view(returns[1:-1], VOLATILITY_SESSIONS)
        volatility[VOLATILITY_SESSIONS + 1 :] = windows.std(axis=1, ddof=1)
    place = np.minimum(np.searchsorted(days, sessions), days.size - 1)
    quoted = days[place] == sessions
    return Market(*(np.where(quoted, series[place], np.nan) for series in (returns, volatility)))


def split_sessions(sessions: int, market: Market | None) -> dict[str, dict[str, Flags]]:
    """Split sessions into regimes.

    Parameters
    ----------
    sessions : int
        Number of sessions.
    market : Market or None
        The benchmark at these sessions, or None.

    Returns
    -------
    dict of str to dict of str to Flags, shape (n_sessions,)
        Group -> regime -> its sessions: ``halves``, and with a benchmark ``market`` (down, up) and ``volatility``
        (terciles). A session may be in no regime of a group.
    """
    first = np.arange(sessions) < sessions // 2
    halves = {"halves": {"first": first, "second": ~first}}
    if market is None:
        return halves
    volatility = market.volatility
    known = measured(volatility)
    low, high = np.quantile(known, [1 / 3, 2 / 3]) if known.size else (math.nan, math.nan)
    return {
        **halves,
        "market": {"down": market.returns < 0, "up": market.returns > 0},
        "volatility": {
            "low": volatility <= low,
            "middle": (volatility > low) & (volatility <= high),
            "high": volatility > high,
        },
    }


def regimes(returns: Floats | Unavailable, market: Market | None, seed: int) -> dict[str, Any]:
    """Compute the figures of a book in each regime, with bands of its Sharpe ratios.

    Blocks of all sessions are resampled together with the regime of each, so that a band allows for autocorrelation and for
    the random number of sessions in a regime.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,), or Unavailable
        Daily returns of the window, fractions; NaN stands for null. Or the reason why there are none.
    market : Market or None
        The benchmark at the same sessions, or None.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    dict
        ``groups``, ``mean_block`` (sessions) and ``withheld`` of the API; JSON-ready.

    References
    ----------
    Politis and Romano (1994), "The Stationary Bootstrap", Journal of the American Statistical Association 89.
    """
    if isinstance(returns, Unavailable):
        return _no_regimes(returns)
    known = ~np.isnan(returns)
    returns = returns[known]
    if market is not None:
        market = cut(market, known)
    reason = unmeasurable(returns, 2 * MIN_OBSERVATIONS, "daily returns")
    if reason is not None:
        return _no_regimes(reason)
    mean_block = mean_block_length(returns)
    by_group = split_sessions(returns.size, market)
    withheld: dict[str, str] = {}
    measurable: dict[tuple[str, str], Flags] = {}
    for name, parts in by_group.items():
        for regime, flags in parts.items():
            too_short = unmeasurable(returns[flags], MIN_OBSERVATIONS, "sessions", "daily returns")
            if too_short is None:
                measurable[name, regime] = flags
            else:
                withheld[f"{name}.{regime}"] = too_short.text
    draw = np.random.Generator(np.random.PCG64([seed, 3]))
    samples = _sampled_sharpes(returns, list(measurable.values()), mean_block, draw)
    sharpes = dict(zip(measurable, samples, strict=True))
    entries = [_group(name, parts, returns, sharpes) for name, parts in by_group.items()]
    return {"groups": entries, "mean_block": mean_block, "withheld": withheld}


def _no_regimes(reason: Unavailable) -> dict[str, Any]:
    return {"groups": [], "mean_block": None, "withheld": {"groups": reason.text}}


def _group(
    name: str,
    parts: Mapping[str, Flags],
    returns: Floats,
    sampled: Mapping[tuple[str, str], Floats],
) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for regime, flags in parts.items():
        in_regime = returns[flags]
        mean = volatility = sharpe = band = None
        if (name, regime) in sampled:
            mean = float(in_regime.mean()) * SESSIONS_PER_YEAR
            volatility = float(in_regime.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)
            sharpe, band = mean / volatility, interval(sampled[name, regime])
        entries.append(
            {
                "name": regime,
                "sessions": int(in_regime.size),
                "mean_return": mean,
                "volatility": volatility,
                "sharpe": sharpe,
                "band": band,
            }
        )
    first, last = entries[0], entries[-1]
    difference = None
    if first["sharpe"] is not None and last["sharpe"] is not None:
        difference = {
            "sharpe": last["sharpe"] - first["sharpe"],
            "band": interval(sampled[name, last["name"]] - sampled[name, first["name"]]),
        }
    return {"name": name, "regimes": entries, "difference": difference}


def _sampled_sharpes(
    returns: Floats, regimes: Sequence[Flags], mean_block: float, draw: np.random.Generator
) -> Matrix:
    """Return the Sharpe ratio of each regime in each sample; NaN if undefined.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Returns of the book, fractions, without NaN.
    regimes : sequence of Flags, shape (n_sessions,)
        Sessions of each regime, at least one session each.
    mean_block : float
        Mean length of a block in sessions.
    draw : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    Matrix, shape (n_regimes, n_samples)
        Annualised with the square root of 252.
    """
    if not regimes:
        return np.empty((0, 0))
    flags = np.stack(regimes)
    centre = np.array([[returns[sessions].mean()] for sessions in regimes])
    deviations = np.where(flags, returns - centre, 0.0)
    terms = np.concatenate([flags, deviations, np.square(deviations)]).T
    n, total, squares = np.split(sample_sums(draw, mean_block, terms).T, 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1))
        mean = centre + total / n
        ratio: Matrix = mean / np.where(deviation > ROUNDING, deviation, np.nan)
    return ratio * math.sqrt(SESSIONS_PER_YEAR)


def measure(
    alpha_id: str,
    ledger: Ledger | Unavailable,
    weekly: tuple[Dates, Floats] | Unavailable,
    benchmark: Benchmark | str,
    *,
    book: str,
    window: Window,
) -> dict[str, Any]:
    """Compute the regimes of a book, and test its track record for a break.

    Parameters
    ----------
    alpha_id : str
        Id of the alpha, which seeds the random numbers.
    ledger : Ledger or Unavailable
        Sessions of the complete run, or the reason why there are none.
    weekly : tuple of (Dates, Floats), each of shape (n_weeks,), or Unavailable
        Rebalance dates and their ICs, or the reason why there are none.
    benchmark : Benchmark or str
        The benchmark whose returns define the market regimes, or the reason why there is none.
    book : str
        Name of the book.
    window : Window
        Days to measure.

    Returns
    -------
    dict
        The ``data`` of `/v1/alphas/{alpha}/regimes`; JSON-ready.
    """
    withheld = {} if isinstance(benchmark, Benchmark) else dict.fromkeys(("market", "volatility"), benchmark)
    sessions = ledger if isinstance(ledger, Unavailable) else cut(ledger, window.rows(ledger.date))
    days = np.empty(0, "datetime64[D]") if isinstance(sessions, Unavailable) else sessions.date
    market = market_at(benchmark, days) if isinstance(benchmark, Benchmark) else None
    returns = (
        sessions if isinstance(sessions, Unavailable) else solvent_returns(sessions.starting, sessions.ending)
    )
    seed = make_seed((alpha_id,), book, window)
    parts = regimes(returns, market, seed)
    tests = {
        "returns": returns
        if isinstance(returns, Unavailable)
        else find_break(days, returns, "daily returns"),
        "ic": _ic_break(weekly, window),
    }
    tested = settle({"breaks": tests})
    return {
        "book": book,
        **observed(days),
        "benchmark": benchmark.symbol if isinstance(benchmark, Benchmark) else None,
        "groups": parts["groups"],
        "breaks": tested["breaks"],
        "bootstrap": {"samples": SAMPLES, "mean_block": parts["mean_block"], "seed": seed},
        "withheld": {**withheld, **parts["withheld"], **tested["withheld"]},
    }


def _ic_break(weekly: tuple[Dates, Floats] | Unavailable, window: Window) -> dict[str, Any] | Unavailable:
    if isinstance(weekly, Unavailable):
        return weekly
    weeks, ic = weekly
    rows = window.rows(weeks)
    return find_break(weeks[rows], ic[rows], "weeks with a measured IC")
