"""Figures of a book over a window, from ledger columns or from a series of daily returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from datasets.figures.equity import equity_curve, solvent_returns
from datasets.figures.run_figures import Ledger
from datasets.figures.series import (
    SESSIONS_PER_YEAR,
    Floats,
    Matrix,
    constant_rows,
    highest,
    is_constant,
    mean_or_null,
    measured,
    unmeasurable,
)
from datasets.figures.unavailable import Figure, Unavailable, no_variation, too_few

FIGURES: Final = ("sharpe", "annualised_return", "volatility", "max_drawdown_pct")
"""Figures of a series of daily returns."""
NO_RATE: Final = Unavailable("insufficient_data", "the ledger states no risk-free rate")
"""Reason for excess returns of a ledger without a risk-free return."""


def information_ratio(starting: Floats, ending: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns, annualised.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null.

    Returns
    -------
    float or Unavailable
        Annualised with the square root of 252. Sessions without a return are ignored. Withheld with fewer than two
        returns, when they are constant, or when a session opens with equity not above 0.

    References
    ----------
    Sharpe (1994), "The Sharpe Ratio", Journal of Portfolio Management 21, with a benchmark of zero.
    """
    returns = solvent_returns(starting, ending)
    return (
        returns if isinstance(returns, Unavailable) else annualised_sharpe(measured(returns), "daily returns")
    )


