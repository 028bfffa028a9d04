"""The daily ledger of each book."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table, derived, number
from schemas.tables import shared_columns as shared
from schemas.units import Unit


def _money(name: str, meaning: str) -> Column:
    return number(name, Unit.EQUITY, meaning)


PORTFOLIO: Final = Table(
    name="portfolio",
    meaning="One row per book per trading session.",
    key=("book", "date"),
    partition=("book",),
    columns=(
        shared.BOOK,
        shared.DATE,
        shared.TIMESTAMP,
        shared.STARTING_EQUITY,
        shared.ENDING_EQUITY,
        _money("cash_start", "Cash at the open."),
        _money("cash_end", "Cash at the close."),
        _money(
            "position_value_end",
            "Signed value of all positions at the close; plus `cash_end` it equals ending equity.",
        ),
        _money("market_pnl", "Sum over positions of quantity times the change of close."),
        _money("execution_cost", "Fees and modelled impact of the day's fills, negative or 0."),
        _money("borrow_cashflow", "Borrow cost of the short side accrued that day, negative or 0."),
        _money("cash_carry", "Interest credited on cash."),
        number(
            "risk_free_return",
            Unit.RATIO,
            "Rate that cash earns over the session; null if none was stated, in which case no interest is credited.",
            nullable=True,
        ),
        _money("rounding_adjustment", "Rounding error that closes the identity of the ledger."),
        number(
            "equity_basis",
            Unit.BASE_CURRENCY,
            "Opening equity of the run; 1 for a normalised ledger. Divide a notional by it for a ratio.",
            bound=Bound.POSITIVE,
            **derived(),
        ),
        _money("gross_notional", "Sum of absolute position values."),
        _money("net_notional", "Sum of signed position values."),
        shared.GROSS_EXPOSURE,
        shared.NET_EXPOSURE,
        number("largest_abs_weight", Unit.RATIO, "Largest absolute position weight of the day."),
        _money("turnover_notional", "Sum of absolute traded notional over the day's fills."),
        shared.TURNOVER,
    ),
)
