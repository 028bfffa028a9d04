"""Types of series, nulls as NaN, the test for constant series, and annualisation factors."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

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
"""Spread of a series due to rounding.

The series are returns, rank correlations and shares: differences and ratios of numbers near 1, so their rounding
is a few machine epsilons in absolute terms however small the values are. A ledger that grows by exactly 0.1 % a
session has returns that differ in the sixteenth decimal; a Sharpe ratio of them would be about 1e14 and would
measure the arithmetic, not the book.
"""


def cut(part: _Part, rows: slice | Flags, **others: Any) -> _Part:
    """Select rows of every series of a dataclass.

    Parameters
    ----------
    part : dataclass
        Its fields are arrays with the same first axis.
    rows : slice or Flags, shape (n_rows,)
        Rows to keep.
    **others : Any
        New values of the fields that are not such arrays, by name.

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
    if series.size == 0:
        return True
    low, high = float(series.min()), float(series.max())
    return high - low <= ROUNDING * max(1.0, abs(low), abs(high))


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
