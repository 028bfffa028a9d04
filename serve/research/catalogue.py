"""How many independent alphas a catalogue comes to, by the correlations of all pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from datasets.alpha_columns import Allowed
from datasets.figures.correlation import MIN_SESSIONS
from datasets.figures.daily_returns import Days
from datasets.figures.false_discoveries import (
    Singles,
    effective_number,
    squared_correlations,
    squared_correlations_within,
)
from datasets.figures.rank_correlation import Integers
from datasets.figures.unavailable import Unavailable, too_few
from serve.research.returns_matrix import ReturnsMatrix
from serve.research.store import Searchable

_ROWS_AT_ONCE: Final = 1024
_MIXED: Final = -1
"""Stands for the calendars that too few rows have to be measured apart."""
_MOST: Final = 16
"""Allow-lists of which the number is remembered, for one catalogue."""


class Effective(NamedTuple):
    """Alphas with returns, and how many uncorrelated ones vary in as many directions."""

    alphas: int
    number: float | Unavailable


class EffectiveNumbers:
    """Counts the independent alphas of a reader once for each catalogue. Safe to share between threads."""

    def __init__(self) -> None:
        self._searchable: Searchable | None = None
        self._known: dict[Allowed, Effective] = {}
        self._lock = threading.Lock()

    def of(self, searchable: Searchable, allowed: Allowed) -> Effective:
        """Return the number of the alphas that may be read."""
        with self._lock:
            if self._searchable is not searchable or len(self._known) >= _MOST:
                self._searchable, self._known = searchable, {}
            effective = self._known.get(allowed)
            if effective is None:
                effective = self._known[allowed] = _count(searchable, allowed)
            return effective


def _count(searchable: Searchable, allowed: Allowed) -> Effective:
    numbers = searchable.row[searchable.listing.columns.allowed(allowed)]
    numbers = np.sort(numbers[numbers >= 0])
    rows = _Rows(searchable.matrices, numbers)
    total, pairs = 0.0, 0
    for calendar in rows.large:
        squares, compared = squared_correlations_within(rows.series_of(calendar))
        total, pairs = total + squares, pairs + compared
    for place, (calendar, block) in enumerate(rows.blocks):
        series, sessions = rows.arrays(block)
        for other_calendar, other in rows.blocks[place:]:
            if calendar == other_calendar != _MIXED:
                continue  # added above
            others, other_sessions = (series, sessions) if other is block else rows.arrays(other)
            squares, compared = squared_correlations(series, others, sessions, other_sessions)
            if other is block:  # each pair twice, and each alpha that varies with itself, whose square is 1
                varies = int(np.count_nonzero(sessions.sum(axis=1)[series.any(axis=1)] >= MIN_SESSIONS))
                squares, compared = (squares - varies) / 2.0, (compared - varies) // 2
            total, pairs = total + squares, pairs + compared
    if not pairs:
        return Effective(numbers.size, too_few(0, 1, "pairs of alphas with common sessions"))
    mean = max(0.0, total / pairs)
    return Effective(numbers.size, effective_number(numbers.size, mean * numbers.size * (numbers.size - 1)))


class _Rows:
    """Some rows of some matrices, in blocks of rows with the same sessions and blocks of all others.

    Parameters
    ----------
    matrices
        Their rows are numbered one after the other.
    numbers
        The rows, ascending.

    Attributes
    ----------
    blocks : list of (int, int64 array)
        A calendar, or `_MIXED`, and at most `_ROWS_AT_ONCE` rows.
    large : int64 array
        Calendars that more rows have than there are days.
    """

    def __init__(self, matrices: Sequence[ReturnsMatrix], numbers: Integers) -> None:
        self._matrices = matrices
        parts = list(_parts(matrices, numbers))
        days = [matrix.days for matrix, _ in parts]
        self._days: Days = np.unique(np.concatenate(days)) if days else np.empty(0, np.int32)
        calendars = self._calendars(parts)
        known, counts = np.unique(calendars, return_counts=True)
        self.large = known[counts > max(self._days.size, _ROWS_AT_ONCE)]
        is_large = np.isin(calendars, self.large)
        groups = [(int(x), numbers[calendars == x]) for x in self.large]
        order = np.argsort(calendars[~is_large], kind="stable")
        groups.append((_MIXED, numbers[~is_large][order]))
        self.blocks = [
            (calendar, rows[first : first + _ROWS_AT_ONCE])
            for calendar, rows in groups
            for first in range(0, rows.size, _ROWS_AT_ONCE)
        ]

    def _calendars(self, parts: Sequence[tuple[ReturnsMatrix, Integers]]) -> Integers:
        """Number the calendars of the rows: the same number, the same sessions."""
        known: dict[bytes, int] = {}
        calendars = [np.empty(0, np.int64)]
        for matrix, rows in parts:
            flags = np.zeros((len(matrix.calendars), self._days.size), np.bool_)
            flags[:, np.searchsorted(self._days, matrix.days)] = matrix.calendars
            packed = np.packbits(flags, axis=1)
            numbers = np.array([known.setdefault(x.tobytes(), len(known)) for x in packed])
            calendars.append(numbers[matrix.rows["calendar"][rows]])
        return np.concatenate(calendars)

    def arrays(self, block: Integers) -> tuple[Singles, Singles]:
        """Return the scaled returns of some rows on all days, and 1 where a row has a session, else 0."""
        series, sessions = (np.zeros((block.size, self._days.size), np.float32) for _ in range(2))
        begin = 0
        for matrix, rows in _parts(self._matrices, np.sort(block)):
            end, columns = begin + rows.size, np.searchsorted(self._days, matrix.days)
            series[begin:end, columns] = matrix.scaled[rows]
            sessions[begin:end, columns] = matrix.calendars[matrix.rows["calendar"][rows]]
            begin = end
        return series, sessions

    def series_of(self, calendar: int) -> Iterator[Singles]:
        """Yield the scaled returns of a large calendar on its sessions, a block at a time."""
        for of, block in self.blocks:
            if of == calendar:
                series, sessions = self.arrays(block)
                yield series[:, sessions[0] > 0]


def _parts(matrices: Sequence[ReturnsMatrix], numbers: Integers) -> Iterator[tuple[ReturnsMatrix, Integers]]:
    """Return the rows wanted of each matrix that has any."""
    begin = 0
    for matrix in matrices:
        rows = numbers[(numbers >= begin) & (numbers < begin + len(matrix.keys))] - begin
        begin += len(matrix.keys)
        if rows.size:
            yield matrix, rows
