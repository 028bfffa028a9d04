"""Double entry by book: cash, exposure and turnover of the ledger against positions and fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Flags, Floats, totals
from pipeline.reconciliation.tables import CELL, FILL, SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows, joined_findings
from pipeline.rules.tolerance import ABSOLUTE, differing
from schemas.plurals import counted

TURNOVER: Final[Mapping[str, str]] = {
    "traded_over_starting_equity": "half of turnover_notional over starting_equity",
    "weight_changes_on_fills": "half of the absolute changes of weight since the previous close, on sessions with a fill",
    "traded_over_ending_equity": "half of turnover_notional over ending_equity",
    "weight_changes": "half of the absolute changes of weight since the previous close, on every session",
}
"""Conventions of the ledger's turnover, in the order tried; one of them must hold throughout the run."""
CARRY: Final[Mapping[str, str]] = {
    "cash": "cash_start x risk_free_return",
    "positive_cash": "max(cash_start, 0) x risk_free_return",
}
"""Conventions of the interest on cash, in the order tried."""
ROUNDING_DEVIATIONS: Final = 5.0
"""Bound in units of the root of the sum of squares; random signs exceed it once in 270,000 books (Hoeffding: 2 exp(-25/2))."""
MAX_ROUNDING_TOTAL: Final = 0.01
"""Bound on total rounding as a fraction of equity; coarser rounding changes results, even with random signs."""
MIN_ROUNDING_TOTAL: Final = 1e-4
"""Total rounding that is always allowed, as a fraction of equity, for the truncated cents of a small book."""

_RATIOS: Final = ("gross_exposure", "net_exposure", "largest_abs_weight", "turnover")
"""Columns of the ledger that are compared on a scale of 1, not of equity_basis."""


@rule(
    "portfolio.cash_start",
    "A session's cash_start is the cash_end of the book's previous session; of the first, equity_basis.",
    "Start each session with the cash of the previous close; a book opens with equity_basis in cash.",
    needs={"portfolio": (*SESSION, "cash_start", "cash_end")},
    unique=("portfolio",),
)
def portfolio_cash_start(tables: Tables) -> Finding | None:
    """Report sessions that do not start with the cash of the previous close."""
    grid = tables.alignment
    expected = np.roll(grid.ledger("cash_end"), 1)
    expected[grid.opens] = tables.equity_basis
    return _finding(tables, {"cash_start": expected})


@rule(
    "portfolio.cash_flow",
    "cash_end = cash_start - quantity x mid_price summed over the day's fills - their execution_cost + "
    "borrow_cashflow + cash_carry + rounding_adjustment, plus cash_adjustment where the pnl seals one.",
    "Change cash only by fills, costs, borrow and carry; cash paid by holdings belongs in cash_adjustment of "
    "the pnl.",
    needs={
        "portfolio": (
            *SESSION,
            "cash_start",
            "cash_end",
            "borrow_cashflow",
            "cash_carry",
            "rounding_adjustment",
        ),
        "trades": (*FILL, "quantity", "mid_price", "execution_cost"),
    },
    uses={"pnl": (*CELL, "cash_adjustment")},
    unique=("portfolio",),
)
def portfolio_cash_flow(tables: Tables) -> Finding | None:
    """Report sessions whose cash does not follow from their fills and flows."""
    grid, excluded = tables.alignment, tables.declared.outside_ledger
    quantity, mid, cost = (
        grid.column("trades", name) for name in ("quantity", "mid_price", "execution_cost")
    )
    received: Floats | float = 0.0
    if tables.has("pnl", *CELL, "cash_adjustment"):
        received = grid.by_session("pnl", grid.column("pnl", "cash_adjustment"))
    paid = grid.by_session("trades", quantity * mid, excluded)
    flows = grid.ledger("borrow_cashflow") + grid.ledger("cash_carry") + grid.ledger("rounding_adjustment")
    costs = grid.by_session("trades", cost, excluded)
    return _finding(tables, {"cash_end": grid.ledger("cash_start") - paid - costs + flows + received})


@rule(
    "portfolio.execution_cost",
    "The execution_cost of a session is the negative sum of the execution_cost of its fills.",
    "Charge the book exactly what its fills cost.",
    needs={
        "portfolio": (*SESSION, "execution_cost"),
        "trades": (*FILL, "execution_cost"),
    },
    unique=("portfolio",),
)
def portfolio_execution_cost(tables: Tables) -> Finding | None:
    """Report sessions whose costs differ from those of their fills."""
    grid, excluded = tables.alignment, tables.declared.outside_ledger
    cost = -grid.by_session("trades", grid.column("trades", "execution_cost"), excluded)
    return _finding(tables, {"execution_cost": cost})


