"""Rows of several tables on one grid of sessions and symbols, for comparison cell by cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Symbols = npt.NDArray[np.int64] | npt.NDArray[np.uint32]
Rows = slice | Codes

BLOCK_CELLS: Final = 1 << 18
"""Cells of one block, including empty ones, so that the arrays of a block fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Positions of a table's rows on the grid, by runs of adjacent rows of one session.

    Attributes
    ----------
    session
        Session of each run, in the order of the table; negative where the grid has no such session.
    starts
        First row of each run, and behind the last one the number of rows; shape (runs + 1,).
    symbol
        Column of the grid of each row.
    ascending
        The runs by session, those of a session in the order of the table.
    """

    session: Codes
    starts: Codes
    symbol: Symbols
    ascending: Codes

    @classmethod
    def of(cls, session: Codes, lengths: Codes, symbol: Symbols) -> Cells:
        """Place the rows of a table.

        Parameters
        ----------
        session, lengths
            Session and number of rows of each run.
        symbol
            Column of the grid of each row.
        """
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        return cls(session, starts, symbol, np.argsort(session, kind="stable"))

    def within(self, start: int, stop: int) -> tuple[Rows, Codes]:
        """Return the rows of the sessions from `start` to before `stop`, and the session of each of them."""
        low, high = np.searchsorted(self.session, (start, stop), sorter=self.ascending)
        runs = self.ascending[low:high]
        return self._rows(runs), np.repeat(self.session[runs], self._lengths(runs))

    def of_sessions(self, sessions: Codes) -> tuple[Rows, Codes]:
        """Return the rows of some sessions, and for each row the index of its session among them."""
        low, high = (
            np.searchsorted(self.session, sessions, side, sorter=self.ascending) for side in ("left", "right")
        )
        runs = self.ascending[_ranges(low, high - low)]
        place = np.repeat(np.arange(sessions.size), high - low)
        return self._rows(runs), np.repeat(place, self._lengths(runs))

    def _lengths(self, runs: Codes) -> Codes:
        return self.starts[runs + 1] - self.starts[runs]

    def _rows(self, runs: Codes) -> Rows:
        if not runs.size:
            return slice(0, 0)
        if np.all(runs[1:] == runs[:-1] + 1):
            return slice(int(self.starts[runs[0]]), int(self.starts[runs[-1] + 1]))
        return _ranges(self.starts[runs], self._lengths(runs))


def _ranges(first: Codes, size: Codes) -> Codes:
    """Concatenate ranges: ``first[0], first[0] + 1, …, first[1], …``."""
    return np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())


@dataclass(frozen=True, slots=True)
class Place:
    """Rows of one table in a block, and the cell number of each."""

    rows: Rows
    cell: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Block:
    """The occupied cells of some neighbouring sessions, as a vector, because most of the grid is empty.

    Attributes
    ----------
    start
        First session.
    symbols
        Width of the grid.
    keys
        ``(session - start) * symbols + symbol`` of each occupied cell, ascending: a cell is occupied when any of the
        tables has a row in it, or in the cell of the same symbol in the session before.
    places, before
        Table -> where its rows lie, and where they lie one session later. Nothing is carried into the first session
        of a book.
    compared
        Whether each session is compared.
    """

    start: int
    symbols: int
    keys: Codes
    places: Mapping[Hashable, Place]
    before: Mapping[Hashable, Place]
    compared: Flags

    def spread(self, table: Hashable, column: Floats, *, before: bool = False) -> Floats:
        """Return a column on the occupied cells; a cell with several rows has their sum.

        Parameters
        ----------
        table, column
            What :func:`blocks` was given the table under, and one of its columns.
        before
            Whether each cell shall hold the figure of the session before, 0 in the first session of a book.

        Returns
        -------
        Floats
            Shape (occupied cells,); 0 where the table has no row.
        """
        place = (self.before if before else self.places)[table]
        return totals(place.cell, column[place.rows], self.keys.size)

    @property
    def session(self) -> Codes:
        """Session of each occupied cell, counted from the first one of the block."""
        return self.keys // self.symbols


def reduced_by_session(
    ufunc: np.ufunc, values: Floats, session: Codes, lengths: Codes, sessions: int
) -> Floats:
    """Reduce values of adjacent rows by session, starting from 0, shape (sessions,).

    Parameters
    ----------
    session, lengths
        Session, negative for none, and number of rows of each run of rows.
    """
    reduced = np.zeros(sessions)
    if session.size:
        known = session >= 0
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported as a finding
            by_run = ufunc.reduceat(values, np.cumsum(lengths) - lengths)
            ufunc.at(reduced, session[known], by_run[known])
    return reduced


def totals(code: npt.NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Sum values by code, shape (size,), float64 also for no values."""
    return np.bincount(code, weights=values, minlength=size).astype(np.float64, copy=False)


