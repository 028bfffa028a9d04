"""Daily profit and loss by name."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, derived, number
from schemas.tables.shared_columns import BOOK, DATE, SYMBOL
from schemas.units import Unit

ADJUSTMENTS: Final = ("quantity_adjustment", "cash_adjustment")
"""Columns of changes of a holding without a fill; sealed and published only if there are any."""

PNL: Final = Table(
    name="pnl",
    meaning="One row per name with a position or a fill, per book per session.",
    key=("book", "date", "symbol"),
    partition=("book",),
    columns=(
        BOOK,
        DATE,
        SYMBOL,
        number("market_pnl", Unit.BASE_CURRENCY, "Quantity times the change of close."),
        number(
            "execution_cost",
            Unit.BASE_CURRENCY,
            "Cost of the day's fills, negative or 0.",
            bound=Bound.NOT_POSITIVE,
        ),
        number(
            "borrow_cashflow",
            Unit.BASE_CURRENCY,
            "Borrow cost of a short, negative; 0 for a long.",
            bound=Bound.NOT_POSITIVE,
        ),
        number(
            ADJUSTMENTS[0],
            Unit.SHARES,
            "Shares added (or, if negative, removed) that day without a fill: a split, a spin-off, a stock merger.",
            optional=True,
        ),
        number(
            ADJUSTMENTS[1],
            Unit.BASE_CURRENCY,
            "Cash that the holding paid (or, if negative, cost) that day without a fill, such as a dividend; part of market_pnl.",
            optional=True,
        ),
        number(
            "net_pnl",
            Unit.BASE_CURRENCY,
            "market_pnl + execution_cost + borrow_cashflow; the costs are already negative.",
            **derived("market_pnl", "execution_cost", "borrow_cashflow"),
        ),
    ),
)
