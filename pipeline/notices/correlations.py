"""Rank correlations across names by period, and the test of their mean."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from datasets.figures import rank_correlation
from datasets.figures.rank_correlation import Integers, order_codes
from datasets.figures.series import Floats
from pipeline.notices.outcome import NoticeOutcome, by_chance, judged, not_checked, too_few
from schemas.notices.notice import MIN_CORRELATED_WEEKS

_MIN_GROUPS: Final = 2
"""Minimum number of independent values for their deviation."""
_MIN_NAMES: Final = 4
"""Minimum names to rank, in a side or in a cross-section of holdings."""


def judge_mean(
    notice: str,
    values: Floats,
    message: str,
    needed: str,
    *,
    period: str = "week",
    fewest: int = MIN_CORRELATED_WEEKS,
    either_sign: bool = False,
    groups: Integers | None = None,
    limit: float = 0.0,
) -> NoticeOutcome:
    """Judge the mean of figures by period, such as correlations, or its absolute value, which must exceed what chance explains.

    Parameters
    ----------
    notice
        Id of the declaration.
    values
        Figure of each period; NaN where missing.
    message
        Message with placeholders for the ``mean`` and the ``number`` of periods.
    needed
        What a period needs to have a figure, for the reason of a notice that is not checked.
    period, fewest
        Noun for a period, and the minimum number of periods.
    either_sign
        Whether to judge the absolute value of the mean.
    groups
        Number of the group of each value, such as its session, if values of a group have a common cause; None if all are independent.
    limit
        Threshold of these values, if it is above the declared one.
    """
    known = np.isfinite(values)
    values = values[known]
    if values.size < fewest:
        return too_few(notice, values.size, period, needed, fewest)
    mean = float(values.mean())
    error, independent = standard_error(values, None if groups is None else groups[known])
    if independent < _MIN_GROUPS:
        return not_checked(notice, f"all values have one cause; {_MIN_GROUPS} independent ones are needed")
    return judged(
        notice,
        abs(mean) if either_sign else mean,
        message.format(mean=mean, number=values.size),
        chance=max(limit, by_chance(independent) * error),
        **{f"{period}s": values.size},
    )


def standard_error(values: Floats, groups: Integers | None) -> tuple[float, int]:
    """Return the standard error of a mean, NaN for a single group, and the number of independent values.

    Parameters
    ----------
    values
        Without NaN.
    groups
        As in :func:`judge_mean`.
    """
    number, group = np.unique(np.arange(values.size) if groups is None else groups, return_inverse=True)
    independent = number.size
    if independent < _MIN_GROUPS:
        return math.nan, independent
    sums = np.bincount(group, weights=values - values.mean())
    return math.sqrt(float((sums**2).sum()) * independent / (independent - 1)) / values.size, independent


def rank_correlations(one: Floats, other: Floats, fewest: int = _MIN_NAMES) -> Floats:
    """Return the rank correlation of each column over the rows with both values; NaN where they are few or constant."""
    both = np.isfinite(one) & np.isfinite(other)
    x, y = (centred_ranks(np.where(both, values, np.nan)) for values in (one, other))
    return correlations(x, y, fewest)


def correlations(x: Floats, y: Floats, fewest: int) -> Floats:
    """Return the correlation about 0 of each column over the rows with both values; NaN where they are few, or one side is 0."""
    product = x * y
    both = np.isfinite(product)
    squares = [np.where(both, side, 0.0) ** 2 for side in (x, y)]
    size = np.sqrt(squares[0].sum(axis=0) * squares[1].sum(axis=0))
    usable = (both.sum(axis=0) >= fewest) & (size > 0)
    by_column: Floats = np.divide(
        np.nansum(product, axis=0), size, out=np.full(size.shape, np.nan), where=usable
    )
    return by_column


def centred_ranks(values: Floats) -> Floats:
    """Return 2 x rank - n - 1 in each column of n values, ties averaged; NaN stays NaN."""
    known = np.isfinite(values.T)
    column, _ = np.nonzero(known)
    ranks = np.full(known.shape, np.nan)
    codes = order_codes(values.T[known], column)
    ranks[known] = rank_correlation.centred_ranks(codes, column, values.shape[1])
    by_name: Floats = ranks.T
    return by_name


def relative_ranks(values: Floats) -> Floats:
    """Return the rank of each value in its column, from -1 to 1, ties averaged; NaN stays NaN."""
    ranks: Floats = centred_ranks(values) / np.maximum(np.isfinite(values).sum(axis=0) - 1, 1)
    return ranks


def column_mean(values: Floats) -> Floats:
    """Return the mean of each column without NaN; NaN where it has no value."""
    known = np.isfinite(values)
    mean: Floats = np.sum(values, axis=0, where=known) / known.sum(axis=0)
    return mean
