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
from pipeline.reconciliation.row_ranges import RowRanges, row_numbers
from pipeline.reconciliation.tables import CodedSymbols, Tables

ReadColumns = Callable[[str, tuple[str, ...]], Iterable[Tables]]
"""Yields a table with at least the given columns, in parts that share their symbol numbers; one part if it is in memory."""

BOOK_BITS: Final = 52
"""Bits of day and symbol below the number of the book."""
DAY_BITS: Final = 32
"""Bits of the symbol below the day."""


def to_days(days: pl.Series) -> Integers:
    """Return a column of dates, or of instants in UTC, as days since 1970."""
    return days.cast(pl.Date).cast(pl.Int32).to_numpy()


def place_in(values: Integers, distinct: Integers) -> tuple[Integers, Flags]:
    """Return the index of each value in an array, and whether the array contains it.

    Indices are valid unless the array is empty.

    Parameters
    ----------
    values
        Values of any shape.
    distinct
        Distinct values in any order; empty for a table without rows.
    """
    if distinct.size == 0:
        return np.zeros(values.shape, np.int64), np.zeros(values.shape, np.bool_)
    order = np.argsort(distinct, kind="stable")
    place = order[np.minimum(np.searchsorted(distinct, values, sorter=order), distinct.size - 1)]
    return place, distinct[place] == values


@dataclass(frozen=True, slots=True)
class BookRows:
    """Selected rows of a table: numbers, row ranges, indices of their books in the selection, and days."""

    rows: Integers
    row_range: Integers
    book: Integers
    day: Integers

    def cells(self, codes: NDArray[np.uint32]) -> Integers:
        """Encode book, day and symbol of each row as one number; `codes` are the symbol codes of the table."""
        days = self.day.astype(np.int64) << DAY_BITS
        return (self.book << BOOK_BITS) + days + codes[self.rows].astype(np.int64)


def select_rows(ranges: RowRanges, books: list[str], moment: str, days: Integers) -> BookRows:
    """Return the rows of some books on some days; `days` ascends."""
    day = to_days(ranges.heads[moment])
    places = {book: place for place, book in enumerate(books)}
    book = ranges.heads["book"].replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
    row_range, rows = rows_of_ranges(ranges, np.flatnonzero((book >= 0) & place_in(day, days)[1]))
    return BookRows(rows, row_range, book[row_range], day[row_range])


def rows_of_ranges(ranges: RowRanges, chosen: Integers) -> tuple[Integers, Integers]:
    """Return the range of each row of some ranges, and the rows."""
    length = ranges.lengths[chosen]
    return np.repeat(chosen, length), row_numbers(ranges.starts[chosen], length)


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

    def add_seen(self, seen: Flags, codes: NDArray[np.uint32]) -> tuple[Flags, Integers]:
        """Mark the symbols of some rows as seen; return the marks, and the rows of the first 64 symbols seen so far.

        A symbol that is among the first 64 of all is also among the first 64 of those seen so far.
        """
        seen = np.concatenate([seen, np.zeros(max(0, self.width - seen.size), np.bool_)])
        seen[codes] = True
        first = np.zeros(seen.size, np.bool_)
        first[self.first(seen)] = True
        return seen, np.flatnonzero(first[codes])
