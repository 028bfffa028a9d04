"""Double entry by book: cash, exposure and turnover of the ledger against positions and fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.books import CARRY, TURNOVER, before, carry_by_convention, expected_cash, ratio
from pipeline.reconciliation.grid import Flags, Floats
from pipeline.reconciliation.holdings import differing
from pipeline.reconciliation.tables import SESSION, Tables
from pipeline.rule import Finding, examples_wanted, rule
from pipeline.rules.findings import pick_examples
from pipeline.rules.tolerance import ABSOLUTE

ROUNDING_DEVIATIONS: Final = 5.0
"""Bound in roots of the sum of squares: random signs exceed it once in 270,000 books (Hoeffding: 2 exp(-25/2))."""
ROUNDING_MOST: Final = 0.01
"""Of equity: coarser rounding changes results, even with random signs."""
ROUNDING_LEAST: Final = 1e-4
"""Of equity: a basis point over the run, room for the truncated cents of a small book."""

_FILL: Final = ("book", "timestamp", "symbol")
_CELL: Final = (*SESSION, "symbol")


@rule(
    "portfolio.cash_start",
    "A session's cash_start is the cash_end of the book's session before; of the first, equity_basis.",
    "Start each session from the cash it ended with; a book opens with equity_basis in cash.",
    needs={"portfolio": (*SESSION, "cash_start", "cash_end")},
    unique=("portfolio",),
)
def portfolio_cash_start(tables: Tables) -> Finding | None:
    """Report sessions that do not start from the cash they ended with."""
    grid = tables.alignment
    expected = before(grid.ledger("cash_end"), grid.opens, tables.equity_basis)
    return _sessions_finding(tables, {"cash_start": expected}, money=True)


@rule(
    "portfolio.cash_flow",
    "cash_end = cash_start - quantity x mid_price summed over the day's fills - their execution_cost + "
    "borrow_cashflow + cash_carry + rounding_adjustment, plus cash_adjustment where the pnl seals one.",
    "Let cash move by fills, costs, borrow and carry alone; what holdings pay in cash belongs into cash_adjustment of "
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
        "trades": (*_FILL, "quantity", "mid_price", "execution_cost"),
    },
    uses={"pnl": (*_CELL, "cash_adjustment")},
    unique=("portfolio",),
)
def portfolio_cash_flow(tables: Tables) -> Finding | None:
    """Report sessions whose cash does not follow from their fills and flows."""
    grid, aside = tables.alignment, tables.declared.outside_ledger
    quantity, mid, cost = (
        grid.column("trades", name) for name in ("quantity", "mid_price", "execution_cost")
    )
    received: Floats | float = 0.0
    if tables.has("pnl", *_CELL, "cash_adjustment"):
        received = grid.by_session("pnl", grid.column("pnl", "cash_adjustment"))
    paid = grid.by_session("trades", quantity * mid, aside)
    flows = grid.ledger("borrow_cashflow") + grid.ledger("cash_carry") + grid.ledger("rounding_adjustment")
    costs = grid.by_session("trades", cost, aside)
    expected = expected_cash(grid.ledger("cash_start"), paid, costs, flows, received)
    return _sessions_finding(tables, {"cash_end": expected}, money=True)


@rule(
    "portfolio.execution_cost",
    "The execution_cost of a session is the negative sum of the execution_cost of its fills.",
    "Charge the book exactly what its fills cost.",
    needs={
        "portfolio": (*SESSION, "execution_cost"),
        "trades": (*_FILL, "execution_cost"),
    },
    unique=("portfolio",),
)
def portfolio_execution_cost(tables: Tables) -> Finding | None:
    """Report sessions that are charged other costs than those of their fills."""
    grid, aside = tables.alignment, tables.declared.outside_ledger
    cost = -grid.by_session("trades", grid.column("trades", "execution_cost"), aside)
    return _sessions_finding(tables, {"execution_cost": cost}, money=True)


@rule(
    "portfolio.rounding",
    "rounding_adjustment closes a session to rounding: at most 1e-6 of starting_equity, or the fraction that seal.json "
    "declares as reconciliation.rounding.",
    "Book flows where they belong: what rounding cannot explain is a missing flow.",
    needs={"portfolio": (*SESSION, "starting_equity", "rounding_adjustment")},
    unique=("portfolio",),
)
def portfolio_rounding(tables: Tables) -> Finding | None:
    """Report sessions closed by more than rounding."""
    grid = tables.alignment
    rounding, equity = grid.ledger("rounding_adjustment"), np.abs(grid.ledger("starting_equity"))
    allowed = tables.declared.rounding * np.maximum(equity, tables.equity_basis)
    wrong = ~(np.abs(rounding) <= allowed)
    return _wrong_sessions(tables, {"rounding_adjustment": (wrong, 0.0 * rounding, rounding)})


@rule(
    "portfolio.rounding_total",
    f"Rounding deals out its signs evenly: the rounding_adjustment of a book sums over the run to at most "
    f"{ROUNDING_DEVIATIONS:g} times the root of the sum of its squares, and to at most {ROUNDING_MOST:g} of equity; "
    f"{ROUNDING_LEAST:g} of equity is allowed in any case. Equity is the mean starting_equity, or equity_basis where that is "
    "larger.",
    "Round to the nearest, so that errors cancel; what adds up over a run is a flow: book it as cost, carry or profit.",
    needs={"portfolio": (*SESSION, "starting_equity", "rounding_adjustment")},
    unique=("portfolio",),
)
def portfolio_rounding_total(tables: Tables) -> Finding | None:
    """Report books whose rounding goes one way."""
    rounding = pl.col("rounding_adjustment")
    equity = pl.max_horizontal(pl.col("starting_equity").mean(), pl.lit(tables.equity_basis))
    random = ROUNDING_DEVIATIONS * rounding.pow(2).sum().sqrt()
    books = tables["portfolio"].group_by("book").agg(
        sessions=pl.len(),
        total=rounding.sum(),
        allowed=pl.max_horizontal(
            pl.min_horizontal(random, ROUNDING_MOST * equity), ROUNDING_LEAST * equity
        ),
    )  # fmt: skip
    broken = books.filter(~(pl.col("total").abs() <= pl.col("allowed"))).sort("book")
    if not broken.height:
        return None
    shown = broken.with_columns(column=pl.lit("rounding_adjustment"), expected="allowed", actual="total")
    examples = pick_examples(shown, ("book", "column", "sessions", "expected", "actual"))
    message = f"rounding_adjustment adds up over the run in {broken.height} books"
    return Finding("portfolio", int(broken["sessions"].sum()), examples, message)


@rule(
    "portfolio.carry",
    f"cash_carry is {CARRY['cash']}, or {CARRY['positive_cash']}; the same throughout the run, and 0 where no rate is stated.",
    "Nothing, when the engine credits interest in another way; else compute it on the cash at the open.",
    needs={"portfolio": (*SESSION, "cash_start", "cash_carry", "risk_free_return")},
    unique=("portfolio",),
    warns=True,
)
def portfolio_carry(tables: Tables) -> Finding | None:
    """Warn of interest that the rate of the session does not explain."""
    grid = tables.alignment
    candidates = carry_by_convention(grid.ledger("cash_start"), grid.ledger("risk_free_return"))
    return _nearest(tables, "cash_carry", candidates, ABSOLUTE * tables.equity_basis)


@rule(
    "portfolio.exposure",
    "gross_notional and net_notional are the sums of absolute and signed notionals of the session's positions; "
    "gross_exposure and net_exposure those over ending_equity; largest_abs_weight is the largest absolute notional "
    "over ending_equity; all are 0 where nothing is held.",
    "Sum the positions that are sealed, marked at the close, and divide by the equity of the evening.",
    needs={
        "positions": (*_CELL, "signed_notional"),
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
    """Report sessions whose exposure is not that of their positions."""
    grid = tables.alignment
    notional = grid.column("positions", "signed_notional")
    size, equity = np.abs(notional), grid.ledger("ending_equity")
    gross, net = grid.by_session("positions", size), grid.by_session("positions", notional)
    largest = grid.by_session("positions", size, ufunc=np.maximum)
    money = {"gross_notional": gross, "net_notional": net}
    shares = {
        "gross_exposure": ratio(gross, equity),
        "net_exposure": ratio(net, equity),
        "largest_abs_weight": np.abs(ratio(largest, equity)),
    }
    wrong = {
        name: _compared(tables, name, expected, tables.equity_basis if name in money else 1.0)
        for name, expected in {**money, **shares}.items()
        if tables.has("portfolio", name)
    }
    return _wrong_sessions(tables, wrong)


@rule(
    "portfolio.turnover_notional",
    "turnover_notional is the sum of |quantity x mid_price| over the day's fills, those of the trade-only variants "
    "included unless seal.json declares them outside_turnover.",
    "Count every fill once at its mid, purchases and sales alike.",
    needs={
        "portfolio": (*SESSION, "turnover_notional"),
        "trades": (*_FILL, "quantity", "mid_price"),
    },
    unique=("portfolio",),
)
def portfolio_turnover_notional(tables: Tables) -> Finding | None:
    """Report sessions whose traded notional is not that of their fills."""
    grid, aside = tables.alignment, _outside_turnover(tables)
    traded = np.abs(grid.column("trades", "quantity") * grid.column("trades", "mid_price"))
    return _sessions_finding(
        tables, {"turnover_notional": grid.by_session("trades", traded, aside)}, money=True
    )


@rule(
    "portfolio.turnover",
    "turnover follows one convention throughout the run: " + "; or ".join(TURNOVER.values()) + ".",
    "Compute the one-sided turnover in one of these ways, the same on every session and in every book.",
    needs={
        "portfolio": (*SESSION, "turnover", "turnover_notional", "starting_equity", "ending_equity"),
    },
    uses={"positions": (*_CELL, "weight")},
    unique=("portfolio",),
)
def portfolio_turnover(tables: Tables) -> Finding | None:
    """Report sessions whose turnover no convention of the run reproduces."""
    tried: dict[str, Floats] = {}
    for name, expected in _turnovers(tables):
        tried[name] = expected
        if not _turnover_breaks(tables, expected):
            return None
    return _nearest(tables, "turnover", tried, ABSOLUTE)


def turnover_conventions(tables: Tables) -> set[str]:
    """Name the conventions of turnover that every session keeps."""
    return {name for name, expected in _turnovers(tables) if not _turnover_breaks(tables, expected)}


def _turnovers(tables: Tables) -> Iterator[tuple[str, Floats]]:
    """Compute the turnover by the conventions that the tables allow, one after the other."""
    grid = tables.alignment
    half = 0.5 * grid.ledger("turnover_notional")
    candidates: dict[str, Callable[[], Floats]] = {
        "traded_over_starting_equity": lambda: ratio(half, grid.ledger("starting_equity")),
        "traded_over_ending_equity": lambda: ratio(half, grid.ledger("ending_equity")),
    }
    if tables.has("positions", *_CELL, "weight"):
        candidates["weight_changes"] = lambda: _weight_changes(tables)
        candidates["weight_changes_on_fills"] = lambda: np.where(half > 0, _weight_changes(tables), 0.0)
    for name in TURNOVER:
        if name in candidates:
            yield name, candidates[name]()


def _turnover_breaks(tables: Tables, expected: Floats) -> bool:
    wrong = _compared(tables, "turnover", expected, 1.0)[0]
    return bool(wrong[tables.part.context :].any())


def _outside_turnover(tables: Tables) -> tuple[str, ...]:
    return (*tables.declared.outside_ledger, *tables.declared.outside_turnover)


def _weight_changes(tables: Tables) -> Floats:
    """Half of the absolute changes of weight by session, shape (sessions,)."""
    grid = tables.alignment
    weight = grid.column("positions", "weight")
    changes = np.zeros(grid.sessions.height)
    for block in grid.blocks():
        moved = np.abs(block.spread("positions", weight) - block.spread("positions", weight, before=True))
        sums = np.bincount(block.session, weights=0.5 * moved)
        changes[block.start : block.start + sums.size] = sums
    return changes


def _compared(tables: Tables, column: str, expected: Floats, scale: float) -> tuple[Flags, Floats, Floats]:
    actual = tables.alignment.ledger(column)
    known = ~np.isnan(expected)
    return differing(expected, actual, ABSOLUTE * scale) & known, expected, actual


def _sessions_finding(tables: Tables, columns: dict[str, Floats], *, money: bool) -> Finding | None:
    scale = tables.equity_basis if money else 1.0
    return _wrong_sessions(
        tables, {name: _compared(tables, name, expected, scale) for name, expected in columns.items()}
    )


def _nearest(tables: Tables, column: str, candidates: dict[str, Floats], floor: float) -> Finding | None:
    """Compare a column with conventions; report it by the one that fewest sessions break."""
    actual = tables.alignment.ledger(column)
    broken = {
        name: differing(expected, actual, floor) & ~np.isnan(expected)
        for name, expected in candidates.items()
    }
    best = min(broken, key=lambda name: int(broken[name].sum()))
    return _wrong_sessions(
        tables, {column: (broken[best], candidates[best], actual)}, f", nearest to the convention {best},"
    )


def _wrong_sessions(
    tables: Tables, columns: dict[str, tuple[Flags, Floats, Floats]], remark: str = ""
) -> Finding | None:
    """Report sessions by column; one row is one session and column."""
    grid = tables.alignment
    parts, reasons = [], []
    for name, (wrong, expected, actual) in columns.items():
        at = np.flatnonzero(wrong)
        if at.size:
            reasons.append(f"{name} is not what its parts come to{remark} in {at.size} sessions")
            figures = {"expected": expected[at], "actual": actual[at]}
            parts.append(grid.sessions[at].drop("session").with_columns(column=pl.lit(name), **figures))
    if not parts:
        return None
    shown = pl.concat([part.head(examples_wanted(part.height)) for part in parts])
    rows = int(np.logical_or.reduce([wrong for wrong, _, _ in columns.values()]).sum())
    columns_shown = (*SESSION, "column", "expected", "actual")
    return Finding("portfolio", rows, pick_examples(shown, columns_shown), "; ".join(reasons))
