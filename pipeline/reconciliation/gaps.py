"""Cells of the grid in which two figures differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.reconciliation.grid import Block, Codes, Flags, Floats


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
