"""The fills of each book."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table, derived
from schemas.tables.shared_columns import BOOK, SYMBOL
from schemas.units import Type, Unit

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
        Column(
            "timestamp",
            Type.TIMESTAMP,
            Unit.INSTANT,
            "When the fill executed, at a session open after the decision.",
        ),
        Column(
            "decision_at",
            Type.DATE,
            Unit.DATE,
            "Rebalance date that caused the trade; joins to the cross-section.",
        ),
        SYMBOL,
        Column(
            "phase",
            Type.STR,
            Unit.NONE,
            "Entering the book, weekly re-targeting, or leaving the book.",
            vocabulary=PHASES,
        ),
        Column(
            "quantity", Type.F64, Unit.SHARES, "Shares: positive bought, negative sold.", bound=Bound.NOT_ZERO
        ),
        Column("mid_price", Type.F64, Unit.PRICE, "Reference mid at decision time.", bound=Bound.POSITIVE),
        Column(
            "fill_price",
            Type.F64,
            Unit.PRICE,
            "Price achieved, modelled impact included.",
            bound=Bound.POSITIVE,
        ),
        Column(
            "fee", Type.F64, Unit.BASE_CURRENCY, "Commission charged on the fill.", bound=Bound.NOT_NEGATIVE
        ),
        Column(
            "execution_cost",
            Type.F64,
            Unit.BASE_CURRENCY,
            "Fee plus market impact.",
            bound=Bound.NOT_NEGATIVE,
        ),
        Column(
            "rebalance_adjustment_reason",
            Type.STR,
            Unit.NONE,
            "Effect of the fill on the name's weight.",
            nullable=True,
            vocabulary=ADJUSTMENT_REASONS,
        ),
        Column(
            "exit_reason",
            Type.STR,
            Unit.NONE,
            "Why the position was closed; null for fills that do not close one.",
            nullable=True,
            vocabulary=EXIT_REASONS,
        ),
        derived(
            "fill_order",
            Type.I64,
            Unit.COUNT,
            "Position of the fill among its book's fills as sealed, from 0; it orders fills of the same instant and name.",
        ),
    ),
)
