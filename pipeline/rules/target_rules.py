"""The rules on decisions against the fills and holdings of the books."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.fills import FILLS
from pipeline.reconciliation.gaps import gaps_on
from pipeline.reconciliation.grid import Cells, Codes, Flags, Floats, reduced_by_session, totals
from pipeline.reconciliation.tables import CELL, SESSION, Tables
from pipeline.rule import Coverage, Finding, rule
from pipeline.rules.findings import joined_findings, pick_examples
from schemas.objects.seal import BINDING
from schemas.plurals import counted
from schemas.tables.books import CONDITIONED_BOOKS, RAW_PREFIX, base_book, is_raw_book

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
    target_grid = _TargetGrid(tables)
    by_fault: dict[str, list[pl.DataFrame]] = {}
    for (book,), own in weeks.group_by("book", maintain_order=True):
        for fault, part in target_grid.faults(
            _WEIGHT_COLUMN[str(book)], own["week"], own["session"].to_numpy()
        ):
            by_fault.setdefault(fault, []).append(part)
    reasons: list[str] = []
    shown: list[Mapping[str, Any]] = []
    total = 0
    for fault, parts in by_fault.items():
        rows = tables.alignment.rows(pl.concat(parts))
        total += rows.height
        reasons.append(f"{counted(rows.height, 'name')} {fault}")
        shown += pick_examples(rows.with_columns(fault=pl.lit(fault)), (*rows.columns, "fault"))
    return joined_findings("decisions", total, shown, reasons)


def _rebalances(tables: Tables) -> pl.DataFrame:
    """Return book, week and session of the weekly rebalances that were filled in a single session, by session."""
    books = [book for book, weight in _WEIGHT_COLUMN.items() if tables.has("decisions", weight)]
    traded = tables["rebalances"].filter(pl.col("week_status") == "traded")["date"]
    moments = tables.part.moments
    if moments is None:
        moments = tables.row_ranges("trades", FILLS).heads
    rebalances = (
        moments.filter(pl.col("book").is_in(books) & pl.col("decision_at").is_in(traded.implode()))
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


def side_equity(equity: Floats, target: Floats) -> Floats:
    """Return, for each sized position, the median of the equities that its side implies.

    Untradeable names use part of their side's budget, so an engine may scale the other names of a side, all by the
    same factor.

    Parameters
    ----------
    equity
        Implied equity of each position, by rebalance and symbol: the notional opened divided by its weight; NaN where no
        position was opened.
    target
        Target weights, of the same shape.
    """
    implied = np.full_like(equity, np.nan)
    row, column = np.nonzero(~np.isnan(equity))
    values, side = equity[row, column], 2 * row + (target[row, column] > 0)
    order = np.lexsort((values, side))
    values, sides = values[order], side[order]
    _, first, place, size = np.unique(sides, return_index=True, return_inverse=True, return_counts=True)
    middle = 0.5 * (values[first + (size - 1) // 2] + values[first + size // 2])
    implied[row[order], column[order]] = middle[place]
    return implied


class _TargetGrid:
    """Weights by week and symbol, fills and holdings by session and symbol."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        grid = self._grid = tables.alignment
        ranges = tables.row_ranges("decisions", ("date",))
        self._weeks = ranges.heads["date"].unique().sort()
        week = self._weeks.search_sorted(ranges.heads["date"]).to_numpy().astype(np.int64)
        self._cells = Cells.of(week, ranges.lengths, grid.codes("decisions"))
        self._starting = grid.ledger("starting_equity")
        tradeable = tables["decisions"]["next_open_tradeable"].cast(pl.Float64).to_numpy()
        self._tradeable = self._by_week(tradeable) > 0
        frozen = reduced_by_session(np.add, 1.0 - tradeable, week, ranges.lengths, self._weeks.len())
        self._frozen = frozen > 0
        trades, quantity = tables["trades"], grid.column("positions", "quantity")
        fills = tables.row_ranges("trades", FILLS)
        own = {book: book in _WEIGHT_COLUMN for book in fills.heads["book"].unique()}
        regular = np.repeat(
            fills.heads["book"].replace_strict(own, return_dtype=pl.Boolean).to_numpy(), fills.lengths
        )
        opening = regular & (trades["phase"] == "open").to_numpy()
        shares = np.where(opening, trades["quantity"].to_numpy(), 0.0)
        self._fills, self._quantities = grid.cells("trades"), (grid.cells("positions"), quantity)
        self._shares, self._opened = shares, shares * trades["mid_price"].to_numpy()
        self._variant_fills = (~regular).astype(np.float64)
        known = tables.part.whole_shares
        self._whole_shares = whole_shares(quantity) if known is None else known

    def faults(self, weight: str, weeks: pl.Series, sessions: Codes) -> list[tuple[str, pl.DataFrame]]:
        """Compare the rebalances of one book with its targets; return each fault with its cells.

        Parameters
        ----------
        weight
            Column of its target weights.
        weeks, sessions
            The decisions, and the sessions of the grid that filled them, ascending.
        """
        week = self._weeks.search_sorted(weeks).to_numpy()
        known = np.isin(weeks.to_numpy(), self._weeks.to_numpy())
        week, sessions = week[known], sessions[known]
        if not sessions.size:
            return []
        target = self._by_week(self._tables["decisions"][weight].to_numpy())[week]
        comparable = self._tradeable[week] & (
            self._at_sessions(sessions, (self._fills, self._variant_fills)) == 0
        )
        quantity = self._at_sessions(sessions, self._quantities)
        opened = np.where(comparable, self._at_sessions(sessions, (self._fills, self._opened)), 0.0)
        sized = (opened != 0) & (target != 0)
        equity = np.divide(opened, target, out=np.full_like(target, np.nan), where=sized)
        side, starting = side_equity(equity, target), self._starting[sessions][:, None]
        slack: Floats | float = 0.0
        if self._whole_shares:  # value of one share of each name
            shares = self._at_sessions(sessions, (self._fills, self._shares)) * target
            slack = np.abs(np.divide(opened, shares, out=np.zeros_like(opened), where=shares != 0))
        with np.errstate(invalid="ignore", divide="ignore"):
            uneven = np.abs(equity - side) > np.maximum(_PROPORTION * np.abs(side), slack)
            share = side / starting
            # A smaller side is allowed if an untradeable name may have used part of its budget.
            mis_sized = (share > 1.0 + _SIZING) | ((share < 1.0 - _SIZING) & ~self._frozen[week][:, None])
        checks: dict[str, tuple[Flags, Floats, Floats]] = {
            "held on another side than the target weight": (
                comparable & (np.sign(target) != np.sign(quantity)),
                target,
                quantity,
            ),
            "opened out of proportion to the target weight": (uneven, side * target, opened),
            "opened on an equity that is not the book's": (mis_sized, starting * target, opened),
        }
        by_fault = {
            fault: gaps_on(sessions, wrong, expected, actual, target_weight=target)
            for fault, (wrong, expected, actual) in checks.items()
        }
        return [(fault, gaps) for fault, gaps in by_fault.items() if gaps.height]

    def _by_week(self, column: Floats) -> Floats:
        return self._at_sessions(np.arange(self._weeks.len()), (self._cells, column))

    def _at_sessions(self, sessions: Codes, table: tuple[Cells, Floats]) -> Floats:
        """Return the rows of some sessions as a grid, shape (sessions, symbols)."""
        cells, column = table
        rows, place = cells.of_sessions(sessions)
        key = place * self._grid.width + cells.symbol[rows]
        return totals(key, column[rows], sessions.size * self._grid.width).reshape(
            sessions.size, self._grid.width
        )


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
    reasons: list[str] = []
    shown: list[Mapping[str, Any]] = []
    total = 0
    for column in instants:
        family = [name for name in books if is_raw_book(name) == column.startswith(RAW_PREFIX)]
        lost = decisions.filter(pl.col(column).is_not_null()).join(
            fills.filter(pl.col("book").is_in(family)),
            left_on=("date", "_code", column),
            right_on=("date", "_code", "at"),
            how="anti",
            maintain_order="left",
        )
        if lost.height:
            total += lost.height
            reasons.append(f"{column} is not the time of a fill in {counted(lost.height, 'row')}")
            shown += pick_examples(lost, (*_NAME, column))
    return joined_findings("decisions", total, shown, reasons)
