"""Exact search for the runs with the most or least similar returns among thousands.

Every correlation is first estimated by matrix products in single precision, with an error bound. Only rows whose rank the bound
leaves open, and rows without an estimate, are then computed in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from datasets.analysis.comparison import NO_VARIATION, TOO_FEW, Neighbour
from datasets.figures.daily_returns import MIN_SESSIONS, DailyReturns, correlate_rows
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import ROUNDING, Flags, Floats
from datasets.figures.similarity import ORDERS
from serve.research.returns_matrix import ReturnsMatrix

_ROWS_AT_ONCE: Final = 256
"""Rows of a block that is copied: the allocator returns larger ones to the system, which takes longer than the sums."""
_SINGLE: Final = 2.0**-24
"""Unit roundoff of single precision."""
_MAX_ERROR: Final = 0.05
"""Estimates with a larger error bound are discarded."""


class Order(NamedTuple):
    """Order and page of the neighbours.

    Attributes
    ----------
    name : str
        One of :data:`datasets.figures.similarity.ORDERS`.
    limit, offset : int
        Page of the runs in order, ties by id.
    """

    name: str
    limit: int
    offset: int


@dataclass(slots=True)
class Nearest:
    """One page of neighbours.

    Attributes
    ----------
    page : sequence of Neighbour
        The neighbours of the page, in order.
    compared : int
        Number of neighbours on all pages.
    excluded : dict of str to int
        Reason -> number of runs that are not compared.
    span : tuple of str or None, length 2
        First and last day of the alpha within the window, ISO 8601.
    """

    page: Sequence[Neighbour] = ()
    compared: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    span: tuple[str | None, str | None] = (None, None)


class Estimate(NamedTuple):
    """Correlations of a series with the rows of a matrix.

    Attributes
    ----------
    correlation : float64, shape (n_rows,)
        Within `error` of the exact value; 0 where `error` is infinite.
    error : float64, shape (n_rows,)
        Infinite for rows without an estimate, whose correlation may not exist.
    observations : int64, shape (n_rows,)
        Exact number of common sessions.
    """

    correlation: Floats
    error: Floats
    observations: Integers


def search(series: DailyReturns, matrices: Sequence[ReturnsMatrix], compared: Flags, order: Order) -> Nearest:
    """Find the most or least similar runs.

    Parameters
    ----------
    series : DailyReturns
        Returns of the run within the window.
    matrices : sequence of ReturnsMatrix
        Returns of the others, their rows numbered one after the other.
    compared : Flags, shape (n_rows,)
        Whether to compare each row.
    order : Order
        Order and page.

    Returns
    -------
    Nearest
        Correlations in double precision, as computed by :func:`correlate`.
    """
    result = Nearest()
    name, limit, offset = order
    score_of = ORDERS[name]
    estimates = [estimate(series, matrix) for matrix in matrices]
    correlations, errors, observations = (
        np.concatenate([getattr(x, part) for x in estimates]) if estimates else np.empty(0)
        for part in Estimate._fields
    )
    few = compared & (observations < MIN_SESSIONS)
    result.excluded[TOO_FEW] = int(np.count_nonzero(few))
    rows = np.flatnonzero(compared & ~few)
    score, error = score_of(correlations[rows]), errors[rows]
    unknown = np.isinf(error)
    # Rows without an estimate are computed first: only then the rows before the page can be counted.
    unestimated = rows[unknown]
    exact = correlate(series, matrices, unestimated)
    result.excluded[NO_VARIATION] = int(np.count_nonzero(np.isnan(exact)))
    result.compared = rows.size - result.excluded[NO_VARIATION]
    score[unknown], error[unknown] = score_of(exact), 0.0
    known = ~np.isnan(score)
    rows, score, error = rows[known], score[known], error[known]
    before, on_page = _near_page(score, error, limit, offset)
    candidates = rows[on_page]
    figures = correlate(series, matrices, candidates)
    keys = [name for matrix in matrices for name, _ in matrix.keys]
    names = [keys[row] for row in candidates.tolist()]
    places = np.lexsort((np.array(names, np.str_), -score_of(figures)))
    result.page = [
        Neighbour(names[at], float(figures[at]), int(observations[candidates[at]]))
        for at in places[offset - before : offset - before + limit].tolist()
    ]
    return result


def _near_page(score: Floats, error: Floats, limit: int, offset: int) -> tuple[int, Integers]:
    """Return the number of rows that certainly precede a page, and the rows that may be on it, by descending score."""
    if offset >= score.size:
        return offset, np.empty(0, np.int64)
    high, low = score + error, score - error
    # The k-th largest value lies between the k-th largest lower bound and the k-th largest upper bound.
    first = -np.partition(-high, offset)[offset]
    final = min(offset + limit, score.size) - 1
    last = -np.partition(-low, final)[final]
    before = low > first
    return int(np.count_nonzero(before)), np.flatnonzero(~before & (high >= last))


@np.errstate(all="ignore")
def estimate(series: DailyReturns, matrix: ReturnsMatrix) -> Estimate:
    """Estimate the correlation of a series with every row over their common sessions.

    Parameters
    ----------
    series : DailyReturns
        Returns of the run within the window.
    matrix : ReturnsMatrix
        Returns of the others.

    Returns
    -------
    Estimate
        With an error bound of at most 0.05, infinite for rows that have to be computed.

    Notes
    -----
    The sums over common sessions of a product of two series are off by no more than `w` roundings of the product of their
    norms, `w` being the number of columns, in any order of summation (Higham 2002, Accuracy and Stability of Numerical
    Algorithms, section 3.1).
    """
    shape = len(matrix.keys)
    columns, own = _columns(series, matrix)
    if columns.size == 0:
        return Estimate(np.zeros(shape), np.full(shape, np.inf), np.zeros(shape, np.int64))
    low, high = int(columns[0]), int(columns[-1]) + 1
    centred = own - own.mean()
    deviation = float(np.sqrt(np.vecdot(centred, centred) / own.size))
    dense = np.zeros((high - low, 2))
    dense[columns - low, 0] = centred / deviation
    dense[columns - low, 1] = 1.0
    if not np.isfinite(dense).all():
        dense[:, 0] = 0.0  # constant: no estimate, so every row is computed
    terms = np.stack([dense[:, 1], dense[:, 0], dense[:, 0] ** 2], axis=1)
    by_calendar = np.concatenate([block @ terms for block in _blocks(matrix.calendars[:, low:high])])
    observations, total, squares = by_calendar[matrix.rows["calendar"]].T
    single = dense.astype(np.float32)
    by_row = [
        np.column_stack([block @ single, np.square(block) @ single[:, 1]])
        for block in _blocks(matrix.scaled[:, low:high])
    ]
    products, others, lengths = np.concatenate(by_row).T.astype(np.float64)
    n = np.maximum(observations, 1.0)
    variance, variances = squares - total * total / n, lengths - others * others / n
    correlation = (products - total * others / n) / np.sqrt(variance * variances)
    rounding = 2.0 * (high - low + 8) * _SINGLE
    share, shares = np.sqrt(squares / variance), np.sqrt(lengths / variances)
    error = 2.0 * rounding * shares * (share + shares)
    # Below this deviation a series may be constant within rounding, which only its values can show.
    least, least_others = (
        4.0 * ROUNDING * np.maximum(1.0, largest) for largest in (np.abs(own).max(), matrix.rows["largest"])
    )
    varies = np.sqrt(variance / n) * deviation > least
    varies &= np.sqrt(variances / n) * matrix.rows["deviation"] > least_others
    unsure = ~(varies & (error < _MAX_ERROR) & np.isfinite(correlation))
    correlation[unsure], error[unsure] = 0.0, np.inf
    return Estimate(correlation, error, observations.astype(np.int64))


def _blocks(rows: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        yield np.ascontiguousarray(rows[first : first + _ROWS_AT_ONCE])


def _columns(series: DailyReturns, matrix: ReturnsMatrix) -> tuple[Integers, Floats]:
    """Return the columns of the days that a series shares with a matrix, and the series on them."""
    place = np.searchsorted(matrix.days, series.days)
    shared = place < matrix.days.size
    shared[shared] = matrix.days[place[shared]] == series.days[shared]
    return place[shared], series.values[shared]


def correlate(series: DailyReturns, matrices: Sequence[ReturnsMatrix], rows: Integers) -> Floats:
    """Correlate a series with some rows in double precision.

    Parameters
    ----------
    series : DailyReturns
        Returns of the run within the window.
    matrices : sequence of ReturnsMatrix
        Returns of the others, their rows numbered one after the other.
    rows : Integers, shape (n_selected,)
        Rows to correlate with.

    Returns
    -------
    Floats, shape (n_selected,)
        As :func:`datasets.figures.daily_returns.correlate_rows` over common sessions; NaN where either side is constant.
    """
    result = np.full(rows.size, np.nan)
    begin = 0
    for matrix in matrices:
        places = np.flatnonzero((rows >= begin) & (rows < begin + len(matrix.keys)))
        numbers = rows[places] - begin
        begin += len(matrix.keys)
        if not places.size:
            continue
        columns, own = _columns(series, matrix)
        calendars = matrix.rows["calendar"][numbers]
        for calendar in np.unique(calendars):
            common = matrix.calendars[calendar, columns]
            alike = calendars == calendar
            block = matrix.values[numbers[alike]].take(columns[common], axis=1)
            result[places[alike]] = correlate_rows(own[common], block)
    return result
