"""Notices on clipped forward returns: at one bound, or at a bound of each week."""

from __future__ import annotations

from typing import Final

import numpy as np

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked, too_few
from schemas.notices.forward_returns import MIN_EXTREME_WEEKS
from schemas.notices.moves import CLIPPED_FROM, MIN_CLIPPED, MIN_MOVES
from schemas.notices.signal import MIN_OUTLYING_NAMES
from schemas.plurals import counted

_DECIMALS: Final = 7
"""Decimals to which returns of the same size agree."""
_BOUNDS: Final = 2
"""Number of values that are common because of a lower and an upper bound."""


def by_frequency(values: Floats) -> tuple[Integers, Floats]:
    """Count equal values, to seven decimals.

    Parameters
    ----------
    values
        Returns or moves, shape (n,).

    Returns
    -------
    counts, sizes : shape (distinct,)
        Count of each distinct value, and the value; most common first, then ascending.
    """
    sizes, counts = np.unique(np.round(values, _DECIMALS), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return counts[order], sizes[order]


def judge_repeated_returns(returns: Floats) -> NoticeOutcome:
    """Judge how often one large forward return occurs.

    Parameters
    ----------
    returns
        Forward returns of some names, shape (names, weeks); NaN where missing.
    """
    notice, number = "signal.repeated_returns", int(np.isfinite(returns).sum())
    if number < MIN_MOVES:
        return not_checked(
            notice,
            f"{counted(number, 'forward return is', 'forward returns are')} known; {MIN_MOVES} are needed",
        )
    counts, sizes = by_frequency(returns[np.abs(returns) > CLIPPED_FROM])
    most, usual = (int(counts[place]) if counts.size > place else 0 for place in (0, _BOUNDS))
    size = float(sizes[0]) if most else 0.0
    message = f"{most} forward returns are {size:.4%} each; apart from two bounds, at most {usual} are equal."
    return judged(notice, most / max(usual, MIN_CLIPPED), message, forward_returns=most, size=size)


def shared_extremes(weeks: Integers, returns: Floats) -> tuple[int, int]:
    """Count the weeks whose highest or lowest forward return belongs to several names; returns of 0 do not count.

    Parameters
    ----------
    weeks, returns
        Week and return of each row, shape (rows,); NaN where missing.

    Returns
    -------
    shared, measured : int
        Weeks with a shared extreme, and weeks with enough returns to judge.
    """
    shared = measured = 0
    for week in np.unique(weeks):
        moved = returns[(weeks == week) & np.isfinite(returns) & (returns != 0)]
        if moved.size >= MIN_OUTLYING_NAMES:
            measured += 1
            shared += int(max((moved == moved.max()).sum(), (moved == moved.min()).sum()) > 1)
    return shared, measured


def judge_shared_extremes(shared: int, weeks: int) -> NoticeOutcome:
    """Judge in how many weeks several names share the highest or lowest forward return."""
    notice = "signal.shared_extremes"
    if weeks < MIN_EXTREME_WEEKS:
        return too_few(notice, weeks, "week", f"{MIN_OUTLYING_NAMES} forward returns", MIN_EXTREME_WEEKS)
    message = f"Several names share the highest or the lowest forward return in {shared} of {weeks} weeks."
    return judged(notice, shared / weeks, message, shared=shared, weeks=weeks)
