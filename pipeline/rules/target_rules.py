"""The rules on decisions against the fills and holdings of the books."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.fills import FILLS
from pipeline.reconciliation.grid import Cells, Codes, Flags, Floats, totals
from pipeline.reconciliation.tables import CELL, SESSION, Tables
from pipeline.rule import Coverage, Finding, rule
from pipeline.rules.findings import broken_rows, joined_findings
from schemas.objects.seal import BINDING
from schemas.plurals import counted
from schemas.tables.books import CONDITIONED_BOOKS, RAW_PREFIX, base_book, is_raw_book
from schemas.tables.rebalances import TRADED

_NAME: Final = ("date", "symbol")
_WEIGHT_COLUMN: Final = {
    prefix + book: f"{prefix}{book}_target_weight"
    for prefix in ("", RAW_PREFIX)
    for book in CONDITIONED_BOOKS
}
"""Book -> column of its target weights."""
_PROPORTION: Final = 1e-6
"""Relative tolerance of the proportions between the positions that one decision opens."""
_SIZING: Final = 0.1
"""Relative tolerance between a side's implied equity and the session's starting equity."""
_FILL_COLUMNS: Final = ("book", "timestamp", "decision_at", "symbol", "phase", "quantity", "mid_price")


@rule(
    "decisions.target",
    "At the close of the session that fills a traded week, a tradeable name is held on the side of its target weight, "
    "and is not held if that is 0. Positions opened in that session are proportional to their target weights, separately for "
    "each side, and sized with the equity at the open to a tenth (less if the week has names that cannot be traded). "
    "Names that a trade-only variant filled the same day are not compared.",
    "Seal the weights that the books follow; if the books deviate on purpose, declare reconciliation.targets "
    "advisory in seal.json.",
    needs={
        "decisions": (*_NAME, "next_open_tradeable"),
        "positions": (*CELL, "quantity"),
        "trades": _FILL_COLUMNS,
        "portfolio": (*SESSION, "starting_equity"),
        "rebalances": ("date", "week_status"),
    },
    uses={"decisions": tuple(_WEIGHT_COLUMN.values())},
    unique=("decisions", "positions", "portfolio", "rebalances"),
)
def decisions_target(tables: Tables) -> Finding | Coverage | None:
    """Report names whose holdings do not follow their target weights."""
    height = tables["decisions"].height
    if tables.declared.targets != BINDING:
        return Coverage(0, height, 0, reason="the seal declares reconciliation.targets advisory")
    weeks = _rebalances(tables)
    if not weeks.height:
        reason = "no book with target weights filled a traded week in a session of its own"
        return Coverage(0, height, 0, reason=reason)
    by_fault: dict[str, list[pl.DataFrame]] = {}
    for (book,), own in weeks.group_by("book", maintain_order=True):
        for fault, gaps in _faults(tables, _WEIGHT_COLUMN[str(book)], own):
            if gaps.height:
                by_fault.setdefault(fault, []).append(gaps)
    findings = []
    for fault, parts in by_fault.items():
        rows = tables.alignment.rows(pl.concat(parts))
        message = f"{counted(rows.height, 'name')} {fault}"
        findings.append(
            broken_rows("decisions", rows, (*rows.columns, "fault"), message, fault=pl.lit(fault))
        )
    return joined_findings(findings)


def _rebalances(tables: Tables) -> pl.DataFrame:
    """Return book, week and session of the weekly rebalances that were filled in a single session, by session."""
    books = [book for book, weight in _WEIGHT_COLUMN.items() if tables.has("decisions", weight)]
    rebalances = (
        tables.moments.filter(
            pl.col("book").is_in(books) & pl.col("decision_at").is_in(tables.weeks(TRADED).implode())
        )
        .select("book", week="decision_at", date=pl.col("timestamp").dt.date())
        .unique()
        .join(tables.alignment.sessions, on=SESSION)
    )
    # If a week is filled over several days, or a day fills several weeks, fills cannot be assigned.
    unambiguous = pl.struct("book", "week").is_unique() & pl.col("session").is_unique()
    return rebalances.filter(unambiguous).sort("session")


def whole_shares(quantity: Floats) -> bool:
    """Return whether all quantities are whole numbers."""
    return np.array_equal(quantity, np.rint(quantity))


def middle_of_sides(equity: Floats, side: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the sized positions, and for each the two in the middle of its side by implied equity; these may be one and the same.

    Parameters
    ----------
    equity
        Implied equity of each position: the notional opened divided by its weight; NaN where no position was opened.
    side
        Number of its rebalance and side.
    """
    sized = np.flatnonzero(~np.isnan(equity))
    order = sized[np.lexsort((equity[sized], side[sized]))]
    _, first, place, size = np.unique(side[order], return_index=True, return_inverse=True, return_counts=True)
    return order, order[first + (size - 1) // 2][place], order[first + size // 2][place]


def _faults(tables: Tables, weight: str, weeks: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Compare the rebalances of one book with its targets; yield each fault with its cells.

    Parameters
    ----------
    weight
        Column of its target weights.
    weeks
        ``week`` of the decisions, and the ``session`` of the grid that filled them.
    """
    grid, decisions, trades = tables.alignment, tables["decisions"], tables["trades"]
    ranges = tables.row_ranges("decisions", ("date",))
    filled = ranges.heads.join(weeks, left_on="date", right_on="week", how="left", maintain_order="left")
    sessions = {
        "decisions": np.repeat(filled["session"].fill_null(-1).to_numpy(), ranges.lengths),
        "positions": grid.sessions_of_rows("positions"),
        "trades": grid.sessions_of_rows("trades"),
    }
    chosen = np.isin(np.arange(grid.sessions.height), weeks["session"].to_numpy())
    cells = Cells.of(
        {kind: (session, tables.symbols(kind).codes) for kind, session in sessions.items()}, chosen
    )
    target = cells.spread("decisions", grid.column("decisions", weight))
    tradeable = decisions["next_open_tradeable"].cast(pl.Float64).to_numpy()
    frozen = totals(cells.session, cells.spread("decisions", 1.0 - tradeable), chosen.size) > 0
    regular = trades["book"].is_in(list(_WEIGHT_COLUMN)).to_numpy()
    by_variants = cells.spread("trades", (~regular).astype(np.float64)) > 0
    comparable = (cells.spread("decisions", tradeable) > 0) & ~by_variants
    held = cells.spread("positions", grid.column("positions", "quantity"))
    bought = np.where(
        regular & (trades["phase"] == "open").to_numpy(), grid.column("trades", "quantity"), 0.0
    )
    notional = cells.spread("trades", bought * grid.column("trades", "mid_price"))
    opened = np.where(comparable, notional, 0.0)
    sized = (opened != 0) & (target != 0)
    equity = np.divide(opened, target, out=np.full_like(target, np.nan), where=sized)
    names, lower, upper = middle_of_sides(equity, 2 * cells.session + (target > 0))
    # Untradeable names use part of their side's budget, so an engine may scale the other names of a side, all by the same
    # factor: each is compared with the median of its side.
    side = np.full_like(equity, np.nan)
    side[names] = 0.5 * (equity[lower] + equity[upper])
    starting = grid.ledger("starting_equity")[cells.session]
    slack: Floats | float = 0.0
    too_small: Flags | bool = False
    known = tables.part.whole_shares
    if whole_shares(grid.column("positions", "quantity")) if known is None else known:
        shares = cells.spread("trades", bought) * target
        # Equity that one share of each name implies. The names in the middle of a side are rounded as well.
        of_share = np.abs(np.divide(opened, shares, out=np.zeros_like(opened), where=shares != 0))
        slack = of_share.copy()
        slack[names] += np.maximum(of_share[lower], of_share[upper])
        # A target below the price of a share may be rounded to none.
        too_small = (held == 0) & (np.abs(target) * starting < _highest_mids(tables, cells.symbol))
    with np.errstate(invalid="ignore", divide="ignore"):
        uneven = np.abs(equity - side) > np.maximum(_PROPORTION * np.abs(side), slack)
        share = side / starting
        # A smaller side is allowed if an untradeable name may have used part of its budget.
        mis_sized = (share > 1.0 + _SIZING) | ((share < 1.0 - _SIZING) & ~frozen[cells.session])
    checks: dict[str, tuple[Flags, Floats, Floats]] = {
        "held on another side than the target weight": (
            comparable & (np.sign(target) != np.sign(held)) & np.logical_not(too_small),
            target,
            held,
        ),
        "opened out of proportion to the target weight": (uneven, side * target, opened),
        "opened on an equity that is not the book's": (mis_sized, starting * target, opened),
    }
    for fault, (wrong, expected, actual) in checks.items():
        yield fault, cells.gaps(wrong, expected, actual, target_weight=target)


def _highest_mids(tables: Tables, symbol: Codes) -> Floats:
    """Return the highest mid at which each name was filled, or any name for one that never was."""
    mids, codes = tables.alignment.column("trades", "mid_price"), tables.symbols("trades").codes
    highest = np.zeros(1 + max(symbol.max(initial=0), codes.max(initial=0)))
    np.maximum.at(highest, codes, mids)
    return np.where(highest > 0, highest, mids.max(initial=0.0))[symbol]


@rule(
    "decisions.fill_at",
    "Where fill_at is set, a book that is not raw (for raw_fill_at, a raw book) has a fill of the name at that instant that "
    "names the decision.",
    "Take fill_at from the fill itself; leave it null where the decision led to none.",
    needs={"decisions": _NAME, "trades": ("book", "timestamp", "decision_at", "symbol")},
    uses={"decisions": ("fill_at", "raw_fill_at")},
)
def decisions_fill_at(tables: Tables) -> Finding | None:
    """Report decisions whose fill does not exist."""
    instants = tables.present("decisions", ("fill_at", "raw_fill_at"))
    decisions = tables["decisions"].select(*_NAME, *instants, _code=tables.symbols("decisions").column)
    fills = tables["trades"].select(
        "book", date="decision_at", at="timestamp", _code=tables.symbols("trades").column
    )
    books = [
        name for name in tables.row_ranges("trades", FILLS).heads["book"].unique() if base_book(name) == name
    ]
    findings = []
    for column in instants:
        family = [name for name in books if is_raw_book(name) == column.startswith(RAW_PREFIX)]
        lost = decisions.filter(pl.col(column).is_not_null()).join(
            fills.filter(pl.col("book").is_in(family)),
            left_on=("date", "_code", column),
            right_on=("date", "_code", "at"),
            how="anti",
            maintain_order="left",
        )
        message = f"{column} is not the time of a fill in {counted(lost.height, 'row')}"
        findings.append(broken_rows("decisions", lost, (*_NAME, column), message))
    return joined_findings(findings)
