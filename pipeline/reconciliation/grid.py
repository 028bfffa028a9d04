"""Rows of several tables on one grid of sessions and symbols, so that they can be compared cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BLOCK_CELLS: Final = 1 << 18
"""Cells of one block: a matrix of doubles this large stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Where the rows of one table lie on the grid.

    Attributes
    ----------
    session, symbol
        Codes of each row, sessions ascending; rows outside the grid are left out.
    rows
        Number of each row in its table; None when every row is there in its own order.
    """

    session: Codes
    symbol: Codes
    rows: Codes | None = None

    @classmethod
    def of(cls, session: Codes, symbol: Codes) -> Cells:
        """Order rows by session.

        Parameters
        ----------
        session, symbol
            Codes of each row of a table; negative where the grid has no such session or symbol.
        """
        rows: Codes | None = None
        if session.size and (int(session.min()) < 0 or int(symbol.min()) < 0):
            rows = np.flatnonzero((session >= 0) & (symbol >= 0))
            session, symbol = session[rows], symbol[rows]
        if np.all(session[1:] >= session[:-1]):
            return cls(session, symbol, rows)
        order = np.argsort(session, kind="stable")
        return cls(session[order], symbol[order], order if rows is None else rows[order])

    def values(self, column: Floats) -> Floats:
        """Return a column of the table as these rows have it."""
        return column if self.rows is None else column[self.rows]

    def row(self, places: Codes) -> Codes:
        """Return the numbers that rows have in their table."""
        return places if self.rows is None else self.rows[places]


@dataclass(frozen=True, slots=True)
class Block:
    """Some neighbouring sessions, and the one before them.

    Attributes
    ----------
    start, stop
        First session, and the one after the last.
    symbols
        Width of the grid.
    """

    start: int
    stop: int
    symbols: int

    def spread(self, cells: Cells, column: Floats, *, before: bool = False) -> Floats:
        """Put a column on the grid; cells of several rows hold their sum.

        Parameters
        ----------
        cells, column
            Where the rows lie, and the values in the order of `cells`.
        before
            Whether the session before the block is wanted too, as the first row.

        Returns
        -------
        Floats
            Shape (sessions, symbols); 0 where the table has no row.
        """
        first = self.start - 1 if before else self.start
        low, high = np.searchsorted(cells.session, (first, self.stop))
        height = self.stop - first
        key = (cells.session[low:high] - first) * self.symbols + cells.symbol[low:high]
        return totals(key, column[low:high], height * self.symbols).reshape(height, self.symbols)


def totals(code: Codes, values: Floats, size: int) -> Floats:
    """Sum values by code, shape (size,): float64 even of no values."""
    return np.bincount(code, weights=values, minlength=size).astype(np.float64, copy=False)


def blocks(sessions: int, symbols: int) -> Iterator[Block]:
    """Cut a grid into blocks of about :data:`BLOCK_CELLS`."""
    height = max(1, BLOCK_CELLS // max(1, symbols))
    for start in range(0, sessions, height):
        yield Block(start, min(start + height, sessions), symbols)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Cells in which two figures differ, by session and symbol.

    Attributes
    ----------
    session, symbol
        Codes.
    expected, actual
        What the other tables come to, and what is sealed.
    parts
        What the expected figure is made of, by name.
    """

    session: Codes
    symbol: Codes
    expected: Floats
    actual: Floats
    parts: Mapping[str, Floats]

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(self.session.size)


def gaps_in(block: Block, wrong: Flags, expected: Floats, actual: Floats, **parts: Floats) -> Gaps | None:
    """Pick the cells of a block that are wrong; None when none is."""
    if not wrong.any():
        return None
    row, symbol = np.nonzero(wrong)
    return Gaps(
        row + block.start,
        symbol,
        expected[row, symbol],
        actual[row, symbol],
        {name: values[row, symbol] for name, values in parts.items()},
    )


def joined(found: list[Gaps]) -> Gaps | None:
    """Put the findings of several blocks together; None when there are none."""
    if not found:
        return None
    return Gaps(
        session=np.concatenate([gaps.session for gaps in found]),
        symbol=np.concatenate([gaps.symbol for gaps in found]),
        expected=np.concatenate([gaps.expected for gaps in found]),
        actual=np.concatenate([gaps.actual for gaps in found]),
        parts={name: np.concatenate([gaps.parts[name] for gaps in found]) for name in found[0].parts},
    )
