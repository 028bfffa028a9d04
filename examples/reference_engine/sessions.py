"""The calendar of the simulated exchange: real weekdays, three fixed holidays, New York hours."""

from __future__ import annotations

import datetime as dt

import numpy as np
import numpy.typing as npt
import polars as pl

Days = npt.NDArray[np.datetime64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_EXCHANGE_ZONE = "America/New_York"
_OPENING = dt.timedelta(hours=9, minutes=30)
_CLOSING = dt.timedelta(hours=16)
_HOLIDAYS = ((1, 1), (7, 4), (12, 25))


def trading_sessions(first: dt.date, count: int) -> Days:
    """Return the first `count` sessions on or after a day.

    A session is a weekday other than 1 January, 4 July and 25 December, which is enough for weeks that end on a
    Thursday and weeks of four sessions.

    Parameters
    ----------
    first
        Earliest possible session.
    count
        Number of sessions; zero gives an empty array.

    Returns
    -------
    numpy.ndarray
        ``datetime64[D]``, shape (count,), ascending.
    """
    span = np.datetime64(first, "D") + np.arange(int(count * 7 / 5) + 30)
    holidays = [
        np.datetime64(dt.date(year, month, day), "D")
        for year in range(first.year, span[-1].item().year + 1)
        for month, day in _HOLIDAYS
    ]
    return span[np.is_busday(span, holidays=holidays)][:count]


def week_ends(sessions: Days) -> Indices:
    """Return the positions of the last session of every complete week.

    Weeks run Monday to Sunday. The last week of the array is left out, because a later session of
    the same week may follow the array's end.

    Parameters
    ----------
    sessions
        Ascending days.

    Returns
    -------
    numpy.ndarray
        Positions into `sessions`, ascending; empty when the array spans at most one week.
    """
    # Day 0 of the epoch was a Thursday: shifting by three makes the integer division start on Mondays.
    week = (sessions.astype("datetime64[D]").astype(np.int64) + 3) // 7
    return np.flatnonzero(week[1:] != week[:-1])


def opening_instants(days: Days) -> pl.Series:
    """Return the UTC instant of each day's opening auction, daylight saving included."""
    return _instants(days, _OPENING)


def closing_instants(days: Days) -> pl.Series:
    """Return the UTC instant of each day's official close, daylight saving included."""
    return _instants(days, _CLOSING)


def _instants(days: Days, clock: dt.timedelta) -> pl.Series:
    local = pl.Series(days.astype("datetime64[us]"), dtype=pl.Datetime("us")) + clock
    return local.dt.replace_time_zone(_EXCHANGE_ZONE).dt.convert_time_zone("UTC")
