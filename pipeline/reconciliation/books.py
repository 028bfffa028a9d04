"""Double entry by book: what the sessions of a ledger state of positions and fills.

Every function takes arrays with one value a session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from pipeline.reconciliation.grid import Flags, Floats

TURNOVER: Final[Mapping[str, str]] = {
    "traded_over_starting_equity": "half of turnover_notional over starting_equity",
    "weight_changes_on_fills": "half of the absolute changes of weight since the close before, on sessions with a fill",
    "traded_over_ending_equity": "half of turnover_notional over ending_equity",
    "weight_changes": "half of the absolute changes of weight since the close before, on every session",
}
"""The conventions of the ledger's turnover, in the order tried; one of them has to hold for a whole run."""

CARRY: Final[Mapping[str, str]] = {
    "cash": "cash_start x risk_free_return",
    "positive_cash": "cash_start x risk_free_return, and 0 while cash_start is negative",
}
"""The conventions of the interest on cash, in the order tried."""


def expected_cash(
    start: Floats, paid: Floats, cost: Floats, flows: Floats, received: Floats | float
) -> Floats:
    """Cash at the close.

    Parameters
    ----------
    start
        Cash at the open.
    paid
        Sum of quantity times mid over the day's fills.
    cost
        Sum of the fills' execution costs, positive.
    flows
        Borrow, carry and rounding as the ledger has them, together.
    received
        Cash that holdings paid without a fill.
    """
    return start - paid - cost + flows + received


def before(values: Floats, opens: Flags, first: float) -> Floats:
    """Return the value of the session before, `first` on the first session of each book."""
    shifted = np.empty_like(values)
    shifted[1:] = values[:-1]
    shifted[opens] = first
    return shifted


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; NaN over 0."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator != 0)


def carry_by_convention(start: Floats, rate: Floats) -> dict[str, Floats]:
    """Interest on cash under each convention of :data:`CARRY`; none where no rate is stated, NaN."""
    rate = np.nan_to_num(rate)
    return {"cash": start * rate, "positive_cash": np.maximum(start, 0.0) * rate}
