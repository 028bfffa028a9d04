"""Daily returns of one book of a run, read from its ledger."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.comparison import EQUITY, LEDGER
from datasets.figures.daily_returns import DailyReturns, returns_of
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotUnreadable
from serve.cache import SizedLRUCache


def read_returns(snapshot: Snapshot, book: str) -> DailyReturns:
    """Read the returns of a book; with no session where the run has none of it.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone, is not what was published, or cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    if not snapshot.has_rows(LEDGER, book):
        return DailyReturns(np.empty(0, np.int32), np.empty(0))
    import pyarrow as pa  # noqa: PLC0415 - a tenth of a second that no start waits for
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = snapshot.file(LEDGER, book)
    try:
        # A third of what a query of its own costs, which counts when ten thousand ledgers are read.
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(EQUITY), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise SnapshotUnreadable(f"a published file cannot be read: {error}") from error
    days, starting, ending = pl.DataFrame(table)
    equity = (column.cast(pl.Float64).to_numpy() for column in (starting, ending))
    return returns_of(days.to_physical().to_numpy(), *equity)


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
