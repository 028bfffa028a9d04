"""Daily returns of one book of a run, read from its ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from datasets.figures.equity import period_returns
from datasets.figures.series import Floats
from datasets.figures.window import Window
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotUnreadable
from serve.cache import SizedLRUCache

Days = npt.NDArray[np.int32]
"""Days since 1970-01-01, ascending, none twice."""
TABLE: Final = "portfolio"
_COLUMNS: Final = ("date", "starting_equity", "ending_equity")
_EPOCH: Final = np.datetime64("1970-01-01", "D")


@dataclass(frozen=True, slots=True)
class DailyReturns:
    """The sessions on which a book has a return.

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
        """Memory taken."""
        return self.days.nbytes + self.values.nbytes + self.without.nbytes

    def within(self, window: Window) -> DailyReturns:
        """Return the sessions of a window; nothing is copied."""
        cut = window_rows(self.days, window)
        return DailyReturns(self.days[cut], self.values[cut], self.without[window_rows(self.without, window)])

    @property
    def span(self) -> tuple[str | None, str | None]:
        """First and last day; None twice when there is none."""
        return span(self.days)


def window_rows(days: Days, window: Window) -> slice:
    """Return the place of the days of a window."""
    first, last = day_numbers(window)
    return slice(int(np.searchsorted(days, first)), int(np.searchsorted(days, last + 1)))


def day_numbers(window: Window) -> tuple[int, int]:
    """Return the first and last day of a window as numbers; an open end is beyond every day."""
    first = -(2**30) if window.first is None else int((np.datetime64(window.first, "D") - _EPOCH).astype(int))
    last = 2**30 if window.last is None else int((np.datetime64(window.last, "D") - _EPOCH).astype(int))
    return first, last


def span(days: Days) -> tuple[str | None, str | None]:
    """Return the first and last of some days as text; None twice when there is none."""
    return (None, None) if days.size == 0 else (iso(int(days[0])), iso(int(days[-1])))


def iso(day: int) -> str:
    """Return a day as text."""
    return str(_EPOCH + day)


def read_returns(snapshot: Snapshot, book: str) -> DailyReturns:
    """Read the returns of a book; with no session where the run has none of it.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone, is not what was published, or cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    if not snapshot.has_rows(TABLE, book):
        return DailyReturns(np.empty(0, np.int32), np.empty(0))
    import pyarrow as pa  # noqa: PLC0415 - a tenth of a second that no start waits for
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = snapshot.file(TABLE, book)
    try:
        # A third of what a query of its own costs, which counts when ten thousand ledgers are read.
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(_COLUMNS), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise SnapshotUnreadable(f"a published file cannot be read: {error}") from error
    days = table["date"].cast(pa.int32()).to_numpy()
    with np.errstate(all="ignore"):
        values = period_returns(*(table[name].to_numpy().astype(np.float64) for name in _COLUMNS[1:]))
    known = np.isfinite(values)
    return DailyReturns(days[known], values[known], days[~known])


class Returns:
    """Daily returns of runs, the ones used last in memory. Safe to share between threads.

    Parameters
    ----------
    cache
        Where they stay.
    """

    def __init__(self, cache: SizedLRUCache[DailyReturns]) -> None:
        self._cache = cache

    def load(self, snapshot: Snapshot, book: str) -> DailyReturns:
        """Return those of a book that the snapshot has rows of; errors as of :func:`read_returns`."""
        return self._cache.get_or_load(
            snapshot.key, book, lambda: read_returns(snapshot, book), lambda x: x.nbytes
        )
