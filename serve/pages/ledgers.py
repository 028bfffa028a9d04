"""Whole ledgers in memory: an equity curve is measured anew for every window, from columns that were read once."""

from __future__ import annotations

from typing import Final

from datasets.snapshot import Snapshot
from schemas.tables import TABLES
from serve.cache.lru import SizedLRUCache
from serve.pages.equity import LEDGER_COLUMNS, Ledger, make_ledger
from serve.pages.reader import Reader
from serve.pages.sql import select_all

_TABLE: Final = TABLES["portfolio"]


class Ledgers:
    """What equity curves are made of. Safe to share between threads.

    Parameters
    ----------
    reader
        What reads the files.
    cache
        Where ledgers stay.
    """

    def __init__(self, reader: Reader, cache: SizedLRUCache[Ledger]) -> None:
        self._reader = reader
        self._cache = cache

    def cached(self, snapshot: Snapshot, book: str) -> Ledger | None:
        """Return a book's ledger when it was read before."""
        return self._cache.get(snapshot.key, book)

    def load(self, snapshot: Snapshot, book: str) -> Ledger:
        """Return a book's ledger.

        Raises
        ------
        SnapshotCorrupt
            When the file is gone or cannot be read.
        """

        def read() -> Ledger:
            file = snapshot.file("portfolio", book)
            return make_ledger(self._reader.engine.frame(select_all(_TABLE, file, LEDGER_COLUMNS)))

        return self._cache.get_or_load(snapshot.key, book, read, lambda ledger: ledger.bytes)
