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
"""Cells of one block, including empty ones; small enough for its arrays to fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Positions of a table's rows on the grid, by runs of adjacent rows of one session.

    Attributes
    ----------
    session : Codes, shape (n_runs,)
        Session of each run, in the order of the table; negative where the grid has no such session.
    starts : Codes, shape (n_runs + 1,)
        First row of each run, followed by the number of rows.
    symbol : Symbols, shape (n_rows,)
        Column of the grid of each row.
    ascending : Codes, shape (n_runs,)
        Runs by session, in the order of the table within a session.
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
        session, lengths : Codes, shape (n_runs,)
            Session and number of rows of each run.
        symbol : Symbols, shape (n_rows,)
            Column of the grid of each row.

        Returns
        -------
        Cells
            Positions of all rows of the table.
        """
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        return cls(session, starts, symbol, np.argsort(session, kind="stable"))

    def within(self, start: int, stop: int) -> tuple[Rows, Codes]:
        """Select the rows of consecutive sessions.

        Parameters
        ----------
        start, stop : int
            First session, and the one after the last.

        Returns
        -------
        rows : Rows, shape (n_selected,)
            Rows of the table.
        session : Codes, shape (n_selected,)
            Session of each row.
        """
        low, high = np.searchsorted(self.session, (start, stop), sorter=self.ascending)
        runs = self.ascending[low:high]
        return self._rows(runs), np.repeat(self.session[runs], self._lengths(runs))

    def of_sessions(self, sessions: Codes) -> tuple[Rows, Codes]:
        """Select the rows of given sessions.

        Parameters
        ----------
        sessions : Codes, shape (n_given,)
            Sessions in any order.

        Returns
        -------
        rows : Rows, shape (n_selected,)
            Rows of the table.
        place : Codes, shape (n_selected,)
            Index of the session of each row in `sessions`.
        """
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
    """Rows of one table in a block.

    Attributes
    ----------
    rows : Rows, shape (n_rows,)
        Rows of the table.
    cell : int32, shape (n_rows,)
        Occupied cell of each row.
    """

    rows: Rows
    cell: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Block:
    """The occupied cells of some consecutive sessions, as a vector, because most of the grid is empty.

    Attributes
    ----------
    start : int
        First session.
    symbols : int
        Width of the grid.
    keys : Codes, shape (n_cells,)
        ``(session - start) * symbols + symbol`` of each occupied cell, ascending: a cell is occupied when any of the
        tables has a row in it, or in the cell of the same symbol in the session before.
    places, before : Mapping[Hashable, Place]
        Table -> cells of its rows, and their cells one session later. No row is carried into the first session of a book.
    compared : Flags, shape (n_sessions,)
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
        table : Hashable
            Name of the table in :func:`blocks`.
        column : Floats, shape (n_rows,)
            A column of the table.
        before : bool
            Whether to return the value of the session before, which is 0 in the first session of a book.

        Returns
        -------
        Floats, shape (n_cells,)
            0 where the table has no row.
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
    """Reduce values of adjacent rows by session, starting from 0.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Binary, such as :data:`numpy.add`.
    values : Floats, shape (n_rows,)
        One value per row.
    session, lengths : Codes, shape (n_runs,)
        Session, negative for none, and number of rows of each run.
    sessions : int
        Number of sessions.

    Returns
    -------
    Floats, shape (n_sessions,)
        0 for a session without rows.
    """
    reduced = np.zeros(sessions)
    if session.size:
        known = session >= 0
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported as a finding
            by_run = ufunc.reduceat(values, np.cumsum(lengths) - lengths)
            ufunc.at(reduced, session[known], by_run[known])
    return reduced


def totals(code: npt.NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Sum values by code.

    Parameters
    ----------
    code : integer array, shape (n_rows,)
        From 0 to ``size - 1``.
    values : Floats, shape (n_rows,)
        One value per row.
    size : int
        Number of codes.

    Returns
    -------
    Floats, shape (size,)
        0 for a code without rows.
    """
    return np.bincount(code, weights=values, minlength=size).astype(np.float64, copy=False)


def blocks(
    tables: Mapping[Hashable, Cells], opens: Flags, symbols: int, *, carried: Hashable, compared: Flags
) -> Iterator[Block]:
    """Cut a grid into blocks of about :data:`BLOCK_CELLS`.

    Parameters
    ----------
    tables : Mapping[Hashable, Cells]
        Name -> positions of the rows of a table.
    opens : Flags, shape (n_sessions,)
        Whether a session is the first of its book.
    symbols : int
        Width of the grid.
    carried : Hashable
        Name of the table whose rows are also needed one session later.
    compared : Flags, shape (n_sessions,)
        Whether a session is compared; blocks without such a session are skipped.

    Yields
    ------
    Block
        In the order of the sessions.
    """
    height = max(1, BLOCK_CELLS // max(1, symbols))
    for start in range(0, opens.size, height):
        own = compared[start : start + height]
        if own.any():
            keys = _keys(tables, opens, range(start, start + own.size), symbols, carried)
            yield _block(start, own, symbols, keys)


Keys = dict[tuple[Hashable, bool], tuple[Rows, Codes]]
"""(table, whether shifted by one session) -> rows, and the cell key of each row."""


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
    session, symbol : Codes, shape (n_gaps,)
        Row and column of the grid.
    expected, actual : Floats, shape (n_gaps,)
        Value that follows from the other tables, and sealed value.
    parts : Mapping[str, Floats]
        Name -> term of the expected value, shape (n_gaps,).
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
    """Select the differing cells of a block in compared sessions.

    Parameters
    ----------
    block : Block
        Block to select from.
    wrong : Flags, shape (n_cells,)
        Whether the two values differ.
    expected, actual : Floats, shape (n_cells,)
        Value that follows from the other tables, and sealed value.
    **parts : Floats, shape (n_cells,)
        Terms of the expected value.

    Returns
    -------
    Gaps or None
        None if no compared cell differs.
    """
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
    """Select the differing cells of matrices with one row per session.

    Parameters
    ----------
    sessions : Codes, shape (n_sessions,)
        Session of each row.
    wrong : Flags, shape (n_sessions, n_symbols)
        Whether the two values differ.
    expected, actual : Floats, shape (n_sessions, n_symbols)
        Value that follows from the other tables, and sealed value.
    **parts : Floats, shape (n_sessions, n_symbols)
        Terms of the expected value.

    Returns
    -------
    Gaps or None
        None if no cell differs.
    """
    if not wrong.any():
        return None
    row, symbol = np.nonzero(wrong)
    at_gaps = {name: values[row, symbol] for name, values in parts.items()}
    return Gaps(sessions[row], symbol, expected[row, symbol], actual[row, symbol], at_gaps)


def joined(blocks: list[Gaps]) -> Gaps | None:
    """Concatenate the gaps of several blocks.

    Parameters
    ----------
    blocks : list of Gaps
        With equal names of parts.

    Returns
    -------
    Gaps or None
        None for an empty list.
    """
    if not blocks:
        return None
    return Gaps(
        session=np.concatenate([gaps.session for gaps in blocks]),
        symbol=np.concatenate([gaps.symbol for gaps in blocks]),
        expected=np.concatenate([gaps.expected for gaps in blocks]),
        actual=np.concatenate([gaps.actual for gaps in blocks]),
        parts={name: np.concatenate([gaps.parts[name] for gaps in blocks]) for name in blocks[0].parts},
    )