@rule(
    "portfolio.rounding",
    "rounding_adjustment is no larger than rounding errors: at most 1e-6 of equity, or the fraction that seal.json declares as "
    "reconciliation.rounding. Equity is starting_equity, or equity_basis where that is larger.",
    "Book flows where they belong: a remainder that rounding cannot explain is a missing flow.",
    needs={"portfolio": (*SESSION, "starting_equity", "rounding_adjustment")},
    unique=("portfolio",),
)
def portfolio_rounding(tables: Tables) -> Finding | None:
    """Report sessions with an adjustment larger than rounding."""
    grid = tables.alignment
    rounding, equity = grid.ledger("rounding_adjustment"), np.abs(grid.ledger("starting_equity"))
    allowed = tables.declared.rounding * np.maximum(equity, tables.equity_basis)
    wrong = ~(np.abs(rounding) <= allowed)
    return _finding(tables, {"rounding_adjustment": 0.0 * rounding}, {"rounding_adjustment": wrong})


@rule(
    "portfolio.rounding_total",
    f"Rounding is not one-sided: the rounding_adjustment of a book sums over the run to at most "
    f"{ROUNDING_DEVIATIONS:g} times the root of the sum of its squares, and to at most {MAX_ROUNDING_TOTAL:g} of equity; "
    f"{MIN_ROUNDING_TOTAL:g} of equity is allowed in any case. Equity is the mean starting_equity, or equity_basis where that is "
    "larger.",
    "Round to nearest, so that errors cancel; an amount that adds up over a run is a flow: book it as cost, carry or profit.",
    needs={"portfolio": (*SESSION, "starting_equity", "rounding_adjustment")},
    unique=("portfolio",),
)
def portfolio_rounding_total(tables: Tables) -> Finding | None:
    """Report books with one-sided rounding."""
    rounding = pl.col("rounding_adjustment")
    equity = pl.max_horizontal(pl.col("starting_equity").mean(), pl.lit(tables.equity_basis))
    random = ROUNDING_DEVIATIONS * rounding.pow(2).sum().sqrt()
    books = tables["portfolio"].group_by("book").agg(
        sessions=pl.len(),
        total=rounding.sum(),
        allowed=pl.max_horizontal(
            pl.min_horizontal(random, MAX_ROUNDING_TOTAL * equity), MIN_ROUNDING_TOTAL * equity
        ),
    )  # fmt: skip
    broken = books.filter(~(pl.col("total").abs() <= pl.col("allowed"))).sort("book")
    shown = broken.with_columns(column=pl.lit("rounding_adjustment"), expected="allowed", actual="total")
    columns = ("book", "column", "sessions", "expected", "actual")
    message = f"rounding_adjustment adds up over the run in {counted(broken.height, 'book')}"
    return joined_findings([broken_rows("portfolio", shown, columns, message)], int(broken["sessions"].sum()))


@rule(
    "portfolio.carry",
    f"cash_carry is {CARRY['cash']}, or {CARRY['positive_cash']}; the same throughout the run, and 0 where no rate is stated.",
    "Leave it if the engine credits interest in another way; otherwise compute it on the cash at the open.",
    needs={"portfolio": (*SESSION, "cash_start", "cash_carry", "risk_free_return")},
    unique=("portfolio",),
    warns=True,
)
def portfolio_carry(tables: Tables) -> Finding | None:
    """Warn of interest that the rate of the session does not explain."""
    grid = tables.alignment
    cash, rate = grid.ledger("cash_start"), np.nan_to_num(grid.ledger("risk_free_return"))
    return _nearest(
        tables, "cash_carry", {"cash": cash * rate, "positive_cash": np.maximum(cash, 0.0) * rate}
    )


@rule(
    "portfolio.exposure",
    "gross_notional and net_notional are the sums of absolute and signed notionals of the session's positions; "
    "gross_exposure and net_exposure are the same divided by ending_equity; largest_abs_weight is the largest absolute notional "
    "divided by ending_equity; all are 0 without positions.",
    "Sum the positions that are sealed, marked at the close, and divide by the ending equity.",
    needs={
        "positions": (*CELL, "signed_notional"),
        "portfolio": (*SESSION, "ending_equity"),
    },
    uses={
        "portfolio": (
            "gross_notional",
            "net_notional",
            "gross_exposure",
            "net_exposure",
            "largest_abs_weight",
        ),
    },
    unique=("positions", "portfolio"),
)
def portfolio_exposure(tables: Tables) -> Finding | None:
    """Report sessions whose exposure differs from that of their positions."""
    grid = tables.alignment
    notional = grid.column("positions", "signed_notional")
    size, equity = np.abs(notional), grid.ledger("ending_equity")
    gross, net = grid.by_session("positions", size), grid.by_session("positions", notional)
    largest = grid.by_session("positions", size, ufunc=np.maximum)
    expected = {
        "gross_notional": gross,
        "net_notional": net,
        "gross_exposure": _ratio(gross, equity),
        "net_exposure": _ratio(net, equity),
        "largest_abs_weight": np.abs(_ratio(largest, equity)),
    }
    sealed = tables.present("portfolio", tuple(expected))
    return _finding(tables, {name: expected[name] for name in sealed})


