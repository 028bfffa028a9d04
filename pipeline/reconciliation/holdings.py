"""Double entry by name: what is held, what was filled, and what was earned on it.

Every function takes arrays of one shape, a value a cell of sessions by symbols, with 0 where a table has no row.
"""

from __future__ import annotations

import numpy as np

from pipeline.reconciliation.grid import Flags, Floats

RELATIVE = 1e-9
"""Of the largest figure that takes part."""


def differing(expected: Floats, actual: Floats, floor: float, *magnitudes: Floats) -> Flags:
    """Return where two figures differ by more than ``max(floor, 1e-9 of the largest magnitude)``.

    A difference that is not a finite number differs. The other magnitudes are looked at only where neither the floor nor
    `actual` settles it, which in a sound ledger is nearly nowhere.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(actual - expected)
        wrong: Flags = ~(gap <= floor)
        if wrong.any():
            wrong &= ~(gap <= RELATIVE * np.abs(actual))
    if wrong.any():
        at = np.nonzero(wrong)
        allowed = np.abs(expected[at])
        for part in (actual, *magnitudes):
            allowed = np.maximum(allowed, np.abs(part[at]))
        wrong[at] = ~(gap[at] <= RELATIVE * allowed)
    return wrong


def expected_quantity(before: Floats, filled: Floats, adjusted: Floats | float = 0.0) -> Floats:
    """Shares after a session: those before it, those filled, and those a corporate action brought or took."""
    return before + filled + adjusted


def expected_market_pnl(
    before: Floats, after: Floats, paid: Floats, received: Floats | float = 0.0
) -> Floats:
    """Profit of a name on a day before costs.

    Parameters
    ----------
    before, after
        Signed value of the holding at the close before and at this one.
    paid
        Sum of quantity times mid over the day's fills: what the fills would have cost at their mids.
    received
        Cash that the holding paid without a fill, such as a dividend.

    Returns
    -------
    Floats
        ``after - before - paid + received``: from close to close for what was carried through, from or to the mid for
        what was filled.
    """
    return after - before - paid + received
