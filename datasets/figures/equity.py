"""Equity curve of a ledger over a window.

These functions see only the window: its first row is the base of the cumulative return and of the
running peak, so a curve of a sub-window is recomputed, never cut out of a longer one.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from datasets.figures.series import Dates, Floats, null_if_nan
from datasets.figures.unavailable import Unavailable, nonpositive_equity


@dataclass(frozen=True, slots=True)
class EquityCurve:
    """One value per session, in the given order.

    Attributes
    ----------
    period_return
        Ratio; null where the opening equity is null or not above 0.
    cumulative_return
        Ratio; compounded from the first row of the window. A session with an equity that is null is null in its own row
        and leaves the product of the rows after it unchanged; from a session on that opens with equity not above 0, no
        row of the window has one.
    peak_equity
        Equity units; highest opening or closing equity so far in the window.
    drawdown
        Equity units, at least 0; peak less closing equity.
    drawdown_pct
        Percentage points of the peak; null where the peak is not above 0. Above 100 when equity is negative.
    """

    period_return: Floats
    cumulative_return: Floats
    peak_equity: Floats
    drawdown: Floats
    drawdown_pct: Floats


@dataclass(frozen=True, slots=True)
class EquitySummary:
    """Summary of a window; every field but ``sessions`` is ``None`` for an empty one.

    Attributes
    ----------
    first_date, last_date
        Days of the first and last session.
    sessions
        Rows in the window.
    starting_equity, ending_equity
        Opening equity of the first session and closing equity of the last, in equity units.
    peak_equity
        Highest equity of the window, openings included.
    total_return
        Ratio; ``ending_equity / starting_equity - 1``, null where the opening equity is null or not above 0.
    cumulative_return_pct
        Percentage points; the last compounded return that is known. Null for a window in which a session opens with
        equity not above 0.
    max_drawdown, max_drawdown_pct
        Deepest drawdown, in equity units and in percentage points of the peak. The two need not fall on the same
        session: the first is deepest in money, the second relative to the peak of its day.
    max_drawdown_date
        First session on which ``max_drawdown_pct`` is reached.
    """

    first_date: dt.date | None = None
    last_date: dt.date | None = None
    sessions: int = 0
    starting_equity: float | None = None
    ending_equity: float | None = None
    peak_equity: float | None = None
    total_return: float | None = None
    cumulative_return_pct: float | None = None
    max_drawdown: float | None = None
    max_drawdown_pct: float | None = None
    max_drawdown_date: dt.date | None = None


def period_returns(starting: Floats, ending: Floats) -> Floats:
    """Return of each session on its opening equity.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity, equally long.

    Returns
    -------
    Floats, shape (n_sessions,)
        ``(ending - starting) / starting``; NaN where ``starting`` is null or not above 0, or ``ending`` is null.
    """
    returns = np.full(starting.shape, np.nan)
    np.divide(ending - starting, starting, out=returns, where=starting > 0)
    return returns


def solvent_returns(starting: Floats, ending: Floats) -> Floats | Unavailable:
    """Return of each session, if all sessions open with positive equity.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session, equally long.

    Returns
    -------
    Floats, shape (n_sessions,), or Unavailable
        As :func:`period_returns`; ``nonpositive_equity`` when a session opens with equity not above 0: the sessions
        with a return are then not the window, and a ratio of them alone would leave out what the book lost in debt.
    """
    if (starting <= 0).any():
        return nonpositive_equity(int((starting <= 0).sum()), int(starting.size))
    return period_returns(starting, ending)


def equity_curve(starting: Floats, ending: Floats) -> EquityCurve:
    """Compound a ledger from the first session of the window.

    Parameters
    ----------
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity by session, equally long; may be empty.

    Returns
    -------
    EquityCurve
        As long as the input.
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


def summarised(dates: Dates, starting: Floats, ending: Floats, curve: EquityCurve) -> EquitySummary:
    """Summarise a window from its curve.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Day of each session, ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity of the window.
    curve : EquityCurve
        What :func:`equity_curve` makes of it.

    Returns
    -------
    EquitySummary
        With ``sessions`` 0 and every other field ``None`` when the window is empty.
    """
    if dates.size == 0:
        return EquitySummary()
    return EquitySummary(
        first_date=day(dates, 0),
        last_date=day(dates, -1),
        sessions=int(dates.size),
        starting_equity=null_if_nan(starting[0]),
        ending_equity=null_if_nan(ending[-1]),
        peak_equity=null_if_nan(curve.peak_equity[-1]),
        total_return=null_if_nan(period_returns(starting[:1], ending[-1:])[0]),
        cumulative_return_pct=None if (starting <= 0).any() else last_known_pct(curve.cumulative_return),
        max_drawdown=highest(curve.drawdown),
        max_drawdown_pct=highest(curve.drawdown_pct),
        max_drawdown_date=day_of_highest(dates, curve.drawdown_pct),
    )


def day(dates: Dates, position: int) -> dt.date:
    """Return one of the days as a calendar date.

    Parameters
    ----------
    dates : Dates, shape (n_days,)
        Days in any unit, at least one.
    position : int
        Index, negative from the end.

    Returns
    -------
    datetime.date
        Without a time of day.
    """
    calendar_day: dt.date = dates[position].astype("datetime64[D]").item()
    return calendar_day


def highest(series: Floats) -> float | None:
    """Return the largest observation.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        Any series, possibly empty.

    Returns
    -------
    float or None
        ``None`` without observations.
    """
    # `fmax` prefers observations to the initial NaN.
    return null_if_nan(np.fmax.reduce(series, initial=np.nan))


def day_of_highest(dates: Dates, series: Floats) -> dt.date | None:
    """Return the first day of the largest observation.

    Parameters
    ----------
    dates : Dates, shape (n_observations,)
        Days, as long as ``series``.
    series : Floats, shape (n_observations,)
        Any series, possibly empty.

    Returns
    -------
    datetime.date or None
        ``None`` without observations.
    """
    most = highest(series)
    return None if most is None else day(dates, int((series == most).argmax()))


def last_known_pct(cumulative_return: Floats) -> float | None:
    """Return the last known compounded return in percentage points.

    Parameters
    ----------
    cumulative_return : Floats, shape (n_sessions,)
        Ratios; a null row leaves the running product unchanged, so the row before it still holds.

    Returns
    -------
    float or None
        ``None`` when no row is measured.
    """
    (known,) = np.nonzero(~np.isnan(cumulative_return))
    return float(cumulative_return[known[-1]]) * 100.0 if known.size else None