@rule(
    "portfolio.turnover_notional",
    "turnover_notional is the sum of |quantity x mid_price| over the day's fills, including those of the "
    "trade-only variants unless seal.json declares them outside_turnover.",
    "Count every fill once at its mid, purchases and sales alike.",
    needs={
        "portfolio": (*SESSION, "turnover_notional"),
        "trades": (*FILL, "quantity", "mid_price"),
    },
    unique=("portfolio",),
)
def portfolio_turnover_notional(tables: Tables) -> Finding | None:
    """Report sessions whose traded notional differs from that of their fills."""
    grid, declared = tables.alignment, tables.declared
    excluded = (*declared.outside_ledger, *declared.outside_turnover)
    traded = np.abs(grid.column("trades", "quantity") * grid.column("trades", "mid_price"))
    return _finding(tables, {"turnover_notional": grid.by_session("trades", traded, excluded)})


@rule(
    "portfolio.turnover",
    "turnover follows one convention throughout the run: " + "; or ".join(TURNOVER.values()) + ".",
    "Compute the one-sided turnover in one of these ways, the same on every session and in every book.",
    needs={
        "portfolio": (*SESSION, "turnover", "turnover_notional", "starting_equity", "ending_equity"),
    },
    uses={"positions": (*CELL, "weight")},
    unique=("portfolio",),
)
def portfolio_turnover(tables: Tables) -> Finding | None:
    """Report sessions whose turnover no convention of the run reproduces."""
    if turnover_conventions(tables):
        return None
    if not tables.has("positions", *CELL, "weight"):
        return None  # the conventions on weights cannot be tried, but the run may use one of them
    return _nearest(tables, "turnover", _turnovers(tables))


def turnover_conventions(tables: Tables) -> set[str]:
    """Return the names of the turnover conventions that hold in every session."""
    turnovers = _turnovers(tables).items()
    return {name for name, expected in turnovers if not _mismatch(tables, "turnover", expected).any()}


def _turnovers(tables: Tables) -> dict[str, Floats]:
    """Compute the turnover by each convention that the tables allow, in the order of :data:`TURNOVER`."""
    grid = tables.alignment
    half = 0.5 * grid.ledger("turnover_notional")
    turnovers = {
        "traded_over_starting_equity": _ratio(half, grid.ledger("starting_equity")),
        "traded_over_ending_equity": _ratio(half, grid.ledger("ending_equity")),
    }
    if tables.has("positions", *CELL, "weight"):
        changes = _weight_changes(tables)
        turnovers["weight_changes_on_fills"] = np.where(half > 0, changes, 0.0)
        turnovers["weight_changes"] = changes
    return {name: turnovers[name] for name in TURNOVER if name in turnovers}


def _weight_changes(tables: Tables) -> Floats:
    """Return half of the sum of absolute weight changes by session, shape (sessions,)."""
    grid = tables.alignment
    weight = grid.column("positions", "weight")
    changes = np.zeros(grid.sessions.height)
    for cells in grid.cells:
        moved = np.abs(cells.spread("positions", weight) - cells.spread("previous", weight))
        changes += totals(cells.session, 0.5 * moved, changes.size)
    return changes


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; NaN where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator != 0)


def _mismatch(tables: Tables, column: str, expected: Floats) -> Flags:
    """Return the sessions in which a column differs from its expected value; NaN matches any value."""
    grid = tables.alignment
    floor = ABSOLUTE * (1.0 if column in _RATIOS else tables.equity_basis)
    return differing(expected, grid.ledger(column), floor) & ~np.isnan(expected) & grid.compared


def _nearest(tables: Tables, column: str, candidates: Mapping[str, Floats]) -> Finding | None:
    """Compare a column with several conventions; report the one that the fewest sessions break."""
    best = min(candidates, key=lambda name: int(_mismatch(tables, column, candidates[name]).sum()))
    return _finding(tables, {column: candidates[best]}, remark=f", nearest to the convention {best},")


def _finding(
    tables: Tables,
    expected: Mapping[str, Floats],
    wrong: Mapping[str, Flags] | None = None,
    remark: str = "",
) -> Finding | None:
    """Report sessions in which columns differ from their expected values; one row is one session.

    Parameters
    ----------
    wrong
        Broken sessions by column; by default those that differ by more than the tolerance.
    """
    grid = tables.alignment
    if wrong is None:
        wrong = {name: _mismatch(tables, name, values) for name, values in expected.items()}
    findings = []
    for name, flags in wrong.items():
        at = np.flatnonzero(flags)
        rows = grid.sessions[at].with_columns(expected=expected[name][at], actual=grid.ledger(name)[at])
        message = f"{name} does not follow from its parts{remark} in {counted(at.size, 'session')}"
        shown = (*SESSION, "column", "expected", "actual")
        findings.append(broken_rows("portfolio", rows, shown, message, column=pl.lit(name)))
    return joined_findings(findings, int(np.logical_or.reduce(list(wrong.values())).sum()))
