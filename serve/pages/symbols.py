"""The symbols that a run ever scored or traded, in memory, to report requested ones that it never had: most are misspelt."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from datasets.snapshot import Snapshot
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import BOOK_KINDS
from serve.cache import SizedLRUCache
from serve.pages.books import visible_books
from serve.pages.duckdb import Engine, select_symbols, source
from serve.pages.query import UnknownSymbol

_SYMBOL_BYTES: Final = 128
"""Approximate memory of a symbol in a set, in bytes."""
_SCORED: Final = "decisions"
_TRADED: Final = tuple(kind for kind in BOOK_KINDS if "symbol" in PUBLISHED_TABLES[kind])
_Symbols = frozenset[str]


class RunSymbols:
    """The symbols of runs, read once for each snapshot. Safe to share between threads.

    Parameters
    ----------
    engine
        Reads the files.
    cache
        Cache of symbols.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[_Symbols]) -> None:
        self._engine = engine
        self._cache = cache

    def unknown(
        self, snapshot: Snapshot, requested: Collection[str], *, raw: bool, at_once: bool = False
    ) -> tuple[UnknownSymbol, ...] | None:
        """Return the symbols that the run neither scored nor traded.

        Parameters
        ----------
        raw
            Whether the key sees the books of the unconditioned signal, which may hold other symbols.
        at_once
            Whether to answer from memory only; returns None if the symbols have not been read yet.

        Raises
        ------
        SnapshotCorrupt
            When a file is missing or cannot be read.
        """

        def symbols(books: tuple[str, ...]) -> _Symbols | None:
            return self._cache.get(snapshot.key, books) if at_once else self._load(snapshot, books)

        known = symbols(())
        if known is None or known.issuperset(requested):
            return None if known is None else ()
        books = visible_books(snapshot, raw=raw)
        traded = symbols(books) if books else _Symbols()
        if traded is None:
            return None
        known |= traded
        spelled = {name.casefold(): name for name in known}
        return tuple(UnknownSymbol(x, spelled.get(x.casefold())) for x in requested if x not in known)

    def _load(self, snapshot: Snapshot, books: tuple[str, ...]) -> _Symbols:
        kinds = _TRADED if books else (_SCORED,)

        def read() -> _Symbols:
            parts = [(kind, book) for kind in kinds for book in books or (None,)]
            files = [snapshot.file(*part) for part in parts if snapshot.has(*part)]
            return _Symbols().union(
                *(self._engine.frame(select_symbols(source(file)))["symbol"] for file in files)
            )

        return self._cache.get_or_load(snapshot.key, books, read, lambda x: len(x) * _SYMBOL_BYTES)
