"""Equity curve of a ledger over a window.

These functions see only the window. Its first row is the base of the cumulative return and of the running peak, so the
curve of a sub-window must be recomputed; it is not a slice of a longer curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.series import Dates, Floats, day, highest, measured, null_if_nan
from datasets.figures.unavailable import Unavailable, nonpositive_equity
from schemas.objects.summaries import EQUITY_SUMMARY


@dataclass(frozen=True, slots=True)
class EquityCurve:
    """Returns and drawdowns by session; NaN stands for null.

    Attributes
    ----------
    period_return : Floats, shape (n_sessions,)
        Fraction of opening equity; NaN where that is null or not above 0, or closing equity is null.
    cumulative_return : Floats, shape (n_sessions,)
        Fraction, compounded from the first row of the window. A session without a return is NaN in its own row and does not
        change the product of later rows. Once a session opens with equity not above 0, it and all later rows are NaN.
    peak_equity : Floats, shape (n_sessions,)
        Highest opening or closing equity so far in the window, in equity units.
    drawdown : Floats, shape (n_sessions,)
        Peak minus closing equity, in equity units, at least 0.
    drawdown_pct : Floats, shape (n_sessions,)
        Drawdown in percentage points of the peak; NaN where the peak is not above 0. Above 100 when equity is negative.
    """

    period_return: Floats
    cumulative_return: Floats
    peak_equity: Floats
    drawdown: Floats
    drawdown_pct: Floats


NO_SESSIONS: Final[Mapping[str, Any]] = {
    **{field.name: None for field in EQUITY_SUMMARY.fields if field.name != "book"},
    "sessions": 0,
}
"""Summary of a window without sessions."""


def period_returns(starting: Floats, ending: Floats) -> Floats:
    """Return of each session on its opening equity.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity; NaN stands for null.

    Returns
    -------
    Floats, shape (n_sessions,)
        ``(ending - starting) / starting``, a fraction; NaN where `starting` is null or not above 0, or `ending` is null.

    Examples
    --------
    >>> period_returns(np.array([100.0, 110.0, 0.0]), np.array([110.0, np.nan, 5.0]))
    array([0.1, nan, nan])
    """
    returns = np.full(starting.shape, np.nan)
    np.divide(ending - starting, starting, out=returns, where=starting > 0)
    return returns


def solvent_returns(starting: Floats, ending: Floats) -> Floats | Unavailable:
    """Return of each session on its opening equity; withheld for all sessions if one opens in debt.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity; NaN stands for null.

    Returns
    -------
    Floats, shape (n_sessions,), or Unavailable
        As :func:`period_returns`; ``nonpositive_equity`` if a session opens with equity not above 0, because figures of
        the remaining sessions would omit the losses of the book while in debt.
    """
    if (starting <= 0).any():
        return nonpositive_equity(int((starting <= 0).sum()), int(starting.size))
    return period_returns(starting, ending)


def equity_curve(starting: Floats, ending: Floats) -> EquityCurve:
    """Compound a ledger from the first session of the window.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null. May be empty.

    Returns
    -------
    EquityCurve
        One row per session.

    Examples
    --------
    >>> curve = equity_curve(np.array([100.0, 120.0]), np.array([120.0, 90.0]))
    >>> curve.cumulative_return
    array([ 0.2, -0.1])
    >>> curve.drawdown_pct
    array([ 0., 25.])
    """
    returns = period_returns(starting, ending)
    unknown = np.isnan(returns)
    # After a session with negative equity the product is undefined; an unknown session leaves it unchanged.
    growth = np.where(unknown & ~(starting <= 0), 1.0, 1.0 + returns)
    cumulative = np.cumprod(growth, dtype=np.float64) - 1.0
    np.copyto(cumulative, np.nan, where=unknown)
    peak = np.fmax.accumulate(np.fmax(starting, ending))
    drawdown = peak - ending
    drawdown_pct = np.full(peak.shape, np.nan)
    np.divide(drawdown * 100.0, peak, out=drawdown_pct, where=peak > 0)
    return EquityCurve(returns, cumulative, peak, drawdown, drawdown_pct)


def equity_summary(dates: Dates, starting: Floats, ending: Floats, curve: EquityCurve) -> dict[str, Any]:
    """Summarise a window from its curve.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Day of each session, ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session; NaN stands for null.
    curve : EquityCurve
        Result of :func:`equity_curve` for these sessions.

    Returns
    -------
    dict
        The members of :data:`schemas.objects.summaries.EQUITY_SUMMARY` except the book: days as dates, None for null;
        :data:`NO_SESSIONS` for an empty window. The deepest drawdowns in equity units and in percentage points may fall on
        different sessions, because the second is relative to the peak at the time.
    """
    if dates.size == 0:
        return dict(NO_SESSIONS)
    compounded = measured(curve.cumulative_return)
    known = compounded.size > 0 and not (starting <= 0).any()
    deepest_pct = highest(curve.drawdown_pct)
    return {
        "first_date": day(dates, 0),
        "last_date": day(dates, -1),
        "sessions": int(dates.size),
        "starting_equity": null_if_nan(starting[0]),
        "ending_equity": null_if_nan(ending[-1]),
        "peak_equity": null_if_nan(curve.peak_equity[-1]),
        "total_return": null_if_nan(period_returns(starting[:1], ending[-1:])[0]),
        # A session without a return does not change the product, so the last known one still applies.
        "cumulative_return_pct": float(compounded[-1]) * 100.0 if known else None,
        "max_drawdown": highest(curve.drawdown),
        "max_drawdown_pct": deepest_pct,
        "max_drawdown_date": None
        if deepest_pct is None
        else day(dates, int((curve.drawdown_pct == deepest_pct).argmax())),
    }
