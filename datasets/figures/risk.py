"""Risk of a book's daily returns: drawdowns, tails, rolling figures, and the Sharpe ratio under autocorrelation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from datasets.figures.correlation import constant_rows
from datasets.figures.equity import EquityCurve, day, equity_curve, solvent_returns
from datasets.figures.newey_west import bandwidth
from datasets.figures.ratios import book_figures
from datasets.figures.series import SESSIONS_PER_YEAR, Dates, Floats, measured
from datasets.figures.sharpe import sharpe_moments
from datasets.figures.unavailable import Unavailable, no_variation, too_few
from schemas.metrics.families.risk import DEEPEST, ROLLING

Figure = float | Unavailable
_RETURNS = "daily returns"


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
        The members of :data:`schemas.metrics.families.risk.RISK` but for the span and the book: a figure is a number or
        :class:`Unavailable`. Every figure of returns is withheld when a session opens with equity not above 0.
    """
    curve = equity_curve(starting, ending)
    returns = solvent_returns(starting, ending)
    return {**_of_returns(returns), **_of_curve(date, curve), "rolling": _rolling(date, returns)}


def _of_returns(returns: Floats | Unavailable) -> dict[str, Figure | int]:
    names = (
        *("annualised_return", "volatility", "sharpe", "lo_sharpe", "lo_lags", "sortino", "calmar"),
        *("var_95", "var_99", "cvar_95", "cvar_99", "tail_ratio", "skewness", "kurtosis"),
    )
    if isinstance(returns, Unavailable):
        return dict.fromkeys(names, returns)
    returns = measured(returns)
    book = book_figures(returns)
    moments = sharpe_moments(returns)
    lags = bandwidth(returns.size)
    lo = lo_sharpe(returns, lags)
    return {
        "annualised_return": book.annualised_return,
        "volatility": book.volatility,
        "sharpe": book.sharpe,
        "lo_sharpe": lo,
        "lo_lags": lo if isinstance(lo, Unavailable) else lags,
        "sortino": sortino(returns),
        "calmar": calmar(book.annualised_return, book.max_drawdown_pct),
        "var_95": value_at_risk(returns, 0.05),
        "var_99": value_at_risk(returns, 0.01),
        "cvar_95": conditional_value_at_risk(returns, 0.05),
        "cvar_99": conditional_value_at_risk(returns, 0.01),
        "tail_ratio": tail_ratio(returns),
        "skewness": moments if isinstance(moments, Unavailable) else moments.skewness,
        "kurtosis": moments if isinstance(moments, Unavailable) else moments.kurtosis,
    }


def lo_scale(autocorrelations: Floats, periods: int) -> float | None:
    """Factor from a Sharpe ratio per period to that of several periods together.

    Parameters
    ----------
    autocorrelations : Floats, shape (n_lags,)
        Of the returns, from lag 1 on; those behind the last count as 0.
    periods : int
        How many periods, more than there are lags.

    Returns
    -------
    float or None
        ``q / sqrt(q + 2 sum_k (q - k) rho_k)``, the root of q of independent returns; None when the autocorrelations
        leave the sum no variance.

    References
    ----------
    Lo (2002), "The Statistics of Sharpe Ratios", Financial Analysts Journal 58(4), equation 20.
    """
    lags = np.arange(1, autocorrelations.size + 1)
    variance = periods + 2.0 * float(((periods - lags) * autocorrelations).sum())
    return periods / math.sqrt(variance) if variance > 0 else None


def lo_sharpe(returns: Floats, lags: int) -> Figure:
    """Sharpe ratio, annualised by the autocorrelations of the returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns without NaN.
    lags : int
        Autocorrelations used from the sample: later ones are noise that would outweigh the rest.

    Returns
    -------
    float or Unavailable
        As :func:`lo_scale`; withheld with fewer than ten returns, when they do not vary or leave the year no variance.
    """
    moments = sharpe_moments(returns)
    if isinstance(moments, Unavailable):
        return moments
    deviations = returns - returns.mean()
    products = np.array([deviations[k:] @ deviations[: returns.size - k] for k in range(lags + 1)])
    scale = lo_scale(products[1:] / products[0], SESSIONS_PER_YEAR)
    if scale is None:
        return Unavailable(
            "nonpositive_variance", "the autocorrelations of the returns leave a year of them no variance"
        )
    return moments.sharpe * scale


