"""Daily returns of one book of a run, read from its ledger."""

from __future__ import annotations

from typing import Final

import numpy as np

from datasets.figures.daily_returns import DailyReturns
from datasets.figures.equity import period_returns
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotUnreadable
from serve.cache import SizedLRUCache

TABLE: Final = "portfolio"
_COLUMNS: Final = ("date", "starting_equity", "ending_equity")


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
