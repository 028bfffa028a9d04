"""The rules on positions and P&L by name, which sum to the ledger."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.tables import CELL, SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows, joined_findings
from pipeline.rules.tolerance import ABSOLUTE, differ, differing
from schemas.plurals import counted

_FLOWS: Final = ("market_pnl", "execution_cost", "borrow_cashflow")


@rule(
    "positions.notional",
    "signed_notional = quantity x mark_price, to 1e-9.",
    "Compute the notional from the sealed quantity and mark.",
    needs={"positions": ("quantity", "mark_price", "signed_notional")},
)
def positions_notional(tables: Tables) -> Finding | None:
    """Report positions whose notional differs from quantity times mark."""
    product = pl.col("quantity") * pl.col("mark_price")
    broken = tables["positions"].filter(differ(pl.col("signed_notional"), product, tables.equity_basis))
    message = f"signed_notional is not quantity x mark_price in {counted(broken.height, 'row')}"
    columns = (*CELL, "quantity", "mark_price", "expected", "actual")
    return broken_rows("positions", broken, columns, message, expected=product, actual="signed_notional")


@rule(
    "positions.weight",
    "weight = signed_notional / ending_equity of the book that day, to 1e-9.",
    "Divide by the ending equity of the same book and session, as the portfolio seals it.",
    needs={"positions": (*SESSION, "signed_notional", "weight"), "portfolio": (*SESSION, "ending_equity")},
    unique=("portfolio",),
)
def positions_weight(tables: Tables) -> Finding | None:
    """Report positions whose weight differs from their share of that day's equity.

    Rows of sessions that the portfolio lacks have no equity to compare with; ``positions.total`` reports them.
    """
    rows = tables["positions"].join(
        tables["portfolio"].select(*SESSION, "ending_equity"), on=SESSION, how="left", maintain_order="left"
    )
    share = pl.col("signed_notional") / pl.col("ending_equity")
    broken = rows.filter(differ(pl.col("weight"), share))
    message = f"weight is not signed_notional / ending_equity in {counted(broken.height, 'row')}"
    columns = (*CELL, "signed_notional", "ending_equity", "expected", "actual")
    return broken_rows("positions", broken, columns, message, expected=share, actual="weight")


@rule(
    "positions.total",
    "The signed notionals of a session sum to position_value_end, which is 0 without positions; "
    "every session of the positions is one of the portfolio.",
    "Seal every held name and every session of the ledger, marked at the same close.",
    needs={
        "positions": (*SESSION, "signed_notional"),
        "portfolio": (*SESSION, "position_value_end"),
    },
    unique=("positions", "portfolio"),
)
def positions_total(tables: Tables) -> Finding | None:
    """Report sessions whose positions do not sum to the ledger; one row is one session."""
    return _totals(tables, "positions", {"signed_notional": "position_value_end"})


@rule(
    "pnl.total",
    "Each of market_pnl, execution_cost and borrow_cashflow summed over the names of a session is the "
    "portfolio's; every session of the pnl is one of the portfolio.",
    "Book every flow of the ledger on the name it comes from; carry and rounding stay with the ledger.",
    needs={"pnl": (*SESSION, *_FLOWS), "portfolio": (*SESSION, *_FLOWS)},
    unique=("pnl", "portfolio"),
)
def pnl_total(tables: Tables) -> Finding | None:
    """Report sessions whose flows by name do not sum to the ledger; one row is one session."""
    return _totals(tables, "pnl", {name: name for name in _FLOWS})


def _totals(tables: Tables, kind: str, columns: dict[str, str]) -> Finding | None:
    """Compare the sums by session of a kind with the portfolio, both ways."""
    grid = tables.alignment
    unknown = grid.unknown_sessions(kind)
    fault = pl.lit("the portfolio has no such session")
    message = f"{counted(unknown.height, 'session')} not in the portfolio"
    findings = [broken_rows(kind, unknown, (*SESSION, "fault"), message, fault=fault)]
    broken = np.zeros(grid.sessions.height, np.bool_)
    for name, column in columns.items():
        actual, expected = grid.by_session(kind, grid.column(kind, name)), grid.ledger(column)
        differs = differing(expected, actual, ABSOLUTE * tables.equity_basis)
        wrong = np.flatnonzero(differs & grid.compared)
        broken[wrong] = True
        message = f"{name} does not sum to the portfolio's {column} in {counted(wrong.size, 'session')}"
        rows = grid.sessions[wrong].with_columns(expected=expected[wrong], actual=actual[wrong])
        shown = (*SESSION, "column", "expected", "actual")
        findings.append(broken_rows(kind, rows, shown, message, column=pl.lit(name)))
    return joined_findings(findings, unknown.height + int(broken.sum()))
