"""The rules on fills."""

from __future__ import annotations

from typing import Final

import polars as pl

from pipeline.reconciliation.tables import FILLS, SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import rows_that_differ
from schemas.tables.books import base_book

_FILL: Final = ("book", "timestamp", "symbol")
_CLOSING: Final = "close"


@rule(
    "trades.session",
    "The UTC day of every fill is a session of its book in the portfolio; the _adjustments and _settlements "
    "variants have the sessions of the book they adjust.",
    "Seal the session in the portfolio, or correct the fill's time or book.",
    needs={"trades": ("book", "timestamp"), "portfolio": SESSION},
)
def trades_session(tables: Tables) -> Finding | None:
    """Report fills on days that are not a session of their book."""
    trades = tables["trades"]
    # Most fills of a book share their instant, so that few pairs are looked up.
    moments = tables.runs("trades", ("book", "timestamp")).heads.unique()
    names = moments["book"].unique()
    base = {name: base_book(name) for name in names}
    sessions = tables["portfolio"].select(_base="book", _day="date")
    unmatched = moments.with_columns(
        _base=pl.col("book").replace_strict(base, return_dtype=pl.String), _day=pl.col("timestamp").dt.date()
    ).join(sessions, on=("_base", "_day"), how="anti")
    if not unmatched.height:
        return None
    broken = trades.join(unmatched, on=("book", "timestamp"), how="semi")
    message = f"{broken.height} fills are on a day that is not a session of their book"
    return broken_rows("trades", broken, _FILL, message)


@rule(
    "trades.reasons",
    "exit_reason is set only on fills of the phase close.",
    "Leave exit_reason null on fills that open or re-target; rebalance_adjustment_reason speaks of those.",
    needs={"trades": ("phase", "exit_reason")},
)
def trades_reasons(tables: Tables) -> Finding | None:
    """Report fills that give a reason for an exit they are not."""
    broken = tables["trades"].filter(pl.col("exit_reason").is_not_null() & (pl.col("phase") != _CLOSING))
    return broken_rows(
        "trades",
        broken,
        (*_FILL, "phase", "exit_reason"),
        f"{broken.height} fills have an exit_reason although their phase is not {_CLOSING}",
    )


@rule(
    "trades.cost",
    "A fill's execution_cost = fee + quantity x (fill_price - mid_price): what it paid beyond the mid.",
    "Measure the impact against the mid that is sealed, with the sign of the quantity; a purchase fills above the "
    "mid, a sale below it.",
    needs={"trades": ("quantity", "mid_price", "fill_price", "fee", "execution_cost")},
)
def trades_cost(tables: Tables) -> Finding | None:
    """Report fills whose cost is not their fee plus their distance from the mid."""
    cost = pl.col("fee") + pl.col("quantity") * (pl.col("fill_price") - pl.col("mid_price"))
    broken = rows_that_differ(tables["trades"], pl.col("execution_cost"), cost, tables.equity_basis)
    columns = (*_FILL, "quantity", "mid_price", "fill_price", "fee", "expected", "actual")
    return broken_rows(
        "trades",
        broken,
        columns,
        f"execution_cost is not fee + quantity x (fill_price - mid_price) in {broken.height} fills",
        expected=cost,
        actual="execution_cost",
    )


@rule(
    "trades.decision",
    "Every fill names the decision that caused it: a rebalance date of a traded week, before the day of the fill.",
    "Date the decision by the weekly rebalance, and the fill by the session that executed it.",
    needs={"trades": ("book", "timestamp", "decision_at"), "rebalances": ("date", "week_status")},
    unique=("rebalances",),
)
def trades_decision(tables: Tables) -> Finding | None:
    """Report fills of no decision, or from before theirs."""
    moments = tables.runs("trades", FILLS).heads.unique()
    weeks = tables["rebalances"].filter(pl.col("week_status") == "traded")["date"]
    day = pl.col("timestamp").dt.date()
    unmatched = moments.filter(~pl.col("decision_at").is_in(weeks.implode()) | (pl.col("decision_at") >= day))
    if not unmatched.height:
        return None
    broken = tables["trades"].join(unmatched, on=unmatched.columns, how="semi", maintain_order="left")
    return broken_rows(
        "trades",
        broken,
        (*_FILL, "decision_at"),
        f"decision_at is not a traded rebalance date before the fill in {broken.height} fills",
    )
