"""Pearson correlation of two dated series over the days that both have."""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from datasets.maths.series import ROUNDING, Dates, Flags, Floats, is_constant
from datasets.maths.unavailable import Unavailable, no_variation, too_few

MIN_SESSIONS: Final = 10
"""Common sessions below which a correlation of daily returns is withheld: two have one of 1 or -1 whatever they are."""


_Number = TypeVar("_Number", np.float64, Floats)
DayNumbers: TypeAlias = Dates | npt.NDArray[np.int32]
"""Days, or the numbers of days counted from any one."""


def common_days(
    days: DayNumbers, values: Floats, other_days: DayNumbers, others: Floats
) -> tuple[Floats, Floats]:
    """Return what two series are on the days that both have: pairwise complete observations.

    Parameters
    ----------
    days, other_days
        Ascending, none twice; both of one kind.
    values, others
        As long as their days; NaN stands for null.

    Returns
    -------
    tuple of Floats
        Equally long and without NaN; empty when no day is common.
    """
    if days.size == other_days.size and np.array_equal(days, other_days):
        left, right = values, others
    else:
        place = np.searchsorted(other_days, days)
        there = place < other_days.size
        there[there] = other_days[place[there]] == days[there]
        left, right = values[there], others[place[there]]
    both = ~(np.isnan(left) | np.isnan(right))
    return (left, right) if both.all() else (left[both], right[both])


def correlate_rows(series: Floats, rows: Floats) -> Floats:
    """Correlate one series with many.

    Parameters
    ----------
    series
        n observations without NaN.
    rows
        Of shape (k, n), without NaN.

    Returns
    -------
    Floats
        k correlations between -1 and 1, the sample covariance over the product of the sample deviations; NaN where either
        side varies by no more than rounding, and with fewer than two observations.
    """
    count = series.size
    if count < 2:
        return np.full(rows.shape[0], np.nan)
    # Sums over counts are what `mean` gives to the last bit, without its checks: small stretches come by the dozen.
    mean, means = np.add.reduce(series) / count, np.add.reduce(rows, axis=1) / count
    deviations, others = series - mean, rows - means[:, np.newaxis]
    norm, norms = np.sqrt(np.vecdot(deviations, deviations)), np.sqrt(np.vecdot(others, others))
    if norm <= _doubtful(count, mean, norm) and is_constant(series):
        return np.full(rows.shape[0], np.nan)
    constant = norms <= _doubtful(count, means, norms)
    if constant.any():
        constant[constant] = constant_rows(rows[constant])
    found = np.full(rows.shape[0], np.nan)
    np.divide(np.vecdot(others, deviations), norms * norm, out=found, where=~constant)
    clipped: Floats = np.minimum(np.maximum(found, -1.0), 1.0)
    return clipped


def _doubtful(count: int, mean: _Number, norm: _Number) -> _Number:
    """Return the length of deviations up to which a series may be constant; one with more has a wider range, whatever it is."""
    # The range is no less than the deviation, and no value is further from 0 than the mean and the length of them all.
    found: _Number = 2 * ROUNDING * np.sqrt(count) * np.maximum(1.0, np.abs(mean) + norm)
    return found


def constant_rows(rows: Floats) -> Flags:
    """Whether each row varies by no more than rounding, as :func:`datasets.maths.series.is_constant` says of a series.

    Parameters
    ----------
    rows
        Of shape (k, n), n at least 1, without NaN.

    Returns
    -------
    Flags
        One a row.
    """
    low, high = np.minimum.reduce(rows, axis=1), np.maximum.reduce(rows, axis=1)
    constant: Flags = high - low <= ROUNDING * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    return constant


def correlation(
    series: Floats, others: Floats, *, least: int = MIN_SESSIONS, what: str = "common sessions"
) -> float | Unavailable:
    """Correlate two series.

    Parameters
    ----------
    series, others
        Equally long, without NaN, as :func:`common_days` returns them.
    least
        Observations below which nothing is said.
    what
        The observations in the plural.

    Returns
    -------
    float or Unavailable
        Between -1 and 1. ``insufficient_data`` with too few observations; ``nonpositive_variance`` when either side does
        not vary.

    References
    ----------
    Pearson (1895), "Notes on Regression and Inheritance in the Case of Two Parents".
    """
    if series.size < max(least, 2):
        return too_few(int(series.size), max(least, 2), what)
    found = float(correlate_rows(series, others[np.newaxis])[0])
    return no_variation(f"values of one side on the {what}") if np.isnan(found) else found
