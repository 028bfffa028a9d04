"""Whole ledgers in memory: an equity curve is measured anew for every window, from columns that were read once."""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np

from datasets.snapshot import Snapshot
from serve.cache.lru import SizedLRUCache, snapshot_key
from serve.cache.miss import CacheMiss
from serve.query.books import ledger_window
from serve.query.duckdb import Reader
from serve.query.equity import LEDGER_COLUMNS, Ledger, ledger_of

_AT_ONCE: Final = 5_000
"""Sessions that may be measured on the event loop; more would keep other requests waiting."""


class LedgerCache:
    """What equity curves are made of, of the books asked for most recently. Safe to share between threads.

    Parameters
    ----------
    reader
        What reads the files.
    limit
        Bytes.
    """

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader = reader
        self.kept: SizedLRUCache[Ledger] = SizedLRUCache(limit)

    def window(
        self, snapshot: Snapshot, book: str, first: dt.date | None, last: dt.date | None, *, hurried: bool
    ) -> tuple[Ledger, tuple[int, int]]:
        """Return a book's ledger, and where the sessions from one day to another stand in it.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.
        hurried
            Answer from memory alone, and only what is measured at once.

        Returns
        -------
        tuple
            The ledger; the number of the window's first session and of the one after its last.

        Raises
        ------
        CacheMiss
            When `hurried`, and the ledger is not in memory or the window is long.
        SnapshotCorrupt
            When the file is gone or cannot be read.
        """
        owner = snapshot_key(snapshot)
        ledger = self.kept.get(owner, book)
        if ledger is None:
            if hurried:
                raise CacheMiss
            ledger = ledger_of(
                self._reader.frame(
                    ledger_window(snapshot.file("portfolio", book), LEDGER_COLUMNS, None, None)
                )
            )
            self.kept.put(owner, book, ledger, ledger.bytes)
        days = ledger.dates
        start = 0 if first is None else int(days.searchsorted(np.datetime64(first, "D"), "left"))
        end = len(days) if last is None else int(days.searchsorted(np.datetime64(last, "D"), "right"))
        end = max(start, end)
        if hurried and end - start > _AT_ONCE:
            raise CacheMiss
        return ledger, (start, end)