def sortino(returns: Floats) -> Figure:
    """Mean of the daily returns over their downside deviation from 0, annualised.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Without NaN.

    Returns
    -------
    float or Unavailable
        Ratio, annualised with the square root of 252; withheld with fewer than two returns or none below 0.

    References
    ----------
    Sortino and Price (1994), "Performance Measurement in a Downside Risk Framework", Journal of Investing 3(3).
    """
    if returns.size < 2:
        return too_few(int(returns.size), 2, _RETURNS)
    downside = math.sqrt(float(np.square(np.minimum(returns, 0.0)).mean()))
    if downside == 0:
        return Unavailable("nonpositive_variance", "no daily return is below 0")
    return float(returns.mean()) / downside * math.sqrt(SESSIONS_PER_YEAR)


def calmar(annualised_return: Figure, max_drawdown_pct: Figure) -> Figure:
    """Annualised return over the deepest drawdown.

    Parameters
    ----------
    annualised_return : float or Unavailable
        Ratio.
    max_drawdown_pct : float or Unavailable
        Percentage points, at least 0.

    Returns
    -------
    float or Unavailable
        Ratio; withheld when either is, or when there is no drawdown.

    References
    ----------
    Young (1991), "Calmar Ratio: A Smoother Tool", Futures 20(1).
    """
    if isinstance(annualised_return, Unavailable):
        return annualised_return
    if isinstance(max_drawdown_pct, Unavailable):
        return max_drawdown_pct
    if max_drawdown_pct == 0:
        return Unavailable("nonpositive_variance", "equity never closes below its peak")
    return annualised_return / (max_drawdown_pct / 100.0)


def value_at_risk(returns: Floats, share: float) -> Figure:
    """Quantile of the returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Without NaN.
    share : float
        Of the observations, that lie below.

    Returns
    -------
    float or Unavailable
        A return, negative where it is a loss, interpolated linearly; withheld with fewer than ``1 / share`` returns.
    """
    least = round(1 / share)
    return (
        too_few(int(returns.size), least, _RETURNS)
        if returns.size < least
        else float(np.quantile(returns, share))
    )


def conditional_value_at_risk(returns: Floats, share: float) -> Figure:
    """Mean of the lowest returns.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Without NaN.
    share : float
        Of the observations.

    Returns
    -------
    float or Unavailable
        Mean of the ``floor(share (n - 1)) + 1`` lowest; withheld as :func:`value_at_risk`.

    References
    ----------
    Rockafellar and Uryasev (2000), "Optimization of Conditional Value-at-Risk", Journal of Risk 2(3).
    """
    least = round(1 / share)
    if returns.size < least:
        return too_few(int(returns.size), least, _RETURNS)
    worst = int(share * (returns.size - 1))
    return float(np.partition(returns, worst)[: worst + 1].mean())


def tail_ratio(returns: Floats) -> Figure:
    """Absolute 95 % quantile over absolute 5 % quantile.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Without NaN.

    Returns
    -------
    float or Unavailable
        Ratio, at least 0; withheld with fewer than 20 returns, or where the lower quantile is 0.
    """
    if returns.size < 20:
        return too_few(int(returns.size), 20, _RETURNS)
    low, high = np.quantile(np.asarray(returns), [0.05, 0.95])
    if low == 0:
        return no_variation("lowest daily returns")
    return float(abs(high) / abs(low))


def _of_curve(date: Dates, curve: EquityCurve) -> dict[str, Any]:
    """Compute the drawdowns from the running peak; sessions without a positive peak have none."""
    fall = curve.drawdown_pct
    if not measured(fall).size:
        reason = too_few(0, 1, "sessions with a positive peak")
        return {"under_water": reason, "drawdowns": reason}
    return {
        "under_water": float((fall > 0).sum() / measured(fall).size),
        "drawdowns": drawdowns(date, fall),
    }


def drawdowns(date: Dates, drawdown_pct: Floats) -> list[dict[str, Any]]:
    """List the deepest drawdowns.

    Parameters
    ----------
    date : Dates, shape (n_sessions,)
        Session days, ascending.
    drawdown_pct : Floats, shape (n_sessions,)
        Percentage points below the peak, at least 0; null up to the first session with a positive peak.

    Returns
    -------
    list of dict
        The deepest first, of equal ones the earlier first; as :data:`schemas.metrics.families.risk.RISK` declares.
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
