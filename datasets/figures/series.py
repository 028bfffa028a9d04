"""Dated series: types, NaN as null, windows of days, tests for constant series, and annualisation."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from datasets.figures.unavailable import Unavailable, no_variation, too_few

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Floats: TypeAlias = npt.NDArray[np.float64]
"""A one-dimensional series ordered by date; NaN stands for null."""

Matrix: TypeAlias = npt.NDArray[np.float64]
"""Two-dimensional float64 array."""

Flags: TypeAlias = npt.NDArray[np.bool_]
"""One flag per observation."""

Dates: TypeAlias = npt.NDArray[np.datetime64]
"""Calendar days, ascending; finer units are truncated to days."""

_Part = TypeVar("_Part", bound="DataclassInstance")

ROUNDING: Final = 16 * float(np.finfo(np.float64).eps)
"""Spread of a series that rounding alone can cause.

The series are returns, rank correlations and shares, that is differences and ratios of numbers near 1, so their
rounding error is a few machine epsilons however small the values are. A ledger that grows by exactly 0.1% a
session has returns that differ in the sixteenth decimal; their Sharpe ratio would be about 1e14 and would
measure the arithmetic, not the book.
"""


def cut(part: _Part, rows: slice | Flags, **others: Any) -> _Part:
    """Select rows of every series of a dataclass.

    Parameters
    ----------
    part : dataclass
        Dataclass whose fields are arrays with the same first axis.
    rows : slice or Flags, shape (n_rows,)
        Rows to keep.
    **others : Any
        New values of the other fields, by name.

    Returns
    -------
    dataclass
        A copy of `part` with the selected rows; slices are views.
    """
    names = (member.name for member in fields(part) if member.name not in others)
    return replace(part, **{name: getattr(part, name)[rows] for name in names}, **others)


def measured(series: Floats) -> Floats:
    """Return the observations that are not null, in order.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        May be empty; NaN stands for null.

    Returns
    -------
    Floats, shape (n_measured,)
        The values that are not NaN.
    """
    return series[~np.isnan(series)]


def is_constant(series: Floats) -> bool:
    """Whether a series without nulls is constant within rounding.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        Observations near 1 in scale (see :data:`ROUNDING`), without NaN.

    Returns
    -------
    bool
        True when the range is within :data:`ROUNDING` (relative to the largest magnitude where that exceeds 1),
        and for an empty series.
    """
    return series.size == 0 or bool(constant_rows(series[np.newaxis])[0])


def constant_rows(rows: Matrix) -> Flags:
    """Whether each row is constant within rounding, by :func:`is_constant`.

    Parameters
    ----------
    rows : Matrix, shape (n_series, n_observations)
        Observations near 1 in scale, at least one per series, without NaN.

    Returns
    -------
    Flags, shape (n_series,)
        True for constant rows.
    """
    low, high = np.minimum.reduce(rows, axis=1), np.maximum.reduce(rows, axis=1)
    constant: Flags = high - low <= ROUNDING * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    return constant


def unmeasurable(
    series: Floats, minimum: int, observations: str, values: str | None = None
) -> Unavailable | None:
    """Return the reason why the spread of a series cannot be measured: it is too short or constant.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        Without NaN.
    minimum : int
        Minimum observations for the measure.
    observations : str
        Name of the observations in the plural, such as ``sessions``.
    values : str or None
        Name of their values in the plural, such as ``daily returns``; None to use `observations`.

    Returns
    -------
    Unavailable or None
        ``insufficient_data`` or ``nonpositive_variance``; None when the series can be measured.
    """
    if series.size < minimum:
        return too_few(int(series.size), minimum, observations)
    return no_variation(values or observations) if is_constant(series) else None


def null_if_nan(value: float) -> float | None:
    """Return a Python float, or None for the NaN that stands for null.

    Parameters
    ----------
    value : float
        Python or NumPy float.

    Returns
    -------
    float or None
        Never NaN.
    """
    plain = float(value)
    return None if math.isnan(plain) else plain


def highest(series: Floats) -> float | None:
    """Return the largest observation.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        May be empty; NaN is ignored.

    Returns
    -------
    float or None
        None without observations.
    """
    # `fmax` prefers observations to the initial NaN.
    return null_if_nan(np.fmax.reduce(series, initial=np.nan))


def mean_or_null(series: Floats) -> float | None:
    """Return the arithmetic mean of the observations that are not null.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        May be empty; NaN is ignored.

    Returns
    -------
    float or None
        In the unit of the series; None without observations. A mean that a double can hold is finite even when the sum
        overflows.
    """
    values = measured(series)
    if not values.size:
        return None
    with np.errstate(over="ignore"):
        mean = float(values.mean())
    # The sum of large values may overflow, although their mean does not.
    return mean if math.isfinite(mean) else float((values / values.size).sum())


SESSIONS_PER_YEAR: Final = 252
"""Trading sessions in a year, for figures annualised from daily series."""

WEEKS_PER_YEAR: Final = 52
"""Rebalances in a year, for figures annualised from weekly series."""

DAYS_PER_YEAR: Final = 365.25
"""Mean length of a calendar year, leap days included."""

MIN_HAC_OBSERVATIONS: Final = 10
"""Minimum observations of a Newey-West test."""


@dataclass(frozen=True, slots=True)
class Window:
    """Range of calendar days, both ends included.

    Attributes
    ----------
    first, last : datetime.date or None
        First and last day; None for an open end.
    """

    first: dt.date | None = None
    last: dt.date | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the first day is after the last."""
        return self.first is not None and self.last is not None and self.first > self.last

    def rows(self, dates: Dates) -> slice:
        """Return the rows inside the window.

        Parameters
        ----------
        dates : Dates, shape (n_rows,)
            Ascending; may repeat a day.

        Returns
        -------
        slice
            Contiguous rows; empty if no row is inside.
        """
        first = 0 if self.first is None else int(np.searchsorted(dates, np.datetime64(self.first), "left"))
        last = (
            dates.size
            if self.last is None
            else int(np.searchsorted(dates, np.datetime64(self.last), "right"))
        )
        return slice(first, last)

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
"""Every day."""


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

    The number is informative only: daily series are always annualised by :data:`SESSIONS_PER_YEAR`.
    Exchanges have 250 to 253 sessions a year, a market that never closes 365, a ledger of weekly closes 52.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Session days, ascending.

    Returns
    -------
    float or Unavailable
        Number of sessions minus 1, over the calendar days from first to last session, times 365.25.
        ``insufficient_data`` with fewer than 90 calendar days.

    Examples
    --------
    >>> weekly = np.arange("2020-01-03", "2021-01-01", 7, dtype="datetime64[D]")
    >>> round(sessions_per_year(weekly), 1)
    52.2
    """
    days = (day(dates, -1) - day(dates, 0)).days if dates.size else 0
    if days < MIN_CALENDAR_DAYS:
        return too_few(days, MIN_CALENDAR_DAYS, "days between the first and the last session")
    return float((dates.size - 1) / days * DAYS_PER_YEAR)


def observed(dates: Dates) -> dict[str, Any]:
    """Return the number of observations and their first and last day, for the payload.

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
