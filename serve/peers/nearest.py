"""The alphas whose returns are most or least alike those of one, exactly, out of thousands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from datasets.maths.correlation import MIN_SESSIONS, common_days, correlate_rows, correlation
from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats
from datasets.maths.unavailable import Unavailable, no_variation
from datasets.run_metrics.window import Window
from serve.peers.estimates import Estimates, ReturnsMatrix
from serve.peers.returns import DailyReturns, window_rows
from serve.peers.returns_file import Record, ReturnsFile

_ROWS_AT_ONCE: Final = 512
"""Rows that are read in double precision at a time."""
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
    matrix
        The same in single precision; None where there is none.
    rows
        Row of each in the matrix, -1 where it has none.
    """

    names: Sequence[str]
    records: Sequence[Record]
    file: ReturnsFile
    matrix: ReturnsMatrix | None
    rows: Integers


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
    count = len(pool.names)
    figure = np.full(count, np.nan)
    observations = np.full(count, -1, np.int64)
    error = np.full(count, np.inf)
    start = np.full(count, -1, np.int64)
    (there,) = np.nonzero(pool.rows >= 0)
    if pool.matrix is not None and there.size:
        estimates: Estimates = pool.matrix.estimate(series)
        rows = pool.rows[there]
        figure[there], error[there] = estimates.correlation[rows], estimates.error[rows]
        observations[there], start[there] = estimates.observations[rows], estimates.start[rows]
    others = np.ones(count, np.bool_)
    own = bisect_left(pool.names, without)
    others[own : own + (own < count and pool.names[own] == without)] = False
    few = others & (observations >= 0) & (observations < MIN_SESSIONS)
    found.excluded[TOO_FEW] += int(few.sum())
    score = -figure if farthest else figure
    (open_places,) = np.nonzero(others & ~few & ~np.isfinite(error))
    (sure,) = np.nonzero(others & ~few & np.isfinite(error))
    found.compared = int(sure.size)
    candidates = sure[_may_be_among(score[sure], error[sure], offset + limit)]
    wanted = np.concatenate([candidates, open_places])
    kept = [
        entry
        for entry in _exact(series, window, pool, wanted, stretches=(start, observations))
        if _counted(found, entry, is_open=not np.isfinite(error[entry[0]]))
    ]
    sign = 1.0 if farthest else -1.0
    kept.sort(key=lambda entry: (sign * float(entry[1]), entry[0]))  # type: ignore[arg-type]
    found.page = [
        Neighbour(pool.names[place], float(value), n)  # type: ignore[arg-type]
        for place, value, n in kept[offset : offset + limit]
    ]
    return found


_Entry = tuple[int, float | Unavailable, int]
"""A place in the pool, its figure or the reason, and the common sessions."""


def _counted(found: Nearest, entry: _Entry, *, is_open: bool) -> bool:
    """Count an alpha of which nothing was known before; return whether it has a figure."""
    _, value, _ = entry
    if isinstance(value, Unavailable):
        found.excluded[TOO_FEW if value.code == "insufficient_data" else NO_VARIATION] += 1
        return False
    found.compared += is_open
    return True


def _may_be_among(score: Floats, error: Floats, count: int) -> Integers:
    """Return the places that may be among the first `count`, given how far each may lie from where it seems to be."""
    if score.size <= count:
        return np.arange(score.size)
    at_least = np.partition(score - error, score.size - count)[score.size - count]
    (found,) = np.nonzero(score + error >= at_least)
    return found


def _exact(
    series: DailyReturns,
    window: Window,
    pool: Pool,
    places: Integers,
    *,
    stretches: tuple[Integers, Integers],
) -> Iterator[_Entry]:
    """Compute correlations in double precision; of rows that share a stretch of the series many at a time.

    Parameters
    ----------
    stretches
        By place, where the common sessions begin in the series and how many there are; -1 twice where they are no stretch.
    """
    start, count = stretches
    shared: dict[tuple[int, int], list[int]] = {}
    for place in places.tolist():
        if start[place] < 0:
            yield place, *_one(series, window, pool, pool.records[place])
        else:
            shared.setdefault((int(start[place]), int(count[place])), []).append(place)
    if not shared:
        return
    assert pool.matrix is not None, "what is not in the matrix has no stretch"
    order = np.concatenate([np.array(chosen) for chosen in shared.values()])
    first_days = series.days[start[order]]
    before = dict(zip(order.tolist(), pool.matrix.before(pool.rows[order], first_days).tolist(), strict=True))
    for (begin, size), chosen in shared.items():
        own = series.values[begin : begin + size]
        for at in range(0, len(chosen), _ROWS_AT_ONCE):
            part = chosen[at : at + _ROWS_AT_ONCE]
            rows = np.empty((len(part), size))
            pool.file.fill(rows, (pool.records[x] for x in part), (before[x] for x in part))
            for place, value in zip(part, correlate_rows(own, rows).tolist(), strict=True):
                yield place, no_variation("common sessions") if np.isnan(value) else value, size


def _one(series: DailyReturns, window: Window, pool: Pool, record: Record) -> tuple[float | Unavailable, int]:
    days = pool.file.days(record)
    cut = window_rows(days, window)
    values = np.empty((1, cut.stop - cut.start))
    pool.file.fill(values, [record], [cut.start])
    left, right = common_days(series.days, series.values, days[cut], values[0])
    return correlation(left, right), int(left.size)
