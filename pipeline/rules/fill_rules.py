"""Double entry by name: holdings, profit and costs against the fills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Cells, Floats
from pipeline.reconciliation.tables import CELL, FILL, SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import ABSOLUTE, differ, differing
from schemas.plurals import counted
from schemas.tables.rebalances import TRADED

_QUANTITY: Final = "quantity_adjustment"
_CASH: Final = "cash_adjustment"


@rule(
    "trades.cost",
    "A fill's execution_cost = fee + quantity x (fill_price - mid_price), the amount paid beyond the mid.",
    "Measure the impact against the mid that is sealed, with the sign of the quantity; a purchase fills above the "
    "mid, a sale below it.",
    needs={"trades": ("quantity", "mid_price", "fill_price", "fee", "execution_cost")},
)
def trades_cost(tables: Tables) -> Finding | None:
    """Report fills whose cost differs from fee plus distance from the mid."""
    cost = pl.col("fee") + pl.col("quantity") * (pl.col("fill_price") - pl.col("mid_price"))
    broken = tables["trades"].filter(differ(pl.col("execution_cost"), cost, tables.equity_basis))
    message = (
        f"execution_cost is not fee + quantity x (fill_price - mid_price) in {counted(broken.height, 'fill')}"
    )
    columns = (*FILL, "quantity", "mid_price", "fill_price", "fee", "expected", "actual")
    return broken_rows("trades", broken, columns, message, expected=cost, actual="execution_cost")


@rule(
    "trades.decision",
    "Every fill names the decision that caused it: a rebalance date of a traded week, before the day of the fill.",
    "Date the decision by the weekly rebalance, and the fill by the session that executed it.",
    needs={"trades": ("book", "timestamp", "decision_at"), "rebalances": ("date", "week_status")},
    unique=("rebalances",),
)
def trades_decision(tables: Tables) -> Finding | None:
    """Report fills without a decision, or before it."""
    decision = pl.col("decision_at")
    valid = decision.is_in(tables.weeks(TRADED).implode()) & (decision < pl.col("timestamp").dt.date())
    broken = tables["trades"].filter(~valid)
    message = (
        f"decision_at is not a traded rebalance date before the fill in {counted(broken.height, 'fill')}"
    )
    return broken_rows("trades", broken, (*FILL, "decision_at"), message)


@rule(
    "positions.fills",
    "A name's quantity at a close is its quantity at the previous close plus the day's fills of the book and of its "
    "trade-only variants, plus quantity_adjustment where the pnl seals one; a name without a row holds 0.",
    "Seal every fill with its sign, on the session it changed the holding; shares received without a fill belong "
    "in quantity_adjustment of the pnl.",
    needs={
        "positions": (*CELL, "quantity"),
        "trades": (*FILL, "quantity"),
        "portfolio": SESSION,
    },
    uses={"pnl": (*CELL, _QUANTITY)},
    unique=("positions", "portfolio"),
)
def positions_fills(tables: Tables) -> Finding | None:
    """Report holdings that do not follow from the fills."""
    grid = tables.alignment
    quantity, filled = grid.column("positions", "quantity"), grid.column("trades", "quantity")
    size, adjusted = np.abs(filled), _adjustment(tables, _QUANTITY)

    def compare(cells: Cells) -> pl.DataFrame:
        before, actual = cells.spread("previous", quantity), cells.spread("positions", quantity)
        bought = cells.spread("booked", filled)
        expected = before + bought
        if adjusted is not None:
            expected += cells.spread("pnl", adjusted)
        # There is no price to scale the tolerance, so a sum that cancels is compared relative to its terms.
        wrong = differing(expected, actual, 0.0, before, cells.spread("booked", size))
        return cells.gaps(wrong, expected, actual, quantity_before=before, filled=bought)

    return _finding(tables, "positions", compare, "quantity is not the previous quantity plus the fills")


@rule(
    "pnl.market",
    "A name's market_pnl is its signed notional at the close less that at the previous close, less quantity x "
    "mid_price summed over the day's fills, plus cash_adjustment where the pnl seals one.",
    "Measure P&L of holdings from close to close, and of fills from or to the mid; costs against the mid "
    "belong in execution_cost, cash that a holding pays in cash_adjustment.",
    needs={
        "pnl": (*CELL, "market_pnl"),
        "positions": (*CELL, "signed_notional"),
        "trades": (*FILL, "quantity", "mid_price"),
        "portfolio": SESSION,
    },
    uses={"pnl": (_CASH,)},
    unique=("pnl", "positions", "portfolio"),
)
def pnl_market(tables: Tables) -> Finding | None:
    """Report name-days whose P&L does not follow from positions and fills."""
    grid = tables.alignment
    notional = grid.column("positions", "signed_notional")
    paid = grid.column("trades", "quantity") * grid.column("trades", "mid_price")
    pnl, cash = grid.column("pnl", "market_pnl"), _adjustment(tables, _CASH)

    def compare(cells: Cells) -> pl.DataFrame:
        before, after = cells.spread("previous", notional), cells.spread("positions", notional)
        bought, actual = cells.spread("booked", paid), cells.spread("pnl", pnl)
        expected = after - before - bought
        if cash is not None:
            expected += cells.spread("pnl", cash)
        wrong = differing(expected, actual, ABSOLUTE * tables.equity_basis, before, after, bought)
        parts = {"notional_before": before, "notional": after, "paid_at_mid": bought}
        return cells.gaps(wrong, expected, actual, **parts)

    return _finding(tables, "pnl", compare, "market_pnl does not follow from positions and fills")


@rule(
    "pnl.execution_cost",
    "A name's execution_cost on a day is the negative sum of the execution_cost of its fills.",
    "Book only the costs of fills as execution cost, each on its name and session.",
    needs={
        "pnl": (*CELL, "execution_cost"),
        "trades": (*FILL, "execution_cost"),
        "portfolio": SESSION,
    },
    unique=("pnl", "portfolio"),
)
def pnl_execution_cost(tables: Tables) -> Finding | None:
    """Report name-days whose cost differs from the cost of their fills."""
    grid = tables.alignment
    cost, pnl = grid.column("trades", "execution_cost"), grid.column("pnl", "execution_cost")

    def compare(cells: Cells) -> pl.DataFrame:
        expected, actual = -cells.spread("booked", cost), cells.spread("pnl", pnl)
        return cells.gaps(differing(expected, actual, ABSOLUTE * tables.equity_basis), expected, actual)

    return _finding(tables, "pnl", compare, "execution_cost does not match the day's fills")


@rule(
    "pnl.borrow",
    "borrow_cashflow is 0 for a name that is not short: neither at the close, nor at the previous close, nor by a sale "
    "of the day.",
    "Charge the borrow to the short positions that cause it.",
    needs={
        "pnl": (*CELL, "borrow_cashflow"),
        "positions": (*CELL, "quantity"),
        "portfolio": SESSION,
    },
    uses={"trades": (*FILL, "quantity")},
    unique=("pnl", "positions", "portfolio"),
)
def pnl_borrow(tables: Tables) -> Finding | None:
    """Report name-days with borrow costs of a name that is not short."""
    grid = tables.alignment
    quantity, borrow = grid.column("positions", "quantity"), grid.column("pnl", "borrow_cashflow")
    selling = tables.has("trades", *FILL, "quantity")
    sold = grid.column("trades", "quantity").clip(max=0.0) if selling else None

    def compare(cells: Cells) -> pl.DataFrame:
        actual = cells.spread("pnl", borrow)
        before, after = cells.spread("previous", quantity), cells.spread("positions", quantity)
        wrong = (actual < -ABSOLUTE * tables.equity_basis) & (after >= 0) & (before >= 0)
        if sold is not None:
            wrong &= cells.spread("trades", sold) >= 0
        return cells.gaps(wrong, np.zeros_like(actual), actual, quantity=after)

    return _finding(tables, "pnl", compare, "borrow_cashflow is charged to a name that is not short")


def _adjustment(tables: Tables, column: str) -> Floats | None:
    return tables.alignment.column("pnl", column) if tables.has("pnl", *CELL, column) else None


def _finding(
    tables: Tables, kind: str, compare: Callable[[Cells], pl.DataFrame], complaint: str
) -> Finding | None:
    """Report the cells that a comparison returns, book by book."""
    gaps = list(map(compare, tables.alignment.cells))
    if not any(map(len, gaps)):
        return None
    rows = tables.alignment.rows(pl.concat(gaps))
    return broken_rows(kind, rows, rows.columns, f"{complaint} on {counted(rows.height, 'name-day')}")
