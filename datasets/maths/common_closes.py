"""Returns of several books between the closes that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from datasets.maths.correlation import DayNumbers
from datasets.maths.rank_correlation import Integers
from datasets.maths.series import Floats


@dataclass(frozen=True, slots=True)
class CommonReturns:
    """Books side by side, without a session's profit lost between the first common session and the last.

    Attributes
    ----------
    days : DayNumbers, shape (n_closes,)
        Sessions that all books have, ascending.
    returns : Floats, shape (n_books, n_closes)
        Return of each book from the common close before to this one; on the first, of that session.
    sessions : Integers, shape (n_books,)
        Sessions of each book.
    merged : Integers, shape (n_books,)
        Those between the first common session and the last that another book lacks: their returns are compounded into
        the next common close.
    dropped : Integers, shape (n_books,)
        Those before the first common session or after the last: their returns are in no figure.
    """

    days: DayNumbers
    returns: Floats
    sessions: Integers
    merged: Integers
    dropped: Integers


def between_common_closes(series: Sequence[tuple[DayNumbers, Floats]]) -> CommonReturns:
    """Compound the returns of each book between the closes that all have.

    Parameters
    ----------
    series
        Days, ascending and none twice, and the return on each, without NaN; one pair a book, at least one.

    Returns
    -------
    CommonReturns
        Where no session stands between two common closes a return is the book's own to the last digit.
    """
    days = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), (x for x, _ in series))
    places = [np.searchsorted(own, days) for own, _ in series]
    sessions = np.array([own.size for own, _ in series])
    spans = np.array([int(place[-1] - place[0]) + 1 if days.size else 0 for place in places])
    return CommonReturns(
        days,
        np.array(
            [_compounded(values, place) for (_, values), place in zip(series, places, strict=True)]
        ).reshape(len(series), days.size),
        sessions,
        spans - days.size,
        sessions - spans,
    )


def _compounded(values: Floats, places: Integers) -> Floats:
    """Return the return up to each place from the place before, of the first place its own."""
    returns = values[places]
    several = np.diff(places) > 1
    if several.any():
        growth = np.multiply.reduceat(1.0 + values[: places[-1] + 1], places[:-1] + 1)
        returns[1:][several] = growth[several] - 1.0
    return returns
