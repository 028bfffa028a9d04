"""Cells of the grid in which two figures differ, as frames.

Each has ``session`` and ``symbol`` (row and column of the grid), the terms of the expected value by name, ``expected`` (the value
that follows from the other tables) and ``actual`` (the sealed value).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Block, Codes, Flags, Floats


def gaps_in(block: Block, wrong: Flags, expected: Floats, actual: Floats, **parts: Floats) -> pl.DataFrame:
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
    polars.DataFrame
        The differing cells.
    """
    at = np.flatnonzero(wrong)
    session, symbol = np.divmod(block.keys[at], block.symbols)
    values = {name: part[at] for name, part in {**parts, "expected": expected, "actual": actual}.items()}
    cells = pl.DataFrame({"session": session + block.start, "symbol": symbol, **values})
    return cells.filter(block.compared[session])


def gaps_on(sessions: Codes, wrong: Flags, expected: Floats, actual: Floats, **parts: Floats) -> pl.DataFrame:
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
    polars.DataFrame
        The differing cells.
    """
    row, symbol = np.nonzero(wrong)
    values = {
        name: part[row, symbol] for name, part in {**parts, "expected": expected, "actual": actual}.items()
    }
    return pl.DataFrame({"session": sessions[row], "symbol": symbol, **values})
