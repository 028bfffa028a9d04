"""The rules on the daily ledger: accounting identities and continuity."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Final

import polars as pl

from pipeline.reconciliation.tables import SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import differ
from schemas.plurals import counted

_PARTS: Final = (
    "starting_equity",
    "market_pnl",
    "execution_cost",
    "borrow_cashflow",
    "cash_carry",
    "rounding_adjustment",
)
_COSTS: Final = ("execution_cost", "borrow_cashflow")


@rule(
    "portfolio.timestamp",
    "The timestamp of a session lies on its date, in UTC; midnight at the end of that day counts as well.",
    "Seal the instant of the close that the row's date names, converted to UTC.",
    needs={"portfolio": ("date", "timestamp")},
)
def portfolio_timestamp(tables: Tables) -> Finding | None:
    """Report sessions whose close is on another day."""
    day_start = pl.col("date").cast(pl.Datetime("us", "UTC"))
    on_date = pl.col("timestamp").is_between(day_start, day_start + pl.duration(days=1))
    broken = tables["portfolio"].filter(~on_date)
    message = f"{counted(broken.height, 'session')} with a timestamp on another day than the date"
    return broken_rows("portfolio", broken, (*SESSION, "timestamp"), message)


@rule(
    "portfolio.identity",
    "ending_equity = starting_equity + market_pnl + execution_cost + borrow_cashflow + cash_carry + "
    "rounding_adjustment, to 1e-9.",
    "Write costs as negative cash flows, and rounding errors in rounding_adjustment.",
    needs={"portfolio": (*_PARTS, "ending_equity")},
)
def portfolio_identity(tables: Tables) -> Finding | None:
    """Report sessions whose flows do not sum to the ending equity."""
    total = reduce(add, (pl.col(name) for name in _PARTS))
    complaint = "is not the sum of the session's parts"
    return _unequal(tables, tables["portfolio"], "ending_equity", total, complaint)


@rule(
    "portfolio.cash",
    "cash_end + position_value_end = ending_equity, to 1e-9.",
    "Value the positions at the close and count their proceeds and costs in cash.",
    needs={"portfolio": ("cash_end", "position_value_end", "ending_equity")},
)
def portfolio_cash(tables: Tables) -> Finding | None:
    """Report sessions whose cash and positions do not sum to the ending equity."""
    total = pl.col("cash_end") + pl.col("position_value_end")
    complaint = "is not cash_end + position_value_end"
    return _unequal(tables, tables["portfolio"], "ending_equity", total, complaint)


@rule(
    "portfolio.continuity",
    "A session's starting_equity is the ending_equity of the book's previous session; of the first, equity_basis.",
    "Seal every session of the book, and start each with the previous ending equity.",
    needs={"portfolio": (*SESSION, "starting_equity", "ending_equity")},
    unique=("portfolio",),
)
def portfolio_continuity(tables: Tables) -> Finding | None:
    """Report sessions that do not start with the previous ending equity."""
    ledger = tables["portfolio"].select(*SESSION, "starting_equity", "ending_equity").sort(SESSION)
    before = pl.col("ending_equity").shift(1).over("book").fill_null(tables.equity_basis)
    complaint = "is not the previous ending_equity of the book"
    return _unequal(tables, ledger, "starting_equity", before, complaint)


@rule(
    "portfolio.signs",
    "execution_cost and borrow_cashflow are 0 or below.",
    "Write costs as the negative cash flows they are.",
    needs={"portfolio": ()},
    uses={"portfolio": _COSTS},
)
def portfolio_signs(tables: Tables) -> Finding | None:
    """Report sessions with positive costs."""
    costs = tables.present("portfolio", _COSTS)
    positive = pl.any_horizontal(pl.lit(value=False), *(pl.col(name) > 0 for name in costs))
    broken = tables["portfolio"].filter(positive)
    message = f"{counted(broken.height, 'session')} with a cost above 0"
    return broken_rows("portfolio", broken, (*SESSION, *costs), message)


def _unequal(
    tables: Tables, ledger: pl.DataFrame, column: str, expected: pl.Expr, complaint: str
) -> Finding | None:
    """Report the sessions of a ledger in which a column differs from its expected value."""
    rows = ledger.with_columns(column=pl.lit(column), expected=expected, actual=column)
    broken = rows.filter(differ(pl.col("actual"), pl.col("expected"), tables.equity_basis))
    message = f"{column} {complaint} in {counted(broken.height, 'session')}"
    return broken_rows("portfolio", broken, (*SESSION, "column", "expected", "actual"), message)
