"""How many independent alphas a catalogue comes to, by the correlations of all pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from datasets.alpha_columns import Allowed
from datasets.figures.correlation import MIN_SESSIONS
from datasets.figures.false_discoveries import Singles, effective_number, squared_correlations
from datasets.figures.rank_correlation import Integers
from datasets.figures.unavailable import Unavailable, too_few
from serve.research.returns_matrix import ReturnsMatrix
from serve.research.store import Searchable

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
            found = self._known.get(allowed)
            if found is None:
                found = self._known[allowed] = _count(searchable, allowed)
            return found


def _count(searchable: Searchable, allowed: Allowed) -> Effective:
    numbers = searchable.row[searchable.listing.columns.allowed(allowed)]
    parts = list(_parts(searchable.matrices, np.sort(numbers[numbers >= 0])))
    alphas = sum(len(rows) for _, rows in parts)
    total, pairs = 0.0, 0
    for place, (matrix, rows) in enumerate(parts):
        for other, others in parts[place:]:
            _, left, right = np.intersect1d(matrix.days, other.days, assume_unique=True, return_indices=True)
            one, another = _arrays(matrix, rows, left), _arrays(other, others, right)
            squares, compared = squared_correlations(one[0], another[0], one[1], another[1])
            if other is matrix:  # each pair twice, and each alpha that varies with itself, whose square is 1
                varies = int(np.count_nonzero(one[1].sum(axis=1)[one[0].any(axis=1)] >= MIN_SESSIONS))
                squares, compared = (squares - varies) / 2.0, (compared - varies) // 2
            total, pairs = total + squares, pairs + compared
    if not pairs:
        return Effective(alphas, too_few(0, 1, "pairs of alphas with common sessions"))
    mean = max(0.0, total / pairs)
    return Effective(alphas, effective_number(alphas, mean * alphas * (alphas - 1)))


def _parts(matrices: Sequence[ReturnsMatrix], numbers: Integers) -> Iterator[tuple[ReturnsMatrix, Integers]]:
    """Return the rows wanted of each matrix that has any."""
    begin = 0
    for matrix in matrices:
        rows = numbers[(numbers >= begin) & (numbers < begin + len(matrix.keys))] - begin
        begin += len(matrix.keys)
        if rows.size:
            yield matrix, rows


def _arrays(matrix: ReturnsMatrix, rows: Integers, columns: Integers) -> tuple[Singles, Singles]:
    """Return the scaled returns of some rows on some days, and which of them are sessions."""
    sessions = matrix.calendars[np.ix_(matrix.rows["calendar"][rows], columns)]
    return np.ascontiguousarray(matrix.scaled[np.ix_(rows, columns)]), sessions.astype(np.float32)
