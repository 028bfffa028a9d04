"""Rows of several tables on one grid of sessions and symbols, for comparison cell by cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.reconciliation.row_ranges import row_numbers

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Symbols = npt.NDArray[np.int64] | npt.NDArray[np.uint32]
Rows = slice | Codes

BLOCK_CELLS: Final = 1 << 18
"""Cells of one block, including empty ones; small enough for its arrays to fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Positions of a table's rows on the grid, by ranges of adjacent rows of one session.

    Attributes
    ----------
    session : Codes, shape (n_ranges,)
        Session of each range, in the order of the table; negative where the grid has no such session.
    starts : Codes, shape (n_ranges + 1,)
        First row of each range, followed by the number of rows.
    symbol : Symbols, shape (n_rows,)
        Column of the grid of each row.
    ascending : Codes, shape (n_ranges,)
        Ranges by session, in the order of the table within a session.
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
        session, lengths : Codes, shape (n_ranges,)
            Session and number of rows of each range.
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
        ranges = self.ascending[low:high]
        return self._rows(ranges), np.repeat(self.session[ranges], self._lengths(ranges))

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
        ranges = self.ascending[row_numbers(low, high - low)]
        place = np.repeat(np.arange(sessions.size), high - low)
        return self._rows(ranges), np.repeat(place, self._lengths(ranges))

    def _lengths(self, ranges: Codes) -> Codes:
        return self.starts[ranges + 1] - self.starts[ranges]

    def _rows(self, ranges: Codes) -> Rows:
        if not ranges.size:
            return slice(0, 0)
        if np.all(ranges[1:] == ranges[:-1] + 1):
            return slice(int(self.starts[ranges[0]]), int(self.starts[ranges[-1] + 1]))
        return row_numbers(self.starts[ranges], self._lengths(ranges))


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
    session, lengths : Codes, shape (n_ranges,)
        Session, negative for none, and number of rows of each range.
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