def blocks(
    tables: Mapping[Hashable, Cells], opens: Flags, symbols: int, *, carried: Hashable, compared: Flags
) -> Iterator[Block]:
    """Cut a grid into blocks of about :data:`BLOCK_CELLS`.

    Parameters
    ----------
    tables
        Where the rows of each table lie.
    opens
        Whether a session is the first of its book, shape (sessions,).
    symbols
        Width of the grid.
    carried
        The table whose rows are wanted one session later as well.
    compared
        Whether a session is compared, shape (sessions,); blocks without any are left out.
    """
    height = max(1, BLOCK_CELLS // max(1, symbols))
    for start in range(0, opens.size, height):
        own = compared[start : start + height]
        if own.any():
            keys = _keys(tables, opens, range(start, start + own.size), symbols, carried)
            yield _block(start, own, symbols, keys)


Keys = dict[tuple[Hashable, bool], tuple[Rows, Codes]]
"""Table, and whether shifted by one session -> rows, and the key of the cell of each."""


def _keys(
    tables: Mapping[Hashable, Cells], opens: Flags, sessions: range, symbols: int, carried: Hashable
) -> Keys:
    start, stop = sessions.start, sessions.stop
    keys: Keys = {}
    for name, cells in tables.items():
        rows, session = cells.within(start, stop)
        keys[name, False] = rows, (session - start) * symbols + cells.symbol[rows]
        if name == carried:
            rows, session = cells.within(max(0, start - 1), stop - 1)
            if opens[start:stop].any():
                continuing = np.flatnonzero(~opens[session + 1])
                rows = continuing + rows.start if isinstance(rows, slice) else rows[continuing]
                session = session[continuing]
            keys[name, True] = rows, (session + 1 - start) * symbols + cells.symbol[rows]
    return keys


def _block(start: int, compared: Flags, symbols: int, keys: Keys) -> Block:
    occupied = np.zeros(compared.size * symbols, np.bool_)
    for _, key in keys.values():
        occupied[key] = True
    cell = np.flatnonzero(occupied)
    number = np.empty(occupied.size, np.int32)
    number[cell] = np.arange(cell.size, dtype=np.int32)
    places = {name: Place(rows, number[key]) for name, (rows, key) in keys.items()}
    return Block(
        start,
        symbols,
        cell,
        {name: place for (name, shifted), place in places.items() if not shifted},
        {name: place for (name, shifted), place in places.items() if shifted},
        compared,
    )


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
    """Select the differing cells of a block in compared sessions; None if there are none."""
    if not wrong.any():
        return None
    at = np.flatnonzero(wrong & block.compared[block.session])
    session, symbol = np.divmod(block.keys[at], block.symbols)
    return (
        None
        if not at.size
        else Gaps(
            session + block.start,
            symbol,
            expected[at],
            actual[at],
            {name: values[at] for name, values in parts.items()},
        )
    )


def gaps_on(sessions: Codes, wrong: Flags, expected: Floats, actual: Floats, **parts: Floats) -> Gaps | None:
    """Select the differing cells of matrices with one row per session; None if there are none."""
    if not wrong.any():
        return None
    row, symbol = np.nonzero(wrong)
    at_gaps = {name: values[row, symbol] for name, values in parts.items()}
    return Gaps(sessions[row], symbol, expected[row, symbol], actual[row, symbol], at_gaps)


def joined(blocks: list[Gaps]) -> Gaps | None:
    """Concatenate the gaps of several blocks; None if there are none."""
    if not blocks:
        return None
    return Gaps(
        session=np.concatenate([gaps.session for gaps in blocks]),
        symbol=np.concatenate([gaps.symbol for gaps in blocks]),
        expected=np.concatenate([gaps.expected for gaps in blocks]),
        actual=np.concatenate([gaps.actual for gaps in blocks]),
        parts={name: np.concatenate([gaps.parts[name] for gaps in blocks]) for name in blocks[0].parts},
    )
