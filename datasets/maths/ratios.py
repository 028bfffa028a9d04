"""Figures of the daily ledger of one book over a window; each takes ledger columns as they are."""

from __future__ import annotations

import math

from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.equity import equity_curve, highest, solvent_returns
from datasets.maths.series import Floats, is_constant, mean_or_null, measured
from datasets.maths.unavailable import Unavailable, no_variation, too_few


def information_ratio(starting: Floats, ending: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns, annualised.

    Parameters
    ----------
    starting, ending
        Opening and closing equity by session.

    Returns
    -------
    float or Unavailable
        Ratio, annualised with the square root of 252; withheld with fewer than two returns, when they are all
        the same, or when a session opens with equity not above 0. Sessions with an equity that is null are left out.

    References
    ----------
    Sharpe (1994), "The Sharpe Ratio", Journal of Portfolio Management 21, with a benchmark of zero.
    """
    returns = solvent_returns(starting, ending)
    return returns if isinstance(returns, Unavailable) else _annualised(measured(returns), "daily returns")


def excess_sharpe(starting: Floats, ending: Floats, risk_free: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns in excess of the session's risk-free rate, annualised.

    Parameters
    ----------
    starting, ending
        Opening and closing equity by session.
    risk_free
        Risk-free return of each session, a ratio.

    Returns
    -------
    float or Unavailable
        As :func:`information_ratio`; a session without a rate is left out.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return returns
    return _annualised(measured(returns - risk_free), "daily excess returns")


def pnl(starting: Floats, ending: Floats) -> float | Unavailable:
    """Profit of the window in equity units.

    Parameters
    ----------
    starting, ending
        Opening and closing equity by session.

    Returns
    -------
    float or Unavailable
        Last closing less first opening equity; withheld when there is no session or either is null.
    """
    if starting.size == 0:
        return too_few(0, 1, "sessions")
    profit = float(ending[-1] - starting[0])
    if math.isnan(profit):
        return Unavailable("insufficient_data", "the equity at an end of the window is not known")
    return profit


def max_drawdown(starting: Floats, ending: Floats) -> float | Unavailable:
    """Deepest fall of closing equity below the running peak, in equity units.

    Parameters
    ----------
    starting, ending
        Opening and closing equity by session; openings count towards the peak.

    Returns
    -------
    float or Unavailable
        At least 0; 0 is a measurement (equity never closed below its peak). Withheld without a session.
    """
    deepest = highest(equity_curve(starting, ending).drawdown)
    return too_few(0, 1, "sessions") if deepest is None else deepest


def max_drawdown_pct(starting: Floats, ending: Floats) -> float | Unavailable:
    """Deepest fall of closing equity below the running peak, in percentage points of that peak.

    Parameters
    ----------
    starting, ending
        Opening and closing equity by session; openings count towards the peak.

    Returns
    -------
    float or Unavailable
        At least 0; not necessarily on the session of :func:`max_drawdown`. Withheld without a session whose peak is
        positive.
    """
    deepest = highest(equity_curve(starting, ending).drawdown_pct)
    return too_few(0, 1, "sessions with a positive peak") if deepest is None else deepest


def turnover(daily_turnover: Floats) -> float | Unavailable:
    """Mean one-sided turnover of a session, annualised.

    Parameters
    ----------
    daily_turnover
        Fraction of equity traded in each session; 0 on a session without a trade, which counts.

    Returns
    -------
    float or Unavailable
        Per year (252 sessions); withheld without a session.
    """
    mean = mean_or_null(daily_turnover)
    return too_few(0, 1, "sessions") if mean is None else mean * SESSIONS_PER_YEAR


def _annualised(returns: Floats, what: str) -> float | Unavailable:
    """Mean over sample deviation (ddof 1) times the square root of 252."""
    if returns.size < 2:
        return too_few(int(returns.size), 2, what)
    if is_constant(returns):
        return no_variation(what)
    return float(returns.mean() / returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)
