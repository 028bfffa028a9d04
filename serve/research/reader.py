"""Reads the data of comparisons through the cache of the service."""

from __future__ import annotations

from dataclasses import dataclass

from datasets.comparison import ComparisonQuery, no_data, read_returns
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from serve.cache import SizedLRUCache
from serve.pages.books import visible_books


@dataclass(frozen=True, slots=True)
class ServedReader:
    """Reads the runs that a key may read.

    Attributes
    ----------
    cache
        Where daily returns stay.
    raw
        Whether the key sees the books of the unconditioned signal.
    """

    cache: SizedLRUCache[DailyReturns]
    raw: bool

    def has_rows(self, run: Snapshot, query: ComparisonQuery) -> bool:
        """Whether a run has rows to compare, of a book that the key can read."""
        book = query.compared_book
        if book is not None and book not in visible_books(run, raw=self.raw):
            return False
        return run.has_rows(query.table, book)

    def no_data(self, query: ComparisonQuery) -> Unavailable:
        """Return the reason that a run has no rows to compare."""
        return no_data(query, " that the key can read")

    def returns(self, run: Snapshot, book: str) -> DailyReturns:
        """Return the daily returns of a book."""
        return self.cache.get_or_load(run.key, book, lambda: read_returns(run, book), lambda x: x.nbytes)
