"""Daily returns of a book by session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from datasets.figures.equity import period_returns
from datasets.figures.series import Floats
from datasets.figures.window import Window

Days = npt.NDArray[np.int32]
"""Days since 1970-01-01, ascending, unique."""
_EPOCH: Final = np.datetime64("1970-01-01", "D")


@dataclass(frozen=True, slots=True)
class DailyReturns:
    """Daily returns of a book, and the sessions that have none.

    Attributes
    ----------
    days : Days, shape (n_returns,)
        Sessions with a return, ascending.
    values : Floats, shape (n_returns,)
        Change of equity over opening equity, a fraction; finite.
    missing : Days, shape (n_missing,)
        Sessions without a return, as of a book in debt; ascending.
    """

    days: Days
    values: Floats
    missing: Days = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.days.nbytes + self.values.nbytes + self.missing.nbytes

    def within(self, window: Window) -> DailyReturns:
        """Select the sessions of a window.

        Parameters
        ----------
        window : Window
            Days to keep.

        Returns
        -------
        DailyReturns
            Views of the arrays.
        """
        rows = _rows(self.days, window)
        return DailyReturns(self.days[rows], self.values[rows], self.missing[_rows(self.missing, window)])

    @property
    def span(self) -> tuple[str | None, str | None]:
        """First and last day as ISO 8601 text; both None if empty."""
        return span(self.days)


def returns_of(days: Days, starting: Floats, ending: Floats) -> DailyReturns:
    """Return the daily returns of a ledger.

    Parameters
    ----------
    days : Days, shape (n_sessions,)
        Ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity; NaN stands for null.

    Returns
    -------
    DailyReturns
        A session is missing when its opening equity is null or not above 0, its closing equity is null, or its return is
        not finite.
    """
    with np.errstate(all="ignore"):
        values = period_returns(starting, ending)
    finite = np.isfinite(values)
    return DailyReturns(days[finite], values[finite], days[~finite])


def _rows(days: Days, window: Window) -> slice:
    first, last = day_numbers(window)
    return slice(int(np.searchsorted(days, first)), int(np.searchsorted(days, last + 1)))


def day_numbers(window: Window) -> tuple[int, int]:
    """Convert the ends of a window to day numbers.

    Parameters
    ----------
    window : Window
        Days, both ends included.

    Returns
    -------
    first, last : int
        Days since 1970-01-01; an open end lies beyond all days.
    """
    first = -(2**30) if window.first is None else int((np.datetime64(window.first, "D") - _EPOCH).astype(int))
    last = 2**30 if window.last is None else int((np.datetime64(window.last, "D") - _EPOCH).astype(int))
    return first, last


def span(days: Days) -> tuple[str | None, str | None]:
    """Return the first and last day as text.

    Parameters
    ----------
    days : Days, shape (n_days,)
        Ascending; may be empty.

    Returns
    -------
    first, last : str or None
        ISO 8601; both None if empty.
    """
    return (str(_EPOCH + int(days[0])), str(_EPOCH + int(days[-1]))) if days.size else (None, None)
