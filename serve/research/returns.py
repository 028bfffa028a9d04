"""Daily returns of a run's book, from its ledger."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.comparison import EQUITY, LEDGER
from datasets.figures.daily_returns import DailyReturns, returns_of
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotUnreadable
from serve.cache import SizedLRUCache


def read_returns(snapshot: Snapshot, book: str) -> DailyReturns:
    """Read the returns of a book; empty if the run does not have it.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone, is not what was published, or cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    if not snapshot.has_rows(LEDGER, book):
        return DailyReturns(np.empty(0, np.int32), np.empty(0))
    import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = snapshot.file(LEDGER, book)
    try:
        # A third of the cost of a separate query, which matters for ten thousand ledgers.
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(EQUITY), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise SnapshotUnreadable(f"a published file cannot be read: {error}") from error
    days, starting, ending = pl.DataFrame(table)
    equity = (column.cast(pl.Float64).to_numpy() for column in (starting, ending))
    return returns_of(days.to_physical().to_numpy(), *equity)


class Returns:
    """Daily returns of runs, with a memory cache. Thread-safe.

    Parameters
    ----------
    cache
        Where they stay.
    """

    def __init__(self, cache: SizedLRUCache[DailyReturns]) -> None:
        self._cache = cache

    def load(self, snapshot: Snapshot, book: str) -> DailyReturns:
        """Return the daily returns of a book of the snapshot; errors as in :func:`read_returns`."""
        return self._cache.get_or_load(
            snapshot.key, book, lambda: read_returns(snapshot, book), lambda x: x.nbytes
        )
