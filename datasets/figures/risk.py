"""Risk of a book's daily returns: drawdowns, tails, rolling figures, and the Sharpe ratio under autocorrelation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from datasets.figures.equity import EquityCurve, equity_curve, solvent_returns
from datasets.figures.newey_west import bandwidth
from datasets.figures.ratios import book_figures
from datasets.figures.series import ROUNDING, SESSIONS_PER_YEAR, Dates, Floats, constant_rows, day, measured
from datasets.figures.sharpe import sharpe_moments
from datasets.figures.unavailable import Figure, Unavailable, too_few
from schemas.metrics.families.risk import DEEPEST, ROLLING

_RETURNS = "daily returns"
_ROUNDING_PCT = 100.0 * ROUNDING
"""Depth of a drawdown that rounding alone can cause, in percentage points of the peak."""


def risk(date: Dates, starting: Floats, ending: Floats) -> dict[str, Any]:
    """Compute the risk figures of a book.

    Parameters
    ----------
    date : Dates, shape (n_sessions,)
        Session days, ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null.

    Returns
    -------
    dict
        The members of :data:`schemas.metrics.families.risk.RISK` except the span and the book; each figure is a number or
        :class:`~datasets.figures.unavailable.Unavailable`. Figures of returns are withheld when a session opens with
        equity not above 0.
    """
    curve = equity_curve(starting, ending)
    returns = solvent_returns(starting, ending)
    return {**_return_figures(returns), **_drawdown_figures(date, curve), "rolling": _rolling(date, returns)}


def _return_figures(returns: Floats | Unavailable) -> dict[str, Figure | int]:
    names = (
        *("annualised_return", "volatility", "sharpe", "lo_sharpe", "lo_lags", "sortino", "calmar"),
        *("var_95", "var_99", "cvar_95", "cvar_99", "tail_ratio", "skewness", "kurtosis"),
    )
    if isinstance(returns, Unavailable):
        return dict.fromkeys(names, returns)
    returns = measured(returns)
    book = book_figures(returns)
    deepest = book.pop("max_drawdown_pct")
    moments = sharpe_moments(returns)
    lags = bandwidth(returns.size)
    lo = lo_sharpe(returns, lags)
    return {
        **book,
        "lo_sharpe": lo,
        "lo_lags": lo if isinstance(lo, Unavailable) else lags,
        "sortino": sortino(returns),
        "calmar": calmar(book["annualised_return"], deepest),
        "var_95": value_at_risk(returns, 0.05),
        "var_99": value_at_risk(returns, 0.01),
        "cvar_95": conditional_value_at_risk(returns, 0.05),
        "cvar_99": conditional_value_at_risk(returns, 0.01),
        "tail_ratio": tail_ratio(returns),
        "skewness": moments if isinstance(moments, Unavailable) else moments.skewness,
        "kurtosis": moments if isinstance(moments, Unavailable) else moments.kurtosis,
    }


def lo_scale(autocorrelations: Floats, periods: int) -> float | None:
    """Factor that scales a Sharpe ratio per period to one over several periods, given autocorrelations.

    Parameters
    ----------
    autocorrelations : Floats, shape (n_lags,)
        Autocorrelations of the returns, starting at lag 1; later ones count as 0.
    periods : int
        Number of periods q, greater than the number of lags.

    Returns
    -------
    float or None
        ``q / sqrt(q + 2 sum_k (q - k) rho_k)``, which is ``sqrt(q)`` for uncorrelated returns; None when the
        autocorrelations make the variance of the sum 0 or negative.

    References
    ----------
    Lo (2002), "The Statistics of Sharpe Ratios", Financial Analysts Journal 58(4), equation 20.

    Examples
    --------
    >>> lo_scale(np.zeros(2), 4)
    2.0
    """
    lags = np.arange(1, autocorrelations.size + 1)
    variance = periods + 2.0 * float(((periods - lags) * autocorrelations).sum())
    return periods / math.sqrt(variance) if variance > 0 else None


def lo_sharpe(returns: Floats, lags: int) -> Figure:
    """Sharpe ratio, annualised with the autocorrelations of the returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions in order of date, without NaN.
    lags : int
        Number of sample autocorrelations to use; later ones are mostly noise.

    Returns
    -------
    float or Unavailable
        Annualised; withheld with fewer than ten returns, when they are constant, or when :func:`lo_scale` is None.

    References
    ----------
    Lo (2002), as :func:`lo_scale`.
    """
    moments = sharpe_moments(returns)
    if isinstance(moments, Unavailable):
        return moments
    deviations = returns - returns.mean()
    products = np.array([deviations[k:] @ deviations[: returns.size - k] for k in range(lags + 1)])
    scale = lo_scale(products[1:] / products[0], SESSIONS_PER_YEAR)
    if scale is None:
        return Unavailable(
            "nonpositive_variance", "the autocorrelations make the variance of a year's return 0 or negative"
        )
    return moments.sharpe * scale


def sortino(returns: Floats) -> Figure:
    """Mean of the daily returns over their downside deviation from 0, annualised.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions, without NaN.

    Returns
    -------
    float or Unavailable
        Annualised with the square root of 252. The downside deviation is the root mean square of the returns below 0 over
        all observations. Withheld with fewer than two returns, or when none is below 0 by more than rounding.

    References
    ----------
    Sortino and Price (1994), "Performance Measurement in a Downside Risk Framework", Journal of Investing 3(3).
    """
    if returns.size < 2:
        return too_few(int(returns.size), 2, _RETURNS)
    if returns.min() >= -ROUNDING:
        return Unavailable("nonpositive_variance", "no daily return is below 0")
    downside = math.sqrt(float(np.square(np.minimum(returns, 0.0)).mean()))
    return float(returns.mean()) / downside * math.sqrt(SESSIONS_PER_YEAR)


def calmar(annualised_return: Figure, max_drawdown_pct: Figure) -> Figure:
    """Annualised return over the deepest drawdown.

    Parameters
    ----------
    annualised_return : float or Unavailable
        Fraction per year.
    max_drawdown_pct : float or Unavailable
        Percentage points of the peak, at least 0.

    Returns
    -------
    float or Unavailable
        Ratio; withheld if either argument is, or if there is no drawdown beyond rounding.

    References
    ----------
    Young (1991), "Calmar Ratio: A Smoother Tool", Futures 20(1).
    """
    if isinstance(annualised_return, Unavailable):
        return annualised_return
    if isinstance(max_drawdown_pct, Unavailable):
        return max_drawdown_pct
    if max_drawdown_pct <= _ROUNDING_PCT:
        return Unavailable("nonpositive_variance", "equity never closes below its peak")
    return annualised_return / (max_drawdown_pct / 100.0)


def value_at_risk(returns: Floats, share: float) -> Figure:
    """Historical value at risk: a low quantile of the returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions, without NaN.
    share : float
        Probability of the quantile, such as 0.05.

    Returns
    -------
    float or Unavailable
        Fraction, negative for a loss, interpolated linearly; withheld with fewer than ``1 / share`` returns.
    """
    minimum = round(1 / share)
    return (
        too_few(int(returns.size), minimum, _RETURNS)
        if returns.size < minimum
        else float(np.quantile(returns, share))
    )


def conditional_value_at_risk(returns: Floats, share: float) -> Figure:
    """Expected shortfall: mean of the lowest returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions, without NaN.
    share : float
        Share of the observations that are averaged, such as 0.05.

    Returns
    -------
    float or Unavailable
        Mean of the ``floor(share (n - 1)) + 1`` lowest, a fraction, negative for a loss; withheld as
        :func:`value_at_risk`.

    References
    ----------
    Rockafellar and Uryasev (2000), "Optimization of Conditional Value-at-Risk", Journal of Risk 2(3).
    """
    minimum = round(1 / share)
    if returns.size < minimum:
        return too_few(int(returns.size), minimum, _RETURNS)
    worst = int(share * (returns.size - 1))
    return float(np.partition(returns, worst)[: worst + 1].mean())


def tail_ratio(returns: Floats) -> Figure:
    """Absolute 95% quantile over absolute 5% quantile.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions, without NaN.

    Returns
    -------
    float or Unavailable
        Ratio, at least 0; withheld with fewer than 20 returns, or when the 5% quantile is 0 within rounding. The quantiles
        are interpolated linearly.
    """
    if returns.size < 20:
        return too_few(int(returns.size), 20, _RETURNS)
    low, high = np.quantile(np.asarray(returns), [0.05, 0.95])
    if abs(low) <= ROUNDING:
        return Unavailable("nonpositive_variance", "the 5% quantile of the daily returns of the window is 0")
    return float(abs(high) / abs(low))


def _drawdown_figures(date: Dates, curve: EquityCurve) -> dict[str, Any]:
    sessions = measured(curve.drawdown_pct).size
    if not sessions:
        reason = too_few(0, 1, "sessions with a positive peak")
        return {"under_water": reason, "drawdowns": reason}
    drawdown_pct = np.where(curve.drawdown_pct <= _ROUNDING_PCT, 0.0, curve.drawdown_pct)
    return {
        "under_water": float((drawdown_pct > 0).sum() / sessions),
        "drawdowns": drawdowns(date, drawdown_pct),
    }


def drawdowns(date: Dates, drawdown_pct: Floats) -> list[dict[str, Any]]:
    """List the deepest drawdowns.

    Parameters
    ----------
    date : Dates, shape (n_sessions,)
        Session days, ascending.
    drawdown_pct : Floats, shape (n_sessions,)
        Percentage points below the peak, at least 0; NaN where the peak is not above 0.

    Returns
    -------
    list of dict
        At most :data:`schemas.metrics.families.risk.DEEPEST` episodes, the deepest first and the earlier of equal ones
        first: ``start``, ``trough`` and ``recovery`` (None while under water) as ISO 8601 text, ``depth_pct`` in percentage
        points, ``sessions`` under water, ``sessions_to_trough``, and calendar ``days`` from start to recovery or the last
        session.
    """
    edges = np.diff((drawdown_pct > 0).astype(np.int8), prepend=0, append=0)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    episodes: list[dict[str, Any]] = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        trough = begin + int(drawdown_pct[begin:end].argmax())
        recovered = end < date.size
        last = day(date, end if recovered else -1)
        episodes.append(
            {
                "start": day(date, begin).isoformat(),
                "trough": day(date, trough).isoformat(),
                "recovery": last.isoformat() if recovered else None,
                "depth_pct": float(drawdown_pct[trough]),
                "sessions": end - begin,
                "sessions_to_trough": trough - begin + 1,
                "days": (last - day(date, begin)).days,
            }
        )
    return sorted(episodes, key=lambda entry: -entry["depth_pct"])[:DEEPEST]


def _rolling(date: Dates, returns: Floats | Unavailable) -> list[dict[str, Any]] | Unavailable:
    """Compute rolling figures at the end of each month, without sessions that lack a return."""
    if isinstance(returns, Unavailable):
        return returns
    known = ~np.isnan(returns)
    returns, date = returns[known], date[known]
    if returns.size < ROLLING:
        return too_few(int(returns.size), ROLLING, _RETURNS)
    month = date.astype("datetime64[M]")
    last = np.append(np.flatnonzero(month[1:] != month[:-1]), month.size - 1)
    ends = last[last >= ROLLING - 1]
    windows = np.lib.stride_tricks.sliding_window_view(returns, ROLLING)[ends - ROLLING + 1]
    constant = constant_rows(windows)
    deviation = np.where(constant, 0.0, windows.std(axis=1, ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)
    mean = windows.mean(axis=1) * SESSIONS_PER_YEAR
    return [
        {
            "date": day(date, place).isoformat(),
            "sharpe": None if constant[row] else float(mean[row] / deviation[row]),
            "volatility": float(deviation[row]),
        }
        for row, place in enumerate(ends.tolist())
    ]
