"""The alphas whose returns are most or least alike those of one, exactly, out of thousands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from datasets.maths.correlation import MIN_SESSIONS, common_days, correlate_rows, correlation
from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.window import Window
from serve.peers.estimates import Estimates
from serve.peers.returns import DailyReturns, window_rows
from serve.peers.returns_file import Record, ReturnsFile
from serve.peers.rounded_returns import RoundedReturns

_ROWS_AT_ONCE: Final = 64
"""Rows that are read in double precision at a time: with what is computed of them they stay in a core's own cache."""
TOO_FEW: Final = "too_few"
NO_VARIATION: Final = "no_variation"


@dataclass(frozen=True, slots=True)
class Pool:
    """What is searched; never changed once it is made.

    Attributes
    ----------
    names
        Addresses of the alphas, ascending.
    records
        Of each, where its returns are in the file; every one has some.
    file
        Where that is.
    rounded
        The same rounded, in memory; None where there is none.
    rows
        Row of each in that, -1 where it has none.
    places
        Of each row the place of its alpha among the names, -1 where it is of none of them.
    """

    names: Sequence[str]
    records: Sequence[Record]
    file: ReturnsFile
    rounded: RoundedReturns | None
    rows: Integers
    places: Integers = field(init=False)

    def __post_init__(self) -> None:
        """Turn rows to places."""
        places = np.full(self.rows.max(initial=-1) + 1, -1)
        (there,) = np.nonzero(self.rows >= 0)
        places[self.rows[there]] = there
        object.__setattr__(self, "places", places)

    def place(self, name: str) -> int | None:
        """Return the place of a name; None where it is none of them."""
        at = bisect_left(self.names, name)
        return at if at < len(self.names) and self.names[at] == name else None

    def returns(self, name: str, snapshot: str) -> DailyReturns | None:
        """Read the returns of an alpha; None unless they are those of the snapshot given.

        Raises
        ------
        ReturnsDamaged
            When the file is not what was written.
        """
        place = self.place(name)
        if place is None or self.records[place].snapshot != snapshot:
            return None
        return self.file.whole(self.records[place])


class _Candidates(NamedTuple):
    """The alphas that may be among those asked for.

    Attributes
    ----------
    places
        Of their names.
    start, observations
        Where the common sessions begin in the series and how many there are; -1 twice where they are no stretch.
    passed_over
        How many others have a correlation.
    """

    places: Integers
    start: Integers
    observations: Integers
    passed_over: int


class Neighbour(NamedTuple):
    """One alpha and how alike it is."""

    alpha_id: str
    figure: float
    observations: int


@dataclass(slots=True)
class Nearest:
    """What a search found.

    Attributes
    ----------
    page
        The neighbours asked for, in their order.
    compared
        How many there are in all.
    excluded
        Reason to the alphas that cannot be compared.
    """

    page: list[Neighbour] = field(default_factory=list)
    compared: int = 0
    excluded: dict[str, int] = field(default_factory=lambda: {TOO_FEW: 0, NO_VARIATION: 0})


def search(
    series: DailyReturns,
    window: Window,
    pool: Pool,
    *,
    without: str,
    farthest: bool,
    limit: int,
    offset: int,
) -> Nearest:
    """Find the alphas that are most alike, or least.

    Parameters
    ----------
    series
        Returns of the alpha within the window.
    window
        The same for all.
    pool
        The others.
    without
        Address of the alpha itself, which is left out.
    farthest
        Least alike first.
    limit, offset
        Of the alphas in their order, ties by address.

    Raises
    ------
    ReturnsDamaged
        When the file is not what was written.
    """
    found = Nearest()
    sign = -1.0 if farthest else 1.0
    candidates = _candidates(series, pool, found, without=without, sign=sign, count=offset + limit)
    places, exact, sessions = _exact(series, window, pool, candidates, found)
    found.compared = candidates.passed_over + places.size
    order = np.lexsort((places, -sign * exact))[offset : offset + limit]
    found.page = [
        Neighbour(pool.names[place], value, n)
        for place, value, n in zip(
            places[order].tolist(), exact[order].tolist(), sessions[order].tolist(), strict=True
        )
    ]
    return found


