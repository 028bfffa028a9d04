"""Effective number of independent alphas in a catalogue, from the correlations of all pairs.

The squared correlations are summed once per allow-list of runs, in the thread that reads the returns. When the catalogue
changes, only the pairs of the changed alphas are subtracted and added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from datasets.catalogue.alpha_columns import Allowed
from datasets.figures.daily_returns import Days
from datasets.figures.false_discoveries import Block, effective_number, squared_correlations
from datasets.figures.rank_correlation import Integers
from datasets.figures.unavailable import Unavailable, too_few
from serve.cache import SnapshotKey
from serve.research.returns_matrix import Searchable

_ROWS_AT_ONCE: Final = 512
"""Rows of a block, so that the product of two blocks fits a core's cache."""
_MAX_SUMS: Final = 16
"""Maximum number of allow-lists whose sums are kept."""


class Pairs(NamedTuple):
    """Squared correlations of pairs of alphas.

    Attributes
    ----------
    total : float
        Sum of the adjusted squared correlations (:func:`datasets.figures.false_discoveries.squared_correlations`).
    measured : int
        Number of pairs with a correlation.
    """

    total: float = 0.0
    measured: int = 0


class _Sum(NamedTuple):
    """The pairs of some rows of the matrices."""

    searchable: Searchable
    rows: Mapping[SnapshotKey, int]
    pairs: Pairs

    @property
    def number(self) -> float | Unavailable:
        """The effective number; an unmeasured pair counts as the mean of the others."""
        if not self.pairs.measured:
            return too_few(0, 1, "pairs of alphas with common sessions")
        n = len(self.rows)
        return effective_number(n, max(0.0, self.pairs.total / self.pairs.measured) * n * (n - 1))


class EffectiveNumbers:
    """Effective numbers by allow-list. One thread updates them; any may read.

    Parameters
    ----------
    requested : Callable[[], None]
        Called when an allow-list is new, so that its number needs an update.
    """

    def __init__(self, requested: Callable[[], None]) -> None:
        self._requested = requested
        self._sums: dict[Allowed, _Sum | None] = {}

    def of(self, allowed: Allowed) -> float | Unavailable | None:
        """Return the effective number at the last update.

        Parameters
        ----------
        allowed : Allowed
            Allow-list of runs.

        Returns
        -------
        float, Unavailable or None
            None if the next update will compute it.
        """
        if allowed not in self._sums:
            if len(self._sums) >= _MAX_SUMS:
                self._sums.pop(next(iter(self._sums)), None)
            self._sums.setdefault(allowed, None)
            self._requested()
        known = self._sums.get(allowed)
        return None if known is None else known.number

    def update(self, searchable: Searchable, stopped: Callable[[], bool]) -> None:
        """Update all numbers to the searchable returns, unless the service is stopping.

        Parameters
        ----------
        searchable : Searchable
            The returns.
        stopped : Callable[[], bool]
            Returns whether the service is stopping.
        """
        keys = searchable.keys
        for allowed, known in list(self._sums.items()):
            numbers = searchable.row[searchable.listing.columns.allowed(allowed)]
            rows = {keys[row]: row for row in numbers[numbers >= 0].tolist()}
            if known is not None and known.rows.keys() == rows.keys():
                continue
            pairs = _changed_pairs(known, searchable, rows, stopped)
            if stopped():
                return
            if allowed in self._sums:
                self._sums[allowed] = _Sum(searchable, rows, pairs)


def _changed_pairs(
    known: _Sum | None, searchable: Searchable, rows: Mapping[SnapshotKey, int], stopped: Callable[[], bool]
) -> Pairs:
    """Sum the pairs of some rows, starting from an earlier sum if most rows are the same."""
    kept = known.rows.keys() & rows.keys() if known is not None else set()
    if known is None or len(kept) < max(len(known.rows), len(rows)) / 2:
        return _pairs(searchable, list(rows.values()), [], stopped)
    removed, added = ([x[key] for key in x if key not in kept] for x in (known.rows, rows))
    old, new = ([x[key] for key in kept] for x in (known.rows, rows))
    less, more = _pairs(known.searchable, removed, old, stopped), _pairs(searchable, added, new, stopped)
    total = known.pairs.total - less.total + more.total
    return Pairs(total, known.pairs.measured - less.measured + more.measured)


def _pairs(searchable: Searchable, rows: list[int], others: list[int], stopped: Callable[[], bool]) -> Pairs:
    """Sum the pairs of some rows with each other and with other rows."""
    if not rows:
        return Pairs()
    returns, total, count = _Returns(searchable), 0.0, 0
    own = list(returns.parts(rows))
    for place, part in enumerate(own):
        block = returns.block(part)
        for other in (*own[place:], *returns.parts(others)):
            if stopped():
                return Pairs()
            squares = squared_correlations(block, block if other is part else returns.block(other))
            if other is part:
                squares[np.triu_indices(len(squares))] = np.nan
            measured = ~np.isnan(squares)
            total += float(squares.sum(where=measured, dtype=np.float64))
            count += int(np.count_nonzero(measured))
    return Pairs(total, count)


class _Returns:
    """The rows of all matrices on their common calendar.

    Parameters
    ----------
    searchable
        Searchable returns, with at least one row.
    """

    def __init__(self, searchable: Searchable) -> None:
        matrices = searchable.matrices
        self._matrices = matrices
        self._days: Days = np.unique(np.concatenate([x.days for x in matrices]))
        self._begins = np.cumsum([0, *(len(x.keys) for x in matrices)])
        known: dict[bytes, int] = {}
        calendar = []
        for matrix in matrices:
            sessions = np.zeros((len(matrix.calendars), self._days.size), np.bool_)
            sessions[:, np.searchsorted(self._days, matrix.days)] = matrix.calendars
            packed = np.packbits(sessions, axis=1)
            numbers = np.array([known.setdefault(x.tobytes(), len(known)) for x in packed])
            calendar.append(numbers[matrix.rows["calendar"]])
        self._calendar: Integers = np.concatenate(calendar)
        self._sessions = np.array([np.frombuffer(x, np.uint8) for x in known])

    def parts(self, rows: list[int]) -> Iterator[Integers]:
        """Split rows into parts with few calendars each."""
        numbers = np.array(rows, np.int64)
        numbers = numbers[np.lexsort((numbers, self._calendar[numbers]))]
        yield from (numbers[at : at + _ROWS_AT_ONCE] for at in range(0, numbers.size, _ROWS_AT_ONCE))

    def block(self, rows: Integers) -> Block:
        """Return the scaled returns and the calendars of some rows."""
        series = np.zeros((rows.size, self._days.size), np.float32)
        which = np.searchsorted(self._begins, rows, side="right") - 1
        for number in np.unique(which):
            matrix, places = self._matrices[number], np.flatnonzero(which == number)
            columns = np.searchsorted(self._days, matrix.days)
            series[np.ix_(places, columns)] = matrix.scaled[rows[places] - self._begins[number]]
        calendars, calendar = np.unique(self._calendar[rows], return_inverse=True)
        sessions = np.unpackbits(self._sessions[calendars], axis=1, count=self._days.size)
        return Block(series, sessions.astype(np.float32), calendar if calendars.size > 1 else calendar[:1])
