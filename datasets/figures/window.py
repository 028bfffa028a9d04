"""The window of a query, and the tenure of a run inside it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

import numpy as np

from datasets.figures.equity import day
from datasets.figures.series import DAYS_PER_YEAR, Dates, Flags
from datasets.figures.unavailable import Unavailable


@dataclass(frozen=True, slots=True)
class Window:
    """Inclusive days; None for an open end."""

    first: dt.date | None = None
    last: dt.date | None = None

    @property
    def whole(self) -> bool:
        """Whether both ends are open, so that it contains every row."""
        return self.first is None and self.last is None

    def rows(self, dates: Dates) -> slice:
        """Return the slice of ascending days inside the window."""
        first = 0 if self.first is None else int(np.searchsorted(dates, np.datetime64(self.first), "left"))
        last = (
            dates.size
            if self.last is None
            else int(np.searchsorted(dates, np.datetime64(self.last), "right"))
        )
        return slice(first, last)

    def touches(self, other: Window) -> bool:
        """Whether a bounded span and this window overlap."""
        assert other.first is not None
        assert other.last is not None
        starts = self.last is None or other.first <= self.last
        return starts and (self.first is None or other.last >= self.first)

    def cuts(self, other: Window) -> bool:
        """Whether a bounded span has a day outside this window."""
        assert other.first is not None
        assert other.last is not None
        before = self.first is not None and self.first > other.first
        return before or (self.last is not None and self.last < other.last)

    def within(self, other: Window) -> Window:
        """Return the intersection of both windows, which may be empty."""
        firsts = [day for day in (self.first, other.first) if day is not None]
        lasts = [day for day in (self.last, other.last) if day is not None]
        return Window(max(firsts, default=None), min(lasts, default=None))


WHOLE_RUN: Final = Window()


MIN_CALENDAR_DAYS: Final = 90
"""Minimum days between first and last session for `sessions_per_year`."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """Tenure of a record.

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
    """Compute the tenure from the rebalance dates.

    Parameters
    ----------
    dates : Dates, shape (n_weeks,)
        Rebalance days of the window, ascending.
    traded : Flags, shape (n_weeks,)
        Whether each week's status is ``traded``.

    Returns
    -------
    Tenure or None
        ``None`` when the window holds no rebalance.
    """
    return _span(dates, int(dates.size), int(traded.sum()))


def session_tenure(dates: Dates) -> Tenure | None:
    """Compute the tenure from the ledger's sessions, for a run that sealed no rebalances.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Session days of the window, ascending.

    Returns
    -------
    Tenure or None
        With the week counts ``None``; ``None`` when the window holds no session.
    """
    return _span(dates, None, None)


def sessions_per_year(dates: Dates) -> float | Unavailable:
    """Return the number of sessions per year of a calendar.

    Daily series are annualised by :data:`datasets.figures.series.SESSIONS_PER_YEAR`, whatever this is; exchanges
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
