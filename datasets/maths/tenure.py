"""How long a run lasted inside a window, and how often it had a session."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from datasets.maths.conventions import DAYS_PER_YEAR
from datasets.maths.equity import day
from datasets.maths.series import Dates, Flags
from datasets.maths.unavailable import Unavailable

MIN_CALENDAR_DAYS: Final = 90
"""Days from the first session to the last below which their number in a year is not told: a week of five has 5 in 4 days."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """Length of the record.

    Attributes
    ----------
    weeks
        Rebalance dates in the window, whatever their status; ``None`` when only the ledger is known.
    traded_weeks
        Those with status ``traded``; ``None`` when only the ledger is known.
    first_rebalance, last_rebalance
        First and last day.
    calendar_days
        Days from the first to the last: 0 when there is one.
    years
        ``calendar_days`` over 365.25.
    """

    weeks: int | None
    traded_weeks: int | None
    first_rebalance: dt.date
    last_rebalance: dt.date
    calendar_days: int
    years: float


def rebalance_tenure(dates: Dates, traded: Flags) -> Tenure | None:
    """Measure the record by its rebalance dates.

    Parameters
    ----------
    dates
        Rebalance days of the window, ascending.
    traded
        Whether each week's status is ``traded``.

    Returns
    -------
    Tenure or None
        ``None`` when the window holds no rebalance.
    """
    return _span(dates, int(dates.size), int(traded.sum()))


def session_tenure(dates: Dates) -> Tenure | None:
    """Measure the record by the sessions of its ledger, for a run that sealed no rebalances.

    Parameters
    ----------
    dates
        Session days of the window, ascending.

    Returns
    -------
    Tenure or None
        With the week counts ``None``; ``None`` when the window holds no session.
    """
    return _span(dates, None, None)


def sessions_per_year(dates: Dates) -> float | Unavailable:
    """Return how many sessions a calendar holds in a year.

    Daily series are annualised by :data:`datasets.maths.conventions.SESSIONS_PER_YEAR`, whatever this is; exchanges
    have 250 to 253, a market that never closes 365, a ledger of weekly closes 52.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Session days, ascending.

    Returns
    -------
    float or Unavailable
        Sessions after the first, over the calendar days from the first to the last, times 365.25.
        ``insufficient_data`` where these are fewer than 90.
    """
    days = (day(dates, -1) - day(dates, 0)).days if dates.size else 0
    if days < MIN_CALENDAR_DAYS:
        return Unavailable(
            "insufficient_data",
            f"the sessions span {days} days; how many a year has takes at least {MIN_CALENDAR_DAYS}",
        )
    return float((dates.size - 1) / days * DAYS_PER_YEAR)


def _span(dates: Dates, weeks: int | None, traded_weeks: int | None) -> Tenure | None:
    if dates.size == 0:
        return None
    first, last = day(dates, 0), day(dates, -1)
    days = (last - first).days
    return Tenure(
        weeks=weeks,
        traded_weeks=traded_weeks,
        first_rebalance=first,
        last_rebalance=last,
        calendar_days=days,
        years=days / DAYS_PER_YEAR,
    )
