"""Reads the ledgers of many runs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from datasets.analysis.comparison import EQUITY, LEDGER
from datasets.figures.daily_returns import DailyReturns, returns_of
from datasets.snapshot import Snapshot


def read_ledgers(runs: Sequence[Snapshot], book: str) -> list[DailyReturns]:
    """Read the daily returns of a book of some runs in one query, which takes a third of the time of a query for each.

    Parameters
    ----------
    runs : sequence of Snapshot
        The runs.
    book : str
        Name of the book.

    Returns
    -------
    list of DailyReturns
        As :func:`datasets.analysis.comparison.read_returns` for each run, in their order.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When the file of any run is missing, damaged or unreadable.
    polars.exceptions.PolarsError
        When the file of any run cannot be decoded.
    """
    rows = [run.n_rows(LEDGER, book) for run in runs]
    paths = [run.file(LEDGER, book) for run, count in zip(runs, rows, strict=True) if count]
    if not paths:
        return [returns_of(np.empty(0, np.int32), np.empty(0), np.empty(0)) for _ in runs]
    files = pl.scan_parquet(paths, hive_partitioning=False, glob=False, extra_columns="ignore")
    ledgers = files.select(EQUITY).collect()
    days = ledgers["date"].cast(pl.Int32).to_numpy()
    starting, ending = (ledgers[name].cast(pl.Float64).to_numpy() for name in EQUITY[1:])
    ends = np.cumsum(rows)
    parts = [slice(end - count, end) for end, count in zip(ends.tolist(), rows, strict=True)]
    return [returns_of(days[part], starting[part], ending[part]) for part in parts]
