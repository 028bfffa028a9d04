"""The names a run ever scored or traded, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from datasets.snapshot import Snapshot
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import BOOK_KINDS
from serve.cache.lru import SizedLRUCache, snapshot_key
from serve.cache.miss import CacheMiss
from serve.query.books import names_of
from serve.query.duckdb import Reader
from serve.query.readable_books import visible_books

_NAME_BYTES: Final = 128
"""What a name takes in a set, about."""
_SCORED: Final = "decisions"


class RunSymbols:
    """The names of runs, read once a snapshot. Safe to share between threads.

    Parameters
    ----------
    reader
        What reads the files.
    limit
        Bytes.
    """

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader = reader
        self.kept: SizedLRUCache[frozenset[str]] = SizedLRUCache(limit)

    def known(
        self, snapshot: Snapshot, asked: Collection[str], *, raw: bool, at_once: bool
    ) -> Collection[str]:
        """Return names the run has: those it scored, and those its books have when that does not hold all asked for.

        Parameters
        ----------
        raw
            Whether the key sees the books of the unconditioned signal, which may hold others.
        at_once
            Answer from memory alone.

        Raises
        ------
        CacheMiss
            When `at_once`, and the names were not read.
        SnapshotCorrupt
            When a file is gone or cannot be read.
        """
        scored = self._names(snapshot, (_SCORED,), (), at_once=at_once)
        if scored.issuperset(asked):
            return scored
        kinds = [kind for kind in BOOK_KINDS if "symbol" in PUBLISHED_TABLES[kind]]
        return scored | self._names(snapshot, kinds, visible_books(snapshot, raw=raw), at_once=at_once)

    def _names(
        self, snapshot: Snapshot, kinds: Sequence[str], books: tuple[str, ...], *, at_once: bool
    ) -> frozenset[str]:
        owner = snapshot_key(snapshot)
        found = self.kept.get(owner, books)
        if found is not None:
            return found
        if at_once:
            raise CacheMiss
        parts = [(kind, book) for kind in kinds for book in books or (None,)]
        files = [snapshot.file(*part) for part in parts if snapshot.has(*part)]
        found = frozenset[str]().union(*(self._reader.frame(names_of(file))["symbol"] for file in files))
        self.kept.put(owner, books, found, len(found) * _NAME_BYTES)
        return found
