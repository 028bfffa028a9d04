"""Figures of a book's returns over a window, from ledger columns or a weighted mix of alphas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from datasets.figures.correlation import constant_rows
from datasets.figures.equity import equity_curve, highest, solvent_returns
from datasets.figures.series import SESSIONS_PER_YEAR, Floats, is_constant, mean_or_null, measured
from datasets.figures.unavailable import Unavailable, no_variation, too_few


def information_ratio(starting: Floats, ending: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns, annualised.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
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
    return (
        returns if isinstance(returns, Unavailable) else annualised_sharpe(measured(returns), "daily returns")
    )


def excess_sharpe(starting: Floats, ending: Floats, risk_free: Floats) -> float | Unavailable:
    """Mean over sample deviation of the daily returns in excess of the session's risk-free rate, annualised.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session.
    risk_free : Floats, shape (n_sessions,)
        Risk-free return of each session, a ratio.

    Returns
    -------
    float or Unavailable
        As :func:`information_ratio`; a session without a rate is left out, and the figure withheld where none has one.
    """
    returns = solvent_returns(starting, ending)
    if isinstance(returns, Unavailable):
        return returns
    if risk_free.size and np.isnan(risk_free).all():
        return Unavailable("insufficient_data", "no rate at which cash earns is stated")
    return annualised_sharpe(measured(returns - risk_free), "daily excess returns")


def pnl(starting: Floats, ending: Floats) -> float | Unavailable:
    """Profit of the window in equity units.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
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
    """Maximum drawdown of closing equity from the running peak, in equity units.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; openings count towards the peak.

    Returns
    -------
    float or Unavailable
        At least 0; 0 is a measurement (equity never closed below its peak). Withheld without a session.
    """
    deepest = highest(equity_curve(starting, ending).drawdown)
    return too_few(0, 1, "sessions") if deepest is None else deepest


def max_drawdown_pct(starting: Floats, ending: Floats) -> float | Unavailable:
    """Maximum drawdown of closing equity from the running peak, in percentage points of the peak.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
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
    daily_turnover : Floats, shape (n_sessions,)
        Fraction of equity traded in each session; 0 on a session without a trade, which counts.

    Returns
    -------
    float or Unavailable
        Per year (252 sessions); withheld without a session.
    """
    mean = mean_or_null(daily_turnover)
    return too_few(0, 1, "sessions") if mean is None else mean * SESSIONS_PER_YEAR


def annualised_sharpe(returns: Floats, what: str) -> float | Unavailable:
    """Mean over sample deviation (ddof 1) times the square root of 252.

    Parameters
    ----------
    returns : Floats, shape (n_observations,)
        Daily returns without NaN.
    what : str
        They in the plural, as the reason names them.

    Returns
    -------
    float or Unavailable
        Withheld with fewer than two returns or when they do not vary.
    """
    if returns.size < 2:
        return too_few(int(returns.size), 2, what)
    if is_constant(returns):
        return no_variation(what)
    return float(returns.mean() / returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)


Figure = float | Unavailable


@dataclass(frozen=True, slots=True)
class BookFigures:
    """Figures of a series of daily returns.

    Attributes
    ----------
    sharpe
        Mean over sample deviation, annualised with the square root of 252; no risk-free rate is subtracted.
    annualised_return
        Compounded return to the power of 252 over the sessions, less one; a ratio.
    volatility
        Sample deviation, annualised with the square root of 252; a ratio.
    max_drawdown_pct
        Deepest fall of the compounded returns below their peak so far, in percentage points of that peak, at least 0.
    """

    sharpe: Figure
    annualised_return: Figure
    volatility: Figure
    max_drawdown_pct: Figure


FIGURES = tuple(field.name for field in fields(BookFigures))


def equal_weight(returns: Floats) -> Floats:
    """Return of a book that holds several alphas in equal parts and is rebalanced each session.

    Parameters
    ----------
    returns : Floats, shape (n_alphas, n_sessions)
        Without NaN; at least one alpha.

    Returns
    -------
    Floats, shape (n_sessions,)
        The mean over the alphas, by session.
    """
    mean: Floats = returns.mean(axis=0)
    return mean


