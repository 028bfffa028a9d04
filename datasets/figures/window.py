"""Date windows, and the session frequency of a calendar."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.series import DAYS_PER_YEAR, Dates
from datasets.figures.unavailable import Unavailable
from schemas.plurals import counted


@dataclass(frozen=True, slots=True)
class Window:
    """Range of calendar days, both ends included.

    Attributes
    ----------
    first, last : datetime.date or None
        First and last day; None for an open end. A window whose `first` is after its `last` is empty.
    """

    first: dt.date | None = None
    last: dt.date | None = None

    @property
    def full_history(self) -> bool:
        """Whether both ends are open, so that it contains every row."""
        return self.first is None and self.last is None

    def rows(self, dates: Dates) -> slice:
        """Return the rows inside the window.

        Parameters
        ----------
        dates : Dates, shape (n_rows,)
            Ascending; may repeat a day.

        Returns
        -------
        slice
            Contiguous rows; empty when none is inside.
        """
        first = 0 if self.first is None else int(np.searchsorted(dates, np.datetime64(self.first), "left"))
        last = (
            dates.size
            if self.last is None
            else int(np.searchsorted(dates, np.datetime64(self.last), "right"))
        )
        return slice(first, last)

    def touches(self, other: Window) -> bool:
        """Whether this window and a bounded one have a day in common.

        Parameters
        ----------
        other : Window
            Both of its ends are given.

        Returns
        -------
        bool
            True when they overlap.
        """
        assert other.first is not None
        assert other.last is not None
        starts = self.last is None or other.first <= self.last
        return starts and (self.first is None or other.last >= self.first)

    def cuts(self, other: Window) -> bool:
        """Whether a bounded window has a day outside this one.

        Parameters
        ----------
        other : Window
            Both of its ends are given.

        Returns
        -------
        bool
            False when `other` lies inside.
        """
        assert other.first is not None
        assert other.last is not None
        before = self.first is not None and self.first > other.first
        return before or (self.last is not None and self.last < other.last)

    def within(self, other: Window) -> Window:
        """Intersect two windows.

        Parameters
        ----------
        other : Window
            Any window.

        Returns
        -------
        Window
            The days in both; may be empty.
        """
        firsts = [day for day in (self.first, other.first) if day is not None]
        lasts = [day for day in (self.last, other.last) if day is not None]
        return Window(max(firsts, default=None), min(lasts, default=None))


FULL_HISTORY: Final = Window()


def day(dates: Dates, position: int) -> dt.date:
    """Return one entry of an array of days as a calendar date.

    Parameters
    ----------
    dates : Dates, shape (n_days,)
        Days in any unit of `datetime64`, at least one.
    position : int
        Index, negative from the end.

    Returns
    -------
    datetime.date
        The day, without a time.
    """
    calendar_day: dt.date = dates[position].astype("datetime64[D]").item()
    return calendar_day


MIN_CALENDAR_DAYS: Final = 90
"""Minimum days between first and last session for `sessions_per_year`."""


def sessions_per_year(dates: Dates) -> float | Unavailable:
    """Return the number of sessions per year of a calendar.

    It is shown for information: daily series are always annualised by :data:`datasets.figures.series.SESSIONS_PER_YEAR`.
    Exchanges have 250 to 253 sessions a year, a market that never closes 365, a ledger of weekly closes 52.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Session days, ascending.

    Returns
    -------
    float or Unavailable
        Sessions after the first, over the calendar days from the first to the last, times 365.25.
        ``insufficient_data`` when these are fewer than 90.

    Examples
    --------
    >>> weekly = np.arange("2020-01-03", "2021-01-01", 7, dtype="datetime64[D]")
    >>> round(sessions_per_year(weekly), 1)
    52.2
    """
    days = (day(dates, -1) - day(dates, 0)).days if dates.size else 0
    if days < MIN_CALENDAR_DAYS:
        return Unavailable(
            "insufficient_data",
            f"the sessions span {counted(days, 'day')}; how many a year has takes at least {MIN_CALENDAR_DAYS}",
        )
    return float((dates.size - 1) / days * DAYS_PER_YEAR)


def observed(dates: Dates) -> dict[str, Any]:
    """Return the number of observations and their first and last day, as they are served.

    Parameters
    ----------
    dates : Dates, shape (n_observations,)
        Ascending; may be empty.

    Returns
    -------
    dict
        ``observations``, and ``first_date`` and ``last_date`` as ISO 8601 text, None when there are none.
    """
    first, last = (day(dates, place).isoformat() if dates.size else None for place in (0, -1))
    return {"observations": int(dates.size), "first_date": first, "last_date": last}
