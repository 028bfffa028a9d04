"""Whole ledgers in memory: an equity curve is measured anew for every window, from columns that were read once."""

from __future__ import annotations

import datetime as dt

import polars as pl

from datasets.snapshot import Snapshot
from serve.equity import LEDGER_COLUMNS
from serve.held.kept import KeptByBytes, owner_of
from serve.query.books import ledger_window
from serve.reader import Reader


class HeldLedgers:
    """The columns equity curves are made of, of the books asked for most recently. Safe to share between threads.

    Parameters
    ----------
    reader
        What reads the files.
    limit
        Bytes.
    """

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader = reader
        self.kept: KeptByBytes[pl.DataFrame] = KeptByBytes(limit)

    def window(
        self, snapshot: Snapshot, book: str, first: dt.date | None, last: dt.date | None
    ) -> pl.DataFrame:
        """Return a book's sessions from one day to another, ascending, with :data:`serve.equity.LEDGER_COLUMNS`.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.

        Raises
        ------
        SnapshotCorrupt
            When the file is gone or cannot be read.
        """
        owner = owner_of(snapshot)
        ledger = self.kept.get(owner, book)
        if ledger is None:
            ledger = self._reader.frame(
                ledger_window(snapshot.file("portfolio", book), LEDGER_COLUMNS, None, None)
            )
            self.kept.put(owner, book, ledger, int(ledger.estimated_size()))
        days = ledger["date"]
        start = 0 if first is None else int(days.search_sorted(first, "left"))
        end = len(days) if last is None else int(days.search_sorted(last, "right"))
        return ledger.slice(start, max(0, end - start))
