"""An equal-weight book of several alphas, and what one more of them adds to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from datasets.maths import ratios
from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.series import Floats, is_constant
from datasets.maths.unavailable import Unavailable, no_variation, too_few

Figure = float | Unavailable


@dataclass(frozen=True, slots=True)
class BookFigures:
    """Figures of a series of daily returns.

    Attributes
    ----------
    sharpe
        Mean over sample deviation, annualised with the square root of 252; no risk-free rate is taken off.
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
    returns
        Of shape (alphas, sessions), without NaN; at least one alpha.

    Returns
    -------
    Floats
        The mean over the alphas, by session.
    """
    mean: Floats = returns.mean(axis=0)
    return mean


def book_figures(returns: Floats) -> BookFigures:
    """Measure a series of daily returns.

    Parameters
    ----------
    returns
        In order of date, without NaN; may be empty.

    Returns
    -------
    BookFigures
        A ratio is withheld with fewer than two returns or when they do not vary, a compounded figure without any, and the
        annualised return when nothing is left of the book.
    """
    n = int(returns.size)
    ending: Floats = np.cumprod(1.0 + returns, dtype=np.float64)
    starting: Floats = np.concatenate([[1.0], ending[:-1]]) if n else ending
    return BookFigures(
        sharpe=_sharpe(returns),
        annualised_return=_annualised_return(ending),
        volatility=too_few(n, 2, "daily returns")
        if n < 2
        else float(returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR),
        max_drawdown_pct=ratios.max_drawdown_pct(starting, ending),
    )


def _sharpe(returns: Floats) -> Figure:
    if returns.size < 2:
        return too_few(int(returns.size), 2, "daily returns")
    if is_constant(returns):
        return no_variation("daily returns")
    return float(returns.mean() / returns.std(ddof=1)) * math.sqrt(SESSIONS_PER_YEAR)


def _annualised_return(ending: Floats) -> Figure:
    if ending.size == 0:
        return too_few(0, 1, "daily returns")
    if not (math.isfinite(ending[-1]) and (ending > 0).all()):
        return Unavailable("insufficient_data", "the book loses all it has within the window")
    return float(ending[-1] ** (SESSIONS_PER_YEAR / ending.size)) - 1.0


def difference(with_it: BookFigures, without: BookFigures) -> dict[str, Figure]:
    """Return each figure with the alpha less the same without it; withheld when either is, with that one's reason."""
    found: dict[str, Figure] = {}
    for name in FIGURES:
        one, other = getattr(with_it, name), getattr(without, name)
        withheld = next((x for x in (one, other) if isinstance(x, Unavailable)), None)
        found[name] = withheld if withheld is not None else one - other
    return found