def excess_sharpe(starting: Floats, ending: Floats, risk_free: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns in excess of the session's risk-free rate, annualised.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null.
    risk_free : Floats, shape (n_sessions,)
        Risk-free return of each session, a fraction; NaN stands for null.

    Returns
    -------
    float or Unavailable
        As :func:`information_ratio`. A session without a rate is ignored; withheld when no session has one.

    References
    ----------
    Sharpe (1994), "The Sharpe Ratio", Journal of Portfolio Management 21.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return returns
    if risk_free.size and np.isnan(risk_free).all():
        return NO_RATE
    return annualised_sharpe(measured(returns - risk_free), "daily excess returns")


def pnl(starting: Floats, ending: Floats) -> float | Unavailable:
    """Profit of the window.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null.

    Returns
    -------
    float or Unavailable
        Last closing minus first opening equity, in equity units; withheld without a session, or if either is null.
    """
    if starting.size == 0:
        return too_few(0, 1, "sessions")
    profit = float(ending[-1] - starting[0])
    if math.isnan(profit):
        return Unavailable("insufficient_data", "the equity at one end of the window is unknown")
    return profit


def max_drawdown(starting: Floats, ending: Floats) -> float | Unavailable:
    """Maximum drawdown of closing equity from the running peak, in equity units.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session, both of which count towards the peak; NaN stands for null.

    Returns
    -------
    float or Unavailable
        At least 0; 0 when equity never closed below its peak. Withheld without a session.
    """
    deepest = highest(equity_curve(starting, ending).drawdown)
    return too_few(0, 1, "sessions") if deepest is None else deepest


def max_drawdown_pct(starting: Floats, ending: Floats) -> float | Unavailable:
    """Maximum drawdown of closing equity from the running peak, in percentage points of the peak.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session, both of which count towards the peak; NaN stands for null.

    Returns
    -------
    float or Unavailable
        At least 0; not necessarily on the session of :func:`max_drawdown`. Withheld without a session whose peak is
        above 0.
    """
    deepest = highest(equity_curve(starting, ending).drawdown_pct)
    return too_few(0, 1, "sessions with a positive peak") if deepest is None else deepest


def turnover(daily_turnover: Floats) -> float | Unavailable:
    """Mean one-sided turnover of a session, annualised.

    Parameters
    ----------
    daily_turnover : Floats, shape (n_sessions,)
        One-sided turnover, a fraction of equity; 0 on a session without a trade, which counts. NaN is ignored.

    Returns
    -------
    float or Unavailable
        Mean x 252, a multiple of equity per year; withheld without a session.
    """
    mean = mean_or_null(daily_turnover)
    return too_few(0, 1, "sessions") if mean is None else mean * SESSIONS_PER_YEAR


FROM_LEDGER: Final[Mapping[str, Callable[[Ledger], Figure]]] = {
    "information_ratio": lambda rows: information_ratio(rows.starting, rows.ending),
    "excess_sharpe": lambda rows: excess_sharpe(rows.starting, rows.ending, rows.risk_free),
    "pnl": lambda rows: pnl(rows.starting, rows.ending),
    "max_drawdown": lambda rows: max_drawdown(rows.starting, rows.ending),
    "max_drawdown_pct": lambda rows: max_drawdown_pct(rows.starting, rows.ending),
    "turnover": lambda rows: turnover(rows.turnover),
}
"""Statistics of the ledger by name."""


def annualised_sharpe(returns: Floats, what: str) -> float | Unavailable:
    """Mean over sample deviation (ddof 1) times the square root of 252.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns, fractions, without NaN.
    what : str
        Name of the returns in the plural, for the reason.

    Returns
    -------
    float or Unavailable
        Withheld with fewer than two returns or when they are constant.

    References
    ----------
    Sharpe (1994), "The Sharpe Ratio", Journal of Portfolio Management 21.

    Examples
    --------
    >>> round(annualised_sharpe(np.array([0.01, -0.005, 0.004]), "daily returns"), 4)
    6.3079
    """
    reason = unmeasurable(returns, 2, what)
    return reason or float(returns.mean() / returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)


def book_weights(returns: Matrix, weights: str | Sequence[float]) -> Floats | Unavailable:
    """Return the weight of each alpha in a book.

    Parameters
    ----------
    returns : Matrix, shape (n_alphas, n_sessions)
        Daily returns, fractions, without NaN; at least one alpha.
    weights : str, or sequence of float of length n_alphas
        ``equal`` or ``volatility`` (inverse to the sample deviation, ddof 1, of `returns`); or numbers, not negative and not
        all 0.

    Returns
    -------
    Floats, shape (n_alphas,), or Unavailable
        Fractions that sum to 1. With ``volatility``, ``insufficient_data`` with fewer than two sessions and
        ``nonpositive_variance`` when an alpha is constant.
    """
    alphas, sessions = returns.shape
    if not isinstance(weights, str):
        shares = np.array(weights, dtype=np.float64)
    elif weights == "equal":
        shares = np.ones(alphas)
    elif sessions < 2:
        return too_few(sessions, 2, "common sessions")
    elif constant_rows(returns).any():
        return no_variation("returns of one of the alphas")
    else:
        shares = 1.0 / returns.std(axis=1, ddof=1)
    normalised: Floats = shares / shares.sum()
    return normalised


def book_figures(returns: Floats) -> dict[str, Figure]:
    """Compute the figures of a series of daily returns.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Fractions in order of date, without NaN; may be empty.

    Returns
    -------
    dict of str to float or Unavailable
        Each of :data:`FIGURES`: ``sharpe``, annualised, no risk-free rate subtracted; ``annualised_return`` and ``volatility``,
        fractions; and ``max_drawdown_pct`` of the compounded returns, in percentage points of their running peak. Each is
        withheld under the conditions of its own function.
    """
    n = int(returns.size)
    ending: Floats = np.cumprod(1.0 + returns, dtype=np.float64)
    starting: Floats = np.concatenate([[1.0], ending[:-1]]) if n else ending
    return {
        "sharpe": annualised_sharpe(returns, "daily returns"),
        "annualised_return": annualised_return(returns),
        "volatility": annualised_volatility(returns),
        "max_drawdown_pct": max_drawdown_pct(starting, ending),
    }


def annualised_return(returns: Floats) -> Figure:
    """Compounded growth to the power of 252 / sessions, minus one.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Daily returns, fractions in order of date, without NaN.

    Returns
    -------
    float or Unavailable
        Fraction per year; withheld without a session, and if the compounded growth falls to 0 or below.

    Examples
    --------
    >>> round(annualised_return(np.full(504, 0.0002)), 6)
    0.051686
    """
    growth: Floats = np.cumprod(1.0 + returns, dtype=np.float64)
    if growth.size == 0:
        return too_few(0, 1, "daily returns")
    if not (math.isfinite(growth[-1]) and (growth > 0).all()):
        return Unavailable("insufficient_data", "the book loses all its equity within the window")
    return float(growth[-1] ** (SESSIONS_PER_YEAR / growth.size)) - 1.0


def annualised_volatility(returns: Floats) -> Figure:
    """Sample deviation (ddof 1) of the daily returns, annualised with the square root of 252.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Daily returns, fractions, without NaN.

    Returns
    -------
    float or Unavailable
        Fraction; 0 when the returns are constant. Withheld with fewer than two returns.
    """
    if returns.size < 2:
        return too_few(int(returns.size), 2, "daily returns")
    return 0.0 if is_constant(returns) else float(returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)


def difference(with_it: Mapping[str, Figure], without: Mapping[str, Figure]) -> dict[str, Figure]:
    """Return the differences between the figures of a book with and without an alpha.

    Parameters
    ----------
    with_it, without : Mapping[str, float or Unavailable]
        Figures of the book with and without the alpha.

    Returns
    -------
    dict of str to float or Unavailable
        Name of a figure -> difference, in the unit of the figure; withheld if either figure is, with its reason.
    """
    differences: dict[str, Figure] = {}
    for name, own in with_it.items():
        other = without[name]
        if isinstance(own, Unavailable):
            differences[name] = own
        else:
            differences[name] = other if isinstance(other, Unavailable) else own - other
    return differences
