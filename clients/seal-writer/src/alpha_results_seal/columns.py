"""The tables of a seal: their columns and keys."""

# Written by `just docs` from the declarations of the format; a test fails when it is stale.

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """One column: its type, and what its values keep."""

    name: str
    type: str
    optional: bool = False
    nullable: bool = False
    vocabulary: tuple[str, ...] = ()
    bound: str = ""


COLUMNS: dict[str, tuple[Column, ...]] = {
    "rebalances": (
        Column("date", "date"),
        Column("week_status", "text"),
    ),
    "decisions": (
        Column("date", "date"),
        Column("symbol", "text"),
        Column("score", "float", nullable=True),
        Column("unsmoothed_score", "float", optional=True, nullable=True),
        Column("average_rank", "float", optional=True, nullable=True),
        Column("long_short_target_weight", "float"),
        Column("long_only_target_weight", "float"),
        Column("next_open_tradeable", "bool"),
        Column("fill_at", "instant", nullable=True),
        Column("entry_at", "instant", optional=True, nullable=True),
        Column("maturity_at", "instant", optional=True, nullable=True),
        Column("forward_return", "float", optional=True, nullable=True),
        Column(
            "unavailability_reason",
            "text",
            nullable=True,
            vocabulary=("halted", "suspended", "no_borrow", "illiquid", "data_gap"),
        ),
        Column("decision_reason", "text", optional=True, nullable=True),
        Column("raw_average_rank", "float", optional=True, nullable=True),
        Column("raw_long_short_target_weight", "float", optional=True),
        Column("raw_long_only_target_weight", "float", optional=True),
        Column("raw_fill_at", "instant", optional=True, nullable=True),
        Column("raw_decision_reason", "text", optional=True, nullable=True),
    ),
    "portfolio": (
        Column("book", "text"),
        Column("date", "date"),
        Column("timestamp", "instant"),
        Column("starting_equity", "float"),
        Column("ending_equity", "float"),
        Column("cash_start", "float"),
        Column("cash_end", "float"),
        Column("position_value_end", "float"),
        Column("market_pnl", "float"),
        Column("execution_cost", "float"),
        Column("borrow_cashflow", "float"),
        Column("cash_carry", "float"),
        Column("risk_free_return", "float", nullable=True),
        Column("rounding_adjustment", "float"),
        Column("gross_notional", "float"),
        Column("net_notional", "float"),
        Column("gross_exposure", "float"),
        Column("net_exposure", "float"),
        Column("largest_abs_weight", "float"),
        Column("turnover_notional", "float"),
        Column("turnover", "float"),
    ),
    "positions": (
        Column("book", "text"),
        Column("date", "date"),
        Column("symbol", "text"),
        Column("quantity", "float", bound="not 0"),
        Column("mark_price", "float", bound="> 0"),
        Column("signed_notional", "float"),
        Column("weight", "float"),
    ),
    "pnl": (
        Column("book", "text"),
        Column("date", "date"),
        Column("symbol", "text"),
        Column("market_pnl", "float"),
        Column("execution_cost", "float", bound="<= 0"),
        Column("borrow_cashflow", "float", bound="<= 0"),
        Column("quantity_adjustment", "float", optional=True),
        Column("cash_adjustment", "float", optional=True),
    ),
    "trades": (
        Column("book", "text"),
        Column("timestamp", "instant"),
        Column("decision_at", "date"),
        Column("symbol", "text"),
        Column("phase", "text", vocabulary=("open", "rebalance", "close")),
        Column("quantity", "float", bound="not 0"),
        Column("mid_price", "float", bound="> 0"),
        Column("fill_price", "float", bound="> 0"),
        Column("fee", "float", bound=">= 0"),
        Column("execution_cost", "float", bound=">= 0"),
        Column(
            "rebalance_adjustment_reason",
            "text",
            nullable=True,
            vocabulary=("entry", "weight_increase", "weight_decrease", "exit"),
        ),
        Column("exit_reason", "text", nullable=True, vocabulary=("signal_exit", "risk_exit")),
    ),
    "trials": (
        Column("trial", "text"),
        Column("date", "date"),
        Column("period_return", "float"),
    ),
}
"""Kind -> the columns that an engine may write."""

KEYS: dict[str, tuple[str, ...]] = {
    "rebalances": ("date",),
    "decisions": ("date", "symbol"),
    "portfolio": ("book", "date"),
    "positions": ("book", "date", "symbol"),
    "pnl": ("book", "date", "symbol"),
    "trades": (),
    "trials": ("trial", "date"),
}
"""Kind -> the columns that are unique together."""
