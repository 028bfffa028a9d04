"""Adjacent row ranges of a run's large tables, and numbered symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags
from pipeline.notices.probe import MAX_NAMES, name_digest
from pipeline.reconciliation.tables import CodedSymbols, Runs, Tables

ReadColumns = Callable[[str, tuple[str, ...]], Iterable[Tables]]
"""Yields a table with at least the given columns, in parts that share their symbol numbers; one part if it is in memory."""

BOOK_BITS: Final = 52
"""Bits of day and symbol below the number of the book."""


def to_days(days: pl.Series) -> Integers:
    """Return a column of dates, or of instants in UTC, as days since 1970."""
    return days.cast(pl.Date).cast(pl.Int32).to_numpy()


def place_in(values: Integers, ascending: Integers) -> tuple[Integers, Flags]:
    """Return the index of each value in an ascending array, and whether the array contains it.

    Indices are valid unless the array is empty.

    Parameters
    ----------
    values
        Values of any shape.
    ascending
        Ascending array; empty for a table without rows.
    """
    if ascending.size == 0:
        return np.zeros(values.shape, np.int64), np.zeros(values.shape, np.bool_)
    place = np.minimum(np.searchsorted(ascending, values), ascending.size - 1)
    return place, ascending[place] == values


@dataclass(frozen=True, slots=True)
class BookRows:
    """Selected rows of a table, with their run, the index of their book in the selection, and their day."""

    rows: Integers
    run: Integers
    book: Integers
    day: Integers

    def cells(self, codes: NDArray[np.uint32]) -> Integers:
        """Encode book, day and symbol of each row as one number; `codes` are the symbol codes of the table."""
        return (
            (self.book << BOOK_BITS) + (self.day.astype(np.int64) << 32) + codes[self.rows].astype(np.int64)
        )


def select_rows(runs: Runs, books: list[str], moment: str, days: Integers) -> BookRows:
    """Return the rows of some books on some days; `days` ascends."""
    day = to_days(runs.heads[moment])
    places = {book: place for place, book in enumerate(books)}
    book = runs.heads["book"].replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
    run, rows = expanded(runs, np.flatnonzero((book >= 0) & place_in(day, days)[1]))
    return BookRows(rows, run, book[run], day[run])


def expanded(runs: Runs, chosen: Integers) -> tuple[Integers, Integers]:
    """Return the run of each row of some runs, and the rows."""
    length = runs.lengths[chosen]
    run = np.repeat(chosen, length)
    return run, np.arange(run.size) + np.repeat(runs.starts[chosen] - np.cumsum(length) + length, length)


class Symbols:
    """Symbols by number; some numbers may be unused."""

    def __init__(self) -> None:
        self._numbered: list[CodedSymbols] = []
        """Keeps the numbering of Polars alive."""
        self._names: dict[int, str] = {}
        self._digests: dict[int, tuple[int, str]] = {}
        self.width = 0
        """One more than the highest number so far."""

    def codes(self, symbols: CodedSymbols) -> NDArray[np.uint32]:
        """Add the names of a column, and return their numbers."""
        self._numbered.append(symbols)
        numbers = symbols.distinct.to_physical().to_list()
        if not self._names.keys() >= set(numbers):
            self._names.update(zip(numbers, symbols.distinct.cast(pl.String), strict=True))
            self._digests = {code: name_digest(name) for code, name in self._names.items()}
            self.width = max(self._names) + 1
        return symbols.codes

    def names(self, codes: Integers) -> list[str]:
        """Return the names of some numbers."""
        return [self._names[code] for code in codes.tolist()]

    def first(self, among: Flags) -> Integers:
        """Return the numbers of the first 64 marked symbols by digest."""
        codes = sorted(np.flatnonzero(among).tolist(), key=self._digests.__getitem__)
        return np.array(codes[:MAX_NAMES], np.int64)