def book_weights(returns: Floats, weighting: str, given: Sequence[float] = ()) -> Floats | Unavailable:
    """Return the weight of each alpha in a book.

    Parameters
    ----------
    returns : Floats, shape (n_alphas, n_sessions)
        Without NaN; at least one alpha.
    weighting : str
        ``equal``: the same money; ``volatility``: money over the sample deviation (ddof 1) of these very returns; ``given``.
    given : sequence of float, length n_alphas
        Not negative and not all 0; only with ``given``.

    Returns
    -------
    Floats, shape (n_alphas,), or Unavailable
        Adding up to 1; ``insufficient_data`` with fewer than two sessions and ``nonpositive_variance`` when an alpha does not
        vary, only with ``volatility``.
    """
    alphas, sessions = returns.shape
    if weighting == "given":
        weights = np.array(given, dtype=np.float64)
    elif weighting == "equal":
        weights = np.ones(alphas)
    elif sessions < 2:
        return too_few(sessions, 2, "common sessions")
    elif constant_rows(returns).any():
        return no_variation("returns of one of the alphas")
    else:
        weights = 1.0 / returns.std(axis=1, ddof=1)
    share: Floats = weights / weights.sum()
    return share


def book_figures(returns: Floats) -> BookFigures:
    """Compute the figures of a series of daily returns.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        In order of date, without NaN; may be empty.

    Returns
    -------
    BookFigures
        A ratio is withheld with fewer than two returns or when they do not vary, a compounded figure without any, and the
        annualised return if the book lost all its equity.
    """
    n = int(returns.size)
    ending: Floats = np.cumprod(1.0 + returns, dtype=np.float64)
    starting: Floats = np.concatenate([[1.0], ending[:-1]]) if n else ending
    return BookFigures(
        sharpe=annualised_sharpe(returns, "daily returns"),
        annualised_return=annualised_return(returns),
        volatility=annualised_volatility(returns),
        max_drawdown_pct=max_drawdown_pct(starting, ending),
    )


def annualised_return(returns: Floats) -> Figure:
    """Compounded return to the power of 252 over the sessions, less one.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        In order of date, without NaN.

    Returns
    -------
    float or Unavailable
        Ratio; withheld without a session, and if the book lost all its equity.
    """
    growth: Floats = np.cumprod(1.0 + returns, dtype=np.float64)
    if growth.size == 0:
        return too_few(0, 1, "daily returns")
    if not (math.isfinite(growth[-1]) and (growth > 0).all()):
        return Unavailable("insufficient_data", "the book loses all it has within the window")
    return float(growth[-1] ** (SESSIONS_PER_YEAR / growth.size)) - 1.0


def annualised_volatility(returns: Floats) -> Figure:
    """Sample deviation (ddof 1) of the daily returns, annualised with the square root of 252.

    Parameters
    ----------
    returns : Floats, shape (n_sessions,)
        Without NaN.

    Returns
    -------
    float or Unavailable
        Ratio; 0 when they are all the same, which is a measurement. Withheld with fewer than two returns.
    """
    if returns.size < 2:
        return too_few(int(returns.size), 2, "daily returns")
    return 0.0 if is_constant(returns) else float(returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)


def difference(with_it: BookFigures, without: BookFigures) -> dict[str, Figure]:
    """Return the figures of a book with an alpha minus those without it.

    Parameters
    ----------
    with_it, without : BookFigures
        In the units of each figure.

    Returns
    -------
    dict of str to float or Unavailable
        By name of the figure; withheld when either is, with that one's reason.
    """
    differences: dict[str, Figure] = {}
    for name in FIGURES:
        one, other = getattr(with_it, name), getattr(without, name)
        withheld = next((x for x in (one, other) if isinstance(x, Unavailable)), None)
        differences[name] = withheld if withheld is not None else one - other
    return differences
