"""Target weights against the positions opened on them.

Every function takes matrices of one shape: a row a rebalance of a book, a column a symbol.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.reconciliation.grid import Flags, Floats

PROPORTION: Final = 1e-6
"""How far, relatively, positions opened on one decision may be out of proportion to their weights."""
SIZING: Final = 0.1
"""How far, relatively, the equity that weights were multiplied with may lie from the session's starting equity."""


def wrong_side(target: Floats, binding: Flags, quantity: Floats) -> Flags:
    """Return which holdings are on another side than their target.

    Parameters
    ----------
    target
        Target weights; 0 where the name shall not be held.
    binding
        Whether the decision leaves no doubt: the name was in the cross-section and could be traded.
    quantity
        Shares at the close of the session of the fills.
    """
    wrong: Flags = binding & (np.sign(target) != np.sign(quantity))
    return wrong


def implied_equity(target: Floats, opened: Floats) -> Floats:
    """Return the equity that a position was sized with: what was opened over its weight; NaN where nothing was.

    Parameters
    ----------
    target
        Target weights.
    opened
        Signed notional, at the mids of the fills, of positions that did not exist before; 0 elsewhere.
    """
    both = (opened != 0) & (target != 0)
    return np.divide(opened, target, out=np.full_like(target, np.nan), where=both)


def side_equity(equity: Floats, target: Floats) -> Floats:
    """Return, in the place of each sized position, the median of its side's implied equities.

    Names that cannot be traded use up part of their side's budget, so that an engine may scale the rest of a side;
    it scales all of them alike.
    """
    implied = np.full_like(equity, np.nan)
    row, column = np.nonzero(~np.isnan(equity))
    values, side = equity[row, column], 2 * row + (target[row, column] > 0)
    order = np.lexsort((values, side))
    values, sides = values[order], side[order]
    _, first, place, size = np.unique(sides, return_index=True, return_inverse=True, return_counts=True)
    middle = 0.5 * (values[first + (size - 1) // 2] + values[first + size // 2])
    implied[row[order], column[order]] = middle[place]
    return implied


def out_of_proportion(equity: Floats, side: Floats, slack: Floats | float) -> Flags:
    """Return which positions were sized otherwise than the rest of their side.

    Parameters
    ----------
    equity, side
        As :func:`implied_equity` and :func:`side_equity` return them.
    slack
        What one share of each name comes to, in the same terms, where the engine fills whole shares; else 0.
    """
    with np.errstate(invalid="ignore"):
        return np.abs(equity - side) > np.maximum(PROPORTION * np.abs(side), slack)


def off_scale(side: Floats, starting: Floats, scaled: Flags) -> Flags:
    """Return which sides were sized with an equity that is not the book's.

    Parameters
    ----------
    side
        As :func:`side_equity` returns it.
    starting
        Equity at the open, shape (rebalances,).
    scaled
        Whether a name that could not be traded may have used up part of the budget, shape (rebalances,): then less is
        lawful.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = side / starting[:, None]
        return (share > 1.0 + SIZING) | ((share < 1.0 - SIZING) & ~scaled[:, None])
