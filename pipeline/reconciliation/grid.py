"""Rows of several tables on one grid of sessions and symbols, for comparison cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Symbols = npt.NDArray[np.int64] | npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Cells:
    """The occupied cells of a grid, as vectors, because most of the grid is empty.

    Attributes
    ----------
    session, symbol : Codes, shape (n_cells,)
        Row and column of each cell in which any of the tables has a row, ascending.
    places : Mapping[str, tuple of Codes and Symbols]
        Table -> its rows on the grid, and the cell of each.
    """

    session: Codes
    symbol: Codes
    places: Mapping[str, tuple[Codes, Symbols]]

    @classmethod
    def of(cls, tables: Mapping[str, tuple[Codes, Symbols]], chosen: Flags) -> Cells:
        """Place the rows of tables in some sessions.

        Parameters
        ----------
        tables : Mapping[str, tuple of Codes and Symbols], each of shape (n_rows,)
            Table -> session of each row, -1 for none, and its symbol.
        chosen : Flags, shape (n_sessions,)
            Whether the rows of each session are placed.

        Returns
        -------
        Cells
            The cells that the rows occupy.
        """
        placed = np.append(chosen, False)  # the last one stands for no session
        rows = {name: np.flatnonzero(placed[session]) for name, (session, _) in tables.items()}
        width = 1 + max((int(symbol.max(initial=0)) for _, symbol in tables.values()), default=0)
        keys = [
            session[rows[name]] * width + symbol[rows[name]] for name, (session, symbol) in tables.items()
        ]
        # The dense rank of a place, counted from 1, is the number of its cell.
        key = np.concatenate(keys)
        rank = pl.Series(key).rank("dense").to_numpy()
        occupied = np.empty(rank.max(initial=0), np.int64)
        occupied[rank - 1] = key
        places = np.split(rank - 1, np.cumsum([own.size for own in keys])[:-1])
        named = zip(rows, zip(rows.values(), places, strict=True), strict=True)
        return cls(occupied // width, occupied % width, dict(named))

    def spread(self, table: str, column: Floats) -> Floats:
        """Return a column on the cells; a cell with several rows has their sum.

        Parameters
        ----------
        table : str
            Name of the table.
        column : Floats, shape (n_rows,)
            A column of the table.

        Returns
        -------
        Floats, shape (n_cells,)
            0 where the table has no row.
        """
        rows, cell = self.places[table]
        return totals(cell, column[rows], self.session.size)

    def gaps(self, wrong: Flags, expected: Floats, actual: Floats, **parts: Floats) -> pl.DataFrame:
        """Select the cells in which two figures differ.

        Parameters
        ----------
        wrong : Flags, shape (n_cells,)
            Whether the two values differ.
        expected, actual : Floats, shape (n_cells,)
            Value that follows from the other tables, and sealed value.
        **parts : Floats, shape (n_cells,)
            Terms of the expected value.

        Returns
        -------
        polars.DataFrame
            ``session`` and ``symbol``, the terms by name, ``expected`` and ``actual``.
        """
        columns = {
            "session": self.session,
            "symbol": self.symbol,
            **parts,
            "expected": expected,
            "actual": actual,
        }
        return pl.DataFrame({name: values[wrong] for name, values in columns.items()})


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
