"""Notices on weeks that repeat an earlier week, exactly or nearly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from datasets.figures.series import Dates, Flags, Floats
from pipeline.maths.weekly_digests import rounded
from pipeline.notices.correlations import relative_ranks
from pipeline.notices.outcome import NoticeOutcome, judged, too_few
from schemas.notices.signal import (
    COMMON_COMPONENTS,
    COPIED_SHARE,
    MIN_COPIED_NAMES,
    MIN_OUTLYING_WEEKS,
    MIN_RANKED_NAMES,
    MIN_RESIDUAL_NAMES,
    NEAR_COPY,
    NEAR_RESIDUAL_COPY,
    PERSISTENT_SHARE,
    SLOW_SHARE,
)


def judge_copies(
    notice: str, values: Floats, dates: Dates, what: str, *, near: Floats | None = None
) -> NoticeOutcome:
    """Judge whether weeks repeat the values of an earlier week.

    Parameters
    ----------
    notice
        ``signal.copied_scores`` or ``signal.copied_forward_returns``.
    values
        By name and week, shape (names, weeks); NaN where missing.
    dates
        Dates of the weeks.
    what
        Noun for the values in the message.
    near
        Values of more names, if a week that nearly repeats the order of names of an earlier week counts as well.
    """
    # Weeks copied at another price level differ in the last bits.
    own = _values_of_one_name(rounded(values))
    sources = copied_from(own)
    sources = np.where(_persists(own, sources) & (sources == np.arange(sources.size) - 1), -1, sources)
    if near is not None:
        sources = np.where(sources >= 0, sources, nearly_copied_from(near))
    copies = np.flatnonzero(sources >= 0)
    compared = int((_nonzero(own).sum(axis=0) >= MIN_COPIED_NAMES).sum())
    if compared < 2:
        return too_few(notice, compared, "week", f"{MIN_COPIED_NAMES} names with different {what}", "two")
    first = ""
    if copies.size:
        first = f", the first that of {dates[copies[0]]}, copied from {dates[sources[copies[0]]]}"
    message = f"{copies.size} of {compared} weeks have the {what} of an earlier week{first}."
    return judged(notice, float(copies.size), message, weeks=compared)


def _persists(values: Floats, sources: NDArray[np.int64]) -> bool:
    """Return whether values usually stay for weeks.

    Either most weeks, but not all, repeat the week before, like grades that change by the month or quarter, or many values stay even in
    weeks that are no copies, like the highest move of a month.
    """
    both = np.flatnonzero(np.isfinite(values[:, 1:] + values[:, :-1]).any(axis=0))
    repeats = sources[both + 1] == both
    if repeats.any() and SLOW_SHARE < repeats.mean() < 1:
        return True
    stays = (values[:, 1:] == values[:, :-1]).sum(axis=0) / np.maximum(
        np.isfinite(values[:, 1:]).sum(axis=0), 1
    )
    others = stays[sources[1:] < 0]
    return bool(others.size and np.median(others) > PERSISTENT_SHARE)


def _values_of_one_name(values: Floats) -> Floats:
    """Leave out the values that several names have in a week: names keep one of a few grades by chance."""
    ascending = np.sort(values, axis=0)
    shared = np.zeros(values.shape, np.bool_)
    for week in range(values.shape[1]):
        equal = ascending[1:, week] == ascending[:-1, week]
        shared[:, week] = np.isin(values[:, week], ascending[1:, week][equal])
    return np.where(shared, np.nan, values)


def nearly_copied_from(values: Floats) -> NDArray[np.int64]:
    """Find the weeks that nearly repeat the order of names of an earlier week.

    Parameters
    ----------
    values
        By name and week, shape (names, weeks); NaN where missing.

    Returns
    -------
    numpy.ndarray of int64, shape (weeks,)
        Index of the earlier week with the highest rank correlation, if that reaches :data:`schemas.notices.signal.NEAR_COPY`, or
        :data:`schemas.notices.signal.NEAR_RESIDUAL_COPY` without the principal components that weeks have in common; else -1.
    """
    known = np.isfinite(values)
    number, weeks = known.sum(axis=0), values.shape[1]
    if not weeks:
        return np.empty(0, np.int64)
    # A missing value is set to the mean of its week, so that it does not contribute to the correlation.
    ranks = np.nan_to_num(relative_ranks(values))
    alike = _earlier_correlations(ranks, number >= MIN_RANKED_NAMES) / NEAR_COPY
    if weeks >= MIN_OUTLYING_WEEKS and number.max() >= MIN_RESIDUAL_NAMES:
        # Weeks in which the same industries rise order names alike, as a noisy copy does.
        left, sizes, right = np.linalg.svd(ranks, full_matrices=False)
        common = (left[:, :COMMON_COMPONENTS] * sizes[:COMMON_COMPONENTS]) @ right[:COMMON_COMPONENTS]
        residuals = np.where(known, ranks - common, 0.0)
        alike = np.maximum(
            alike, _earlier_correlations(residuals, number >= MIN_RESIDUAL_NAMES) / NEAR_RESIDUAL_COPY
        )
    return np.where(alike.max(axis=0) >= 1, alike.argmax(axis=0), -1)


def _earlier_correlations(values: Floats, usable: Flags) -> Floats:
    """Return the correlation about 0 of each week (column) with each earlier one (row); 0 for other pairs of weeks."""
    size = np.sqrt((values**2).sum(axis=0))
    values = np.divide(values, size, out=np.zeros_like(values), where=(size > 0) & usable)
    # Not matmul: on arrays this small, BLAS threads cost more than they save.
    return np.triu(np.einsum("ij,ik->jk", values, values), k=1)


def copied_from(values: Floats) -> NDArray[np.int64]:
    """Find the weeks that repeat an earlier week.

    Parameters
    ----------
    values
        By name and week, shape (names, weeks); NaN where missing. Zeros are ignored, because halted names have them.

    Returns
    -------
    numpy.ndarray of int64, shape (weeks,)
        Index of the earlier week in which at least 90% of a week's names last had the same value; -1 if none, and for a week
        with fewer than five names or only one distinct value.
    """
    weeks, known = values.shape[1], _nonzero(values)
    source, size = np.full(weeks, -1, np.int64), known.sum(axis=0)
    for week, earlier, shared in zip(*(part.tolist() for part in repeated_values(values)), strict=True):
        if size[week] >= MIN_COPIED_NAMES and shared >= COPIED_SHARE * size[week]:
            column = values[known[:, week], week]
            if column.min() < column.max():
                source[week] = earlier
    return source


def repeated_values(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count, by pair of weeks, the names whose value in the later week last occurred in the earlier one; zeros are ignored.

    Returns
    -------
    weeks, earlier, count : numpy.ndarray of int64
        One entry per pair of weeks that shares at least :data:`schemas.notices.signal.COPIED_SHARE` of
        :data:`schemas.notices.signal.MIN_COPIED_NAMES` values, ascending.
    """
    names, weeks = values.shape
    kept = np.where(_nonzero(values), values, np.nan)
    order = np.argsort(kept, axis=1, kind="stable")  # equal values of a name keep the order of the weeks
    ranked = np.take_along_axis(kept, order, axis=1)
    previous = np.full((names, weeks), -1, np.int64)
    row, place = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
    previous[row, order[row, place + 1]] = order[row, place]
    name, week = np.nonzero(previous >= 0)
    pairs, count = np.unique(week * weeks + previous[name, week], return_counts=True)
    enough = count >= COPIED_SHARE * MIN_COPIED_NAMES
    return *np.divmod(pairs[enough], weeks), count[enough]


def _nonzero(values: Floats) -> Flags:
    return np.asarray(np.isfinite(values) & (values != 0))
