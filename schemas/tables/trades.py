"""The fills of each book."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, count, day, derived, instant, number, text
from schemas.tables.shared_columns import BOOK, SYMBOL
from schemas.units import Unit

PHASES: Final = ("open", "rebalance", "close")
ADJUSTMENT_REASONS: Final = ("entry", "weight_increase", "weight_decrease", "exit")
EXIT_REASONS: Final = ("signal_exit", "risk_exit")

TRADES: Final = Table(
    name="trades",
    meaning="One row per fill.",
    key=("book", "fill_order"),
    sort=("book", "timestamp", "symbol", "fill_order"),
    partition=("book",),
    columns=(
        BOOK,
        instant("timestamp", "When the fill executed, at a session open after the decision."),
        day(
            "decision_at", "Rebalance date of the decision that caused the fill; joins to the cross-section."
        ),
        SYMBOL,
        text(
            "phase", "Whether the fill opens a position, changes its size, or closes it.", vocabulary=PHASES
        ),
        number("quantity", Unit.SHARES, "Shares: positive bought, negative sold.", bound=Bound.NOT_ZERO),
        number("mid_price", Unit.PRICE, "Reference mid at decision time.", bound=Bound.POSITIVE),
        number("fill_price", Unit.PRICE, "Price achieved, modelled impact included.", bound=Bound.POSITIVE),
        number("fee", Unit.BASE_CURRENCY, "Commission charged on the fill.", bound=Bound.NOT_NEGATIVE),
        number("execution_cost", Unit.BASE_CURRENCY, "Fee plus market impact.", bound=Bound.NOT_NEGATIVE),
        text(
            "rebalance_adjustment_reason",
            "Effect of the fill on the name's weight.",
            nullable=True,
            vocabulary=ADJUSTMENT_REASONS,
        ),
        text(
            "exit_reason",
            "Why the position was closed; null for fills that do not close one.",
            nullable=True,
            vocabulary=EXIT_REASONS,
        ),
        count(
            "fill_order",
            "Position of the fill among its book's fills as sealed, from 0; it orders fills of the same instant and name.",
            **derived(),
        ),
    ),
)
