"""Daily returns of books by session, on common sessions, and between common closes; and their correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from datasets.figures.equity import period_returns
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import ROUNDING, Dates, Floats, Matrix, Window, constant_rows, is_constant
from datasets.figures.unavailable import Unavailable, no_variation, too_few

Days: TypeAlias = npt.NDArray[np.int32]
"""Days since 1970-01-01, ascending, unique."""
DayNumbers: TypeAlias = Dates | Days
"""Days, as dates or as day numbers."""
_Number = TypeVar("_Number", np.float64, Floats)
MIN_SESSIONS: Final = 10
"""Minimum common sessions for a correlation of daily returns."""
_EPOCH: Final = np.datetime64("1970-01-01", "D")


@dataclass(frozen=True, slots=True)
class DailyReturns:
    """Daily returns of a book, and its sessions without a return.

    Attributes
    ----------
    days : Days, shape (n_returns,)
        Sessions with a return, ascending.
    values : Floats, shape (n_returns,)
        Change of equity over opening equity, a fraction; finite.
    missing : Days, shape (n_missing,)
        Sessions without a return, for example while the book is in debt; ascending.
    """

    days: Days
    values: Floats
    missing: Days = field(default_factory=lambda: np.empty(0, np.int32))

    def within(self, window: Window) -> DailyReturns:
        """Select the sessions of a window.

        Parameters
        ----------
        window : Window
            Days to keep.

        Returns
        -------
        DailyReturns
            Views of the arrays.
        """
        rows, missing = (window.rows(x.astype("datetime64[D]")) for x in (self.days, self.missing))
        return DailyReturns(self.days[rows], self.values[rows], self.missing[missing])


def returns_of(days: Days, starting: Floats, ending: Floats) -> DailyReturns:
    """Return the daily returns of a ledger.

    Parameters
    ----------
    days : Days, shape (n_sessions,)
        Ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity; NaN stands for null.

    Returns
    -------
    DailyReturns
        A session is missing when its opening equity is null or not above 0, its closing equity is null, or its return is
        not finite.
    """
    with np.errstate(all="ignore"):
        values = period_returns(starting, ending)
    finite = np.isfinite(values)
    return DailyReturns(days[finite], values[finite], days[~finite])


def span(days: Days) -> tuple[str | None, str | None]:
    """Return the first and last day as text.

    Parameters
    ----------
    days : Days, shape (n_days,)
        Ascending; may be empty.

    Returns
    -------
    first, last : str or None
        ISO 8601; both None if empty.
    """
    return (str(_EPOCH + int(days[0])), str(_EPOCH + int(days[-1]))) if days.size else (None, None)


def common_days(
    days: DayNumbers, values: Floats, other_days: DayNumbers, others: Floats
) -> tuple[Floats, Floats]:
    """Return two series on their common days (pairwise complete observations).

    Parameters
    ----------
    days : DayNumbers, shape (n_days,)
        Days of the first series, ascending and unique.
    values : Floats, shape (n_days,)
        The first series; NaN stands for null.
    other_days : DayNumbers, shape (n_other_days,)
        Days of the second series in the same type, ascending and unique.
    others : Floats, shape (n_other_days,)
        The second series; NaN stands for null.

    Returns
    -------
    left, right : Floats, shape (n_common,)
        Both series on the days on which neither is null, ascending; may be empty.
    """
    if days.size == other_days.size and np.array_equal(days, other_days):
        left, right = values, others
    else:
        place = np.searchsorted(other_days, days)
        common = place < other_days.size
        common[common] = other_days[place[common]] == days[common]
        left, right = values[common], others[place[common]]
    both = ~(np.isnan(left) | np.isnan(right))
    return (left, right) if both.all() else (left[both], right[both])


def correlate_rows(series: Floats, rows: Matrix) -> Floats:
    """Correlate one series with many (Pearson).

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        Without NaN.
    rows : Matrix, shape (n_series, n_observations)
        Without NaN.

    Returns
    -------
    Floats, shape (n_series,)
        Between -1 and 1; NaN where either side is constant within rounding, and with fewer than two observations.
    """
    count = series.size
    if count < 2:
        return np.full(rows.shape[0], np.nan)
    # Bit for bit equal to `mean`, and faster for many short ranges.
    mean, means = np.add.reduce(series) / count, np.add.reduce(rows, axis=1) / count
    deviations, others = series - mean, rows - means[:, np.newaxis]
    norm, norms = np.sqrt(np.vecdot(deviations, deviations)), np.sqrt(np.vecdot(others, others))
    if norm <= _largest_constant_norm(count, mean, norm) and is_constant(series):
        return np.full(rows.shape[0], np.nan)
    constant = norms <= _largest_constant_norm(count, means, norms)
    if constant.any():
        constant[constant] = constant_rows(rows[constant])
    correlations = np.full(rows.shape[0], np.nan)
    np.divide(np.vecdot(others, deviations), norms * norm, out=correlations, where=~constant)
    clipped: Floats = np.minimum(np.maximum(correlations, -1.0), 1.0)
    return clipped


def _largest_constant_norm(count: int, mean: _Number, norm: _Number) -> _Number:
    """Return the largest norm of deviations at which a series may be constant within rounding."""
    # The range is at least the deviation, and no value exceeds the mean plus the norm.
    bound: _Number = 2 * ROUNDING * np.sqrt(count) * np.maximum(1.0, np.abs(mean) + norm)
    return bound


def correlation(series: Floats, others: Floats) -> float | Unavailable:
    """Correlate two series of daily returns.

    Parameters
    ----------
    series, others : Floats, shape (n_sessions,)
        Fractions without NaN, as :func:`common_days` returns them.

    Returns
    -------
    float or Unavailable
        Between -1 and 1. ``insufficient_data`` with fewer than ten sessions; ``nonpositive_variance`` when either side is
        constant.

    References
    ----------
    Pearson (1895), "Notes on Regression and Inheritance in the Case of Two Parents", Proceedings of the Royal Society 58.

    Examples
    --------
    >>> returns = np.sin(np.arange(10.0)) / 100
    >>> round(correlation(returns, -returns), 9)
    -1.0
    """
    if series.size < MIN_SESSIONS:
        return too_few(int(series.size), MIN_SESSIONS, "common sessions")
    value = float(correlate_rows(series, others[np.newaxis])[0])
    return no_variation("values of one side on the common sessions") if np.isnan(value) else value


@dataclass(frozen=True, slots=True)
class CommonReturns:
    """Returns of several books between their common closes.

    Attributes
    ----------
    days : DayNumbers, shape (n_closes,)
        Sessions that all books have, ascending.
    returns : Matrix, shape (n_books, n_closes)
        Return of each book since the previous common close, a fraction; on the first day, the return of that session.
    sessions : Integers, shape (n_books,)
        Number of sessions of each book.
    merged : Integers, shape (n_books,)
        Number of sessions between the first and last common ones that another book lacks; their returns are compounded into
        the next common close.
    dropped : Integers, shape (n_books,)
        Number of sessions before the first or after the last common one; their returns enter no figure.
    """

    days: DayNumbers
    returns: Matrix
    sessions: Integers
    merged: Integers
    dropped: Integers


def between_common_closes(series: Sequence[tuple[DayNumbers, Floats]]) -> CommonReturns:
    """Compound the returns of each book between the common closes.

    Parameters
    ----------
    series : sequence of (DayNumbers, Floats), each of shape (n_sessions,)
        Days, ascending and unique, and returns, fractions without NaN; one pair per book, at least one.

    Returns
    -------
    CommonReturns
        If there is no other session since the previous common close, the return is exactly the book's own.
    """
    days = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), (x for x, _ in series))
    places = [np.searchsorted(own, days) for own, _ in series]
    sessions = np.array([own.size for own, _ in series])
    spans = np.array([int(place[-1] - place[0]) + 1 if days.size else 0 for place in places])
    return CommonReturns(
        days,
        np.array(
            [_compounded(values, place) for (_, values), place in zip(series, places, strict=True)]
        ).reshape(len(series), days.size),
        sessions,
        spans - days.size,
        sessions - spans,
    )


def _compounded(values: Floats, places: Integers) -> Floats:
    """Return the compounded returns between consecutive positions; the first is that session's own return."""
    returns = values[places]
    several = np.diff(places) > 1
    if several.any():
        growth = np.multiply.reduceat(1.0 + values[: places[-1] + 1], places[:-1] + 1)
        returns[1:][several] = growth[several] - 1.0
    return returns
