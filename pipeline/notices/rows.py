"""Rows of a run's large tables by runs of adjacent ones, and their symbols by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags
from pipeline.notices.probe import first_names
from pipeline.reconciliation.grid import Codes
from pipeline.reconciliation.tables import CodedSymbols, Runs, Tables

ReadColumns = Callable[[str, tuple[str, ...]], Iterable[Tables]]
"""Yields a table with some columns at least, part by part, symbols numbered alike in all parts; one part where it is in memory."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
BOOK_BITS: Final = 52
"""Below the number of a book, those of day and symbol take up so many bits."""


def days_of(days: pl.Series) -> Integers:
    """Return a column of dates as days since 1970."""
    return days.to_physical().to_numpy()


@dataclass(frozen=True, slots=True)
class BookRows:
    """Some rows of a table, with the place of their book among those that were asked for, and their day."""

    rows: Integers
    book: Integers
    day: Integers


def rows_of(runs: Runs, books: list[str], moment: str, days: Integers) -> BookRows:
    """Find the rows of some books on some days."""
    day = days_of(runs.heads[moment].cast(pl.Date))
    place = (
        runs.heads["book"]
        .replace_strict(books, range(len(books)), default=-1, return_dtype=pl.Int64)
        .to_numpy()
    )
    own = np.flatnonzero((place >= 0) & np.isin(day, days))
    run, rows = expanded(runs, own)
    return BookRows(rows, place[run], day[run])


def expanded(runs: Runs, chosen: Integers) -> tuple[Integers, Integers]:
    """Return the rows of some runs, and of each the number of its run."""
    length = runs.lengths[chosen]
    run = np.repeat(chosen, length)
    return run, np.arange(run.size) + np.repeat(runs.starts[chosen] - np.cumsum(length) + length, length)


def cells_of(rows: BookRows, codes: NDArray[np.uint32]) -> Codes:
    """Number book, day and symbol of some rows."""
    return (rows.book << BOOK_BITS) + (rows.day.astype(np.int64) << 32) + codes.astype(np.int64)


def period(first: int, last: int) -> str:
    """Name a period by its days, given as days since 1970."""
    return f"{date.fromordinal(_EPOCH + int(first))} {date.fromordinal(_EPOCH + int(last))}"


class Symbols:
    """Symbols by number; some numbers may belong to none."""

    def __init__(self) -> None:
        self._numbered: list[CodedSymbols] = []
        """While one such column lives, so does the numbering."""
        self._names: dict[int, str] = {}
        self.width = 0
        """One more than the highest number so far."""

    def codes(self, symbols: CodedSymbols) -> NDArray[np.uint32]:
        """Take the names of a column into account, and return its numbers."""
        self._numbered.append(symbols)
        self._names.update(symbols.names.iter_rows())
        self.width = max(self.width, symbols.width)
        return symbols.codes

    def names(self, codes: Integers) -> list[str]:
        """Return the names of some numbers."""
        return [self._names[code] for code in codes.tolist()]

    def first(self, among: Flags) -> Integers:
        """Return the numbers of up to 64 symbols that stand first by digest, of those marked."""
        known = {self._names[code]: code for code in np.flatnonzero(among).tolist()}
        return np.array([known[name] for name in first_names(known)], np.int64)
