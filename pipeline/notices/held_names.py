"""Up to 64 names that a book held, session by session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.pnl import Received
from pipeline.notices.rows import Symbols, place_in, rows_of_ranges, to_days
from pipeline.reconciliation.row_ranges import RowRanges
from schemas.tables.pnl import ADJUSTMENTS


@dataclass(frozen=True, slots=True)
class Holdings:
    """Some names of a book by session; every array has shape (names, sessions), NaN where the name is not held at the close.

    Attributes
    ----------
    book
        Name of the book.
    codes
        Number of each name, ascending, shape (names,).
    days
        Sessions as days since 1970, ascending, shape (sessions,).
    marks
        Marks at the close.
    quantities
        Shares; negative where the position is short.
    received, paid
        Shares and cash received without a fill, such as by a split or a dividend; 0 where none were, None where the run sealed no
        quantity_adjustment or no cash_adjustment.
    """

    book: str
    codes: Integers
    days: Integers
    marks: Floats
    quantities: Floats
    received: Floats | None = None
    paid: Floats | None = None

    def notional(self, codes: Integers, days: Integers) -> Floats:
        """Return the signed value of names at the close of the first session after each day, shape (codes, days); 0 where not held."""
        (row, known), column = place_in(codes, self.codes), np.searchsorted(self.days, days, side="right")
        value = np.zeros((codes.size, days.size))
        at = np.ix_(known, column < self.days.size)
        of = np.ix_(row[known], column[column < self.days.size])
        value[at] = np.nan_to_num(self.quantities[of] * self.marks[of])
        return value


class HeldNames:
    """Collects the holdings of a book from the parts of its positions.

    Parameters
    ----------
    book
        Name of the book.
    sessions
        Days since 1970, ascending.
    symbols
        Symbols numbered so far.
    """

    def __init__(self, book: str, sessions: Integers, symbols: Symbols) -> None:
        self._book, self._sessions, self.symbols = book, sessions, symbols
        self._held = np.zeros(0, np.bool_)
        self._parts: list[tuple[Integers, Integers, Floats, Floats]] = []

    def add(self, ranges: RowRanges, codes: NDArray[np.uint32], positions: pl.DataFrame) -> None:
        """Add the rows of a part."""
        row_range, rows = rows_of_ranges(
            ranges, np.flatnonzero((ranges.heads["book"] == self._book).to_numpy())
        )
        self._held, chosen = self.symbols.add_seen(self._held, codes[rows])
        rows, day = rows[chosen], to_days(ranges.heads["date"])[row_range[chosen]]
        quantity, marks = (positions[name].to_numpy()[rows] for name in ("quantity", "mark_price"))
        self._parts.append((day, codes[rows].astype(np.int64), marks, quantity))

    def holdings(self, received: Mapping[str, Received]) -> Holdings | None:
        """Return the holdings, with the shares and the cash that the book received without a fill; None if the book held no name."""
        codes = np.sort(self.symbols.first(self._held))
        if not codes.size:
            return None
        day, code, *columns = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        marks, quantities = (self._placed(codes, day, code, values, np.nan) for values in columns)
        adjustments = [
            self._placed(codes, *received[name], 0.0) if name in received else None for name in ADJUSTMENTS
        ]
        return Holdings(self._book, codes, self._sessions, marks, quantities, *adjustments)

    def _placed(self, codes: Integers, day: Integers, code: Integers, values: Floats, empty: float) -> Floats:
        """Return values by name and session."""
        (row, known), (column, within) = place_in(code, codes), place_in(day, self._sessions)
        among = known & within
        table = np.full((codes.size, self._sessions.size), empty)
        table[row[among], column[among]] = values[among]
        return table
