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
    """The sessions with a return, and the returns.

    Attributes
    ----------
    days
        Ascending.
    values
        Change of equity over the session's opening equity; finite, as long as `days`.
    without
        Sessions without a return, as of a book in debt; ascending.
    """

    days: Days
    values: Floats
    without: Days = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.days.nbytes + self.values.nbytes + self.without.nbytes

    def within(self, window: Window) -> DailyReturns:
        """Return the sessions of a window, without a copy."""
        cut = window_rows(self.days, window)
        return DailyReturns(self.days[cut], self.values[cut], self.without[window_rows(self.without, window)])

    @property
    def span(self) -> tuple[str | None, str | None]:
        """First and last day; both None if empty."""
        return span(self.days)


def returns_of(days: Days, starting: Floats, ending: Floats) -> DailyReturns:
    """Return the daily returns of a ledger.

    Parameters
    ----------
    days : Days, shape (n_sessions,)
        Ascending.
    starting, ending : Floats, shape (n_sessions,)
        Opening and closing equity.
    """
    with np.errstate(all="ignore"):
        values = period_returns(starting, ending)
    known = np.isfinite(values)
    return DailyReturns(days[known], values[known], days[~known])


def window_rows(days: Days, window: Window) -> slice:
    """Return the slice of the days of a window."""
    first, last = day_numbers(window)
    return slice(int(np.searchsorted(days, first)), int(np.searchsorted(days, last + 1)))


def day_numbers(window: Window) -> tuple[int, int]:
    """Return the first and last day of a window as day numbers; an open end lies beyond all days."""
    first = -(2**30) if window.first is None else int((np.datetime64(window.first, "D") - _EPOCH).astype(int))
    last = 2**30 if window.last is None else int((np.datetime64(window.last, "D") - _EPOCH).astype(int))
    return first, last


def span(days: Days) -> tuple[str | None, str | None]:
    """Return the first and last of some days as text; both None if empty."""
    return (None, None) if days.size == 0 else (iso(int(days[0])), iso(int(days[-1])))


def iso(day: int) -> str:
    """Return a day as text."""
    return str(_EPOCH + day)