def _candidates(
    series: DailyReturns, pool: Pool, found: Nearest, *, without: str, sign: float, count: int
) -> _Candidates:
    """Choose by estimates, and count the alphas with too few sessions; those without a row are all chosen."""
    others = np.ones(len(pool.names), np.bool_)
    own = pool.place(without)
    if own is not None:
        others[own] = False
    (outside,) = np.nonzero(others & (pool.rows < 0))
    none = np.full(outside.size, -1)
    if pool.rounded is None or not pool.places.size:
        return _Candidates(outside, none, none, 0)
    # By row from here on: to arrange by place what is known of thousands takes as long as to estimate it.
    estimates = Estimates(pool.rounded, series, pool.places.size)
    wanted = (pool.places >= 0) & others[pool.places]
    few = wanted & (estimates.observations >= 0) & (estimates.observations < MIN_SESSIONS)
    found.excluded[TOO_FEW] += int(np.count_nonzero(few))
    wanted &= ~few
    score, error = estimates.of_all()
    score *= sign
    # An estimate is of an alpha that varies; of the others nothing is known yet.
    varies = np.isfinite(error)
    sure, unsure = np.flatnonzero(wanted & varies), np.flatnonzero(wanted & ~varies)
    closer = sure[_first(score[sure], error[sure], count)]
    rows = np.concatenate([closer, unsure])
    score, error = estimates.of(rows)
    known, unknown = np.flatnonzero(np.isfinite(error)), np.flatnonzero(np.isinf(error))
    chosen = known[_first(sign * score[known], error[known], count)]
    passed_over = sure.size - closer.size + known.size - chosen.size
    rows = rows[np.concatenate([chosen, unknown])]
    return _Candidates(
        np.concatenate([pool.places[rows], outside]),
        np.concatenate([estimates.start[rows], none]),
        np.concatenate([estimates.observations[rows], none]),
        passed_over,
    )


def _first(score: Floats, error: Floats, count: int) -> Integers:
    """Return which may be among the first `count`, given how far each may lie from where it seems to be."""
    if score.size <= count:
        return np.arange(score.size)
    at_least = np.partition(score - error, score.size - count)[score.size - count]
    found: Integers = np.flatnonzero(score + error >= at_least)
    return found


def _exact(
    series: DailyReturns, window: Window, pool: Pool, candidates: _Candidates, found: Nearest
) -> tuple[Integers, Floats, Integers]:
    """Compute correlations in double precision, and count the alphas that have none.

    Returns
    -------
    tuple
        The places with a correlation, what it is, and the common sessions.
    """
    places, start, observations, _ = candidates
    values, sessions = np.full(places.size, np.nan), observations.copy()
    (shared,) = np.nonzero(start >= 0)
    if shared.size:
        values[shared] = _in_stretches(series, pool, places[shared], start[shared], observations[shared])
    for at in np.flatnonzero(start < 0).tolist():
        value, sessions[at] = _one(series, window, pool, pool.records[places[at]])
        if not isinstance(value, Unavailable):
            values[at] = value
    has = ~np.isnan(values)
    few = np.count_nonzero(sessions[~has] < MIN_SESSIONS)
    found.excluded[TOO_FEW] += int(few)
    found.excluded[NO_VARIATION] += int(np.count_nonzero(~has) - few)
    return places[has], values[has], sessions[has]


def _in_stretches(
    series: DailyReturns, pool: Pool, places: Integers, start: Integers, count: Integers
) -> Floats:
    """Correlate the series with rows that have all common sessions side by side, those of one stretch many at a time."""
    assert pool.rounded is not None, "what has no row has no stretch"
    order = np.lexsort((count, start))
    places, start, count = places[order], start[order], count[order]
    before = pool.rounded.before(pool.rows[places], series.days[start])
    (ends,) = np.nonzero((np.diff(start) != 0) | (np.diff(count) != 0))
    values, low = np.empty(places.size), 0
    for high in [*(ends + 1).tolist(), places.size]:
        begin, size = int(start[low]), int(count[low])
        own = series.values[begin : begin + size]
        for at in range(low, high, _ROWS_AT_ONCE):
            part = slice(at, min(at + _ROWS_AT_ONCE, high))
            rows = np.empty((part.stop - at, size))
            pool.file.fill(rows, [pool.records[x] for x in places[part].tolist()], before[part].tolist())
            values[part] = correlate_rows(own, rows)
        low = high
    found = np.empty(places.size)
    found[order] = values
    return found


def _one(series: DailyReturns, window: Window, pool: Pool, record: Record) -> tuple[float | Unavailable, int]:
    days = pool.file.days(record)
    cut = window_rows(days, window)
    values = np.empty((1, cut.stop - cut.start))
    pool.file.fill(values, [record], [cut.start])
    left, right = common_days(series.days, series.values, days[cut], values[0])
    return correlation(left, right), int(left.size)
