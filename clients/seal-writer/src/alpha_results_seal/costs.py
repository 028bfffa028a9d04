"""Costs of trading and holding."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real

from alpha_results_seal.errors import SealError
from alpha_results_seal.plurals import counted


@dataclass(frozen=True)
class Costs:
    """Rates that a ledger charges and credits.

    Rates not stated are not charged, and an interest rate not stated is not sealed.

    Attributes
    ----------
    fee
        Commission of a fill, as a fraction of its notional at the mid; 0.0001 is one basis point.
    impact
        Distance of a fill from the mid, as a fraction of the mid; below 1.
    borrow
        Charge per session on short positions at the close, as a fraction of their value.
    interest
        Return per session on the opening cash, even if that is negative; one rate, or one per session. It is sealed as
        ``risk_free_return``; if not stated, that is null and no interest is credited.
    recovery
        Share of its last close, above 0 and at most 1, that is received for a position in a name without further prices, such
        as a delisted one: it is settled without cost at the close of the next session. By default the position stays, at
        the last close.

    Raises
    ------
    SealError
        If a rate is not a number, negative (interest may be) or 1 or more (recovery may be 1), or interest is not given by days.
    """

    fee: float = 0.0
    impact: float = 0.0
    borrow: float = 0.0
    interest: float | Mapping[dt.date, float] | None = None
    recovery: float | None = None

    def __post_init__(self) -> None:
        for name in ("fee", "impact", "borrow"):
            rate = getattr(self, name)
            if not (is_finite(rate) and 0 <= rate < 1):
                raise SealError(
                    f"Costs.{name} is {_shown(rate)}: give a fraction of 0 or more, below 1; 0.001 is ten basis points."
                )
        if self.recovery is not None and not (is_finite(self.recovery) and 0 < self.recovery <= 1):
            raise SealError(
                f"Costs.recovery is {_shown(self.recovery)}: give the share of the last close received, above 0 and at most 1."
            )
        if isinstance(self.interest, Mapping):
            for day, rate in self.interest.items():
                if type(day) is not dt.date:  # an instant of pandas or NumPy is equal to no day
                    raise SealError(f"Costs.interest has a rate of {day!r}: give rates by datetime.date.")
                _require_return(f"interest of {day}", rate)
        else:
            _require_return("interest", self.interest)

    def rate_on(self, day: dt.date) -> float | None:
        """Return the interest rate of one session; None if not stated."""
        return self.interest.get(day) if isinstance(self.interest, Mapping) else self.interest

    def notes(self, days: Iterable[dt.date], *, traded: bool) -> Iterator[str]:
        """Yield notes on rates that were not stated.

        Parameters
        ----------
        days
            Sessions of the books, ascending.
        traded
            Whether the ledger generates the fills; only then there are notes on trading costs.
        """
        if traded and not (self.fee or self.impact):
            yield "no trading costs were stated: fills are at the price, without a fee"
        if not self.borrow:
            yield "no borrow rate was stated: short positions pay no borrow"
        if self.interest is None:
            yield "no interest rate was stated: cash earns no interest, and figures in excess of the risk-free rate are withheld"
        elif missing := [day for day in days if self.rate_on(day) is None]:
            lacking = counted(len(missing), "session has", "sessions have")
            yield (
                f"{lacking} no interest rate, the first: {missing[0]}; cash earns none then, and figures in excess of the "
                "risk-free rate leave these sessions out"
            )


def _require_return(name: str, rate: float | None) -> None:
    if rate is not None and not (is_finite(rate) and -1 < rate < 1):
        raise SealError(
            f"Costs.{name} is {_shown(rate)}: give the return of a session, between -1 and 1, or returns by datetime.date, or leave it out."
        )


def _shown(rate: object) -> str:
    """Return a rate for a message; only the type of a column or another object, whose text is long."""
    return repr(rate) if isinstance(rate, (Real, str)) else f"of type {type(rate).__name__}"


def is_finite(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and math.isfinite(value)
