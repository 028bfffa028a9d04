"""What trading and holding cost."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass

from alpha_results_seal.errors import SealError


@dataclass(frozen=True)
class Costs:
    """Rates that a ledger charges and credits. What is not stated is not charged, and no rate of interest is sealed.

    Attributes
    ----------
    fee
        Commission of a fill, as a fraction of its notional at the mid.
    impact
        How far a fill is worse than the mid, as a fraction of the mid; below 1.
    borrow
        Charge of a session on what is short at its close, as a fraction of its value.
    interest
        Return of a session on the cash of its morning, also where that is negative; one rate, or one by session. It is
        sealed as ``risk_free_return``, null where it is not stated: then none is credited.

    Raises
    ------
    SealError
        When a rate is negative (interest may be), not finite, or an impact of 1 or more.
    """

    fee: float = 0.0
    impact: float = 0.0
    borrow: float = 0.0
    interest: float | Mapping[dt.date, float] | None = None

    def __post_init__(self) -> None:
        for name in ("fee", "impact", "borrow"):
            rate = getattr(self, name)
            if not (math.isfinite(rate) and rate >= 0):
                raise SealError(f"Costs.{name} is {rate}: give a fraction of 0 or more.")
        if self.impact >= 1:
            raise SealError(
                f"Costs.impact is {self.impact}: a sale would pay for itself; 0.001 is ten basis points."
            )

    def rate_on(self, day: dt.date) -> float | None:
        """Return the interest of one session; None where it is not stated."""
        return self.interest.get(day) if isinstance(self.interest, Mapping) else self.interest

    def notes(self, *, traded: bool) -> list[str]:
        """Say which rates were not stated; those of trading only where a ledger has no fills of its own (`traded`)."""
        notes = []
        if traded and not (self.fee or self.impact):
            notes.append("no cost of trading was stated: fills are at the price itself and without a fee")
        if not self.borrow:
            notes.append("no rate of borrowing was stated: what is short is charged nothing")
        if self.interest is None:
            notes.append(
                "no rate of interest was stated: cash earns nothing, and figures above the risk-free rate are withheld"
            )
        return notes
