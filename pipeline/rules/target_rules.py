"""Decisions against what the books did upon them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Cells, Codes, Flags, Floats, Gaps, gaps_on, joined, totals
from pipeline.reconciliation.tables import FILLS, SESSION, Tables
from pipeline.reconciliation.targets import (
    implied_equity,
    off_scale,
    out_of_proportion,
    side_equity,
    wrong_side,
)
from pipeline.rule import Finding, rule
from pipeline.rules.findings import joined_findings, pick_examples
from schemas.objects.seal import BINDING
from schemas.tables.books import CONDITIONED_BOOKS, RAW_PREFIX, base_book

_CELL: Final = (*SESSION, "symbol")
_NAME: Final = ("date", "symbol")
_WEIGHT_OF: Final = {
    prefix + book: f"{prefix}{book}_target_weight"
    for prefix in ("", RAW_PREFIX)
    for book in CONDITIONED_BOOKS
}
"""Book -> the weights it is built on."""
_PART: Final = 1 << 16
_FILL_COLUMNS: Final = ("book", "timestamp", "decision_at", "symbol", "phase", "quantity", "mid_price")


@rule(
    "decisions.target",
    "At the close of the session that fills a traded week, a tradeable name is held on the side of its target weight, "
    "and not at all where that is 0. Positions opened there are in proportion to their target weights, each side by "
    "itself, and sized with the equity at the open to a tenth (less where the week has names that cannot be traded). "
    "Names that a trade-only variant filled the same day are not looked at.",
    "Seal the weights the books are built on; where the books lawfully deviate, declare reconciliation.targets "
    "advisory in seal.json.",
    needs={
        "decisions": (*_NAME, "next_open_tradeable"),
        "positions": (*_CELL, "quantity"),
        "trades": _FILL_COLUMNS,
        "portfolio": (*SESSION, "starting_equity"),
        "rebalances": ("date", "week_status"),
    },
    uses={"decisions": tuple(_WEIGHT_OF.values())},
    unique=("decisions", "positions", "portfolio", "rebalances"),
)
def decisions_target(tables: Tables) -> Finding | None:
    """Report names that the books did not treat as decided."""
    weeks = _rebalances(tables)
    if tables.declared.targets != BINDING or not weeks.height:
        return None
    board = _Board(tables)
    by_fault: dict[str, list[Gaps]] = {}
    for (book,), own in weeks.group_by("book", maintain_order=True):
        for fault, part in board.faults(_WEIGHT_OF[str(book)], own["week"], own["session"].to_numpy()):
            by_fault.setdefault(fault, []).append(part)
    reasons: list[str] = []
    shown: list[Mapping[str, Any]] = []
    total = 0
    for fault, gaps in ((fault, joined(parts)) for fault, parts in by_fault.items()):
        assert gaps is not None
        total += gaps.size
        reasons.append(f"{gaps.size} names are {fault}")
        rows = tables.alignment.rows(gaps)
        shown += pick_examples(rows.with_columns(fault=pl.lit(fault)), (*rows.columns, "fault"))
    return joined_findings("decisions", total, shown, reasons)


def _rebalances(tables: Tables) -> pl.DataFrame:
    """Return book, week and session of the weekly rebalances that one session filled altogether, by session."""
    books = [book for book, weight in _WEIGHT_OF.items() if tables.has("decisions", weight)]
    traded = tables["rebalances"].filter(pl.col("week_status") == "traded")["date"]
    moments = tables.part.moments
    if moments is None:
        moments = tables.runs("trades", FILLS).heads
    rebalances = (
        moments.filter(pl.col("book").is_in(books) & pl.col("decision_at").is_in(traded.implode()))
        .select("book", week="decision_at", date=pl.col("timestamp").dt.date())
        .unique()
        .join(tables.alignment.sessions, on=SESSION)
    )
    # A week filled over several days, or a day that fills several weeks, leaves it open what belongs to which.
    alone = pl.struct("book", "week").is_unique() & pl.col("session").is_unique()
    return rebalances.filter(alone).sort("session")


def whole_shares(quantity: Floats) -> bool:
    """Return whether all quantities are whole numbers."""
    # Part by part: an engine that fills fractions shows it in the first one.
    parts = (quantity[at : at + _PART] for at in range(0, quantity.size, _PART))
    return all(np.array_equal(part, np.rint(part)) for part in parts)


class _Board:
    """Weights by week and symbol, fills and holdings by session and symbol."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        grid = self._grid = tables.alignment
        runs = tables.runs("decisions", ("date",))
        self._weeks = runs.heads["date"].unique().sort()
        week = self._weeks.search_sorted(runs.heads["date"]).to_numpy().astype(np.int64)
        self._cells = Cells.of(week, runs.lengths, grid.codes("decisions"))
        self._starting = grid.ledger("starting_equity")
        tradeable = tables["decisions"]["next_open_tradeable"].cast(pl.Float64).to_numpy()
        self._tradeable = self._by_week(tradeable) > 0
        self._frozen = self._cells.reduced(np.add, 1.0 - tradeable, self._weeks.len()) > 0
        trades, quantity = tables["trades"], grid.column("positions", "quantity")
        fills = tables.runs("trades", FILLS)
        own = {book: book in _WEIGHT_OF for book in fills.heads["book"].unique()}
        regular = np.repeat(
            fills.heads["book"].replace_strict(own, return_dtype=pl.Boolean).to_numpy(), fills.lengths
        )
        opening = regular & (trades["phase"] == "open").to_numpy()
        shares = np.where(opening, trades["quantity"].to_numpy(), 0.0)
        self._fills, self._held = grid.cells("trades"), (grid.cells("positions"), quantity)
        self._shares, self._opened = shares, shares * trades["mid_price"].to_numpy()
        self._other = (~regular).astype(np.float64)
        known = tables.part.whole_shares
        self._whole_shares = whole_shares(quantity) if known is None else known

    def faults(self, weight: str, weeks: pl.Series, sessions: Codes) -> list[tuple[str, Gaps]]:
        """Compare the rebalances of one book: what is wrong, and where.

        Parameters
        ----------
        weight
            Column of its target weights.
        weeks, sessions
            The decisions and the rows of the grid that filled them, ascending.
        """
        week = self._weeks.search_sorted(weeks).to_numpy()
        known = np.isin(weeks.to_numpy(), self._weeks.to_numpy())
        week, sessions = week[known], sessions[known]
        if not sessions.size:
            return []
        target = self._by_week(self._tables["decisions"][weight].to_numpy())[week]
        undoubted = self._tradeable[week] & (self._on(sessions, (self._fills, self._other)) == 0)
        quantity = self._on(sessions, self._held)
        opened = np.where(undoubted, self._on(sessions, (self._fills, self._opened)), 0.0)
        equity = implied_equity(target, opened)
        side, starting = side_equity(equity, target), self._starting[sessions]
        slack: Floats | float = 0.0
        if self._whole_shares:
            shares = self._on(sessions, (self._fills, self._shares)) * target
            slack = np.abs(np.divide(opened, shares, out=np.zeros_like(opened), where=shares != 0))
        checks: dict[str, tuple[Flags, Floats, Floats]] = {
            "held on another side than their target weight": (
                wrong_side(target, undoubted, quantity),
                target,
                quantity,
            ),
            "opened out of proportion to their target weight": (
                out_of_proportion(equity, side, slack),
                side * target,
                opened,
            ),
            "opened on an equity that is not the book's": (
                off_scale(side, starting, self._frozen[week]),
                starting[:, None] * target,
                opened,
            ),
        }
        by_fault = {
            fault: gaps_on(sessions, wrong, expected, actual, target_weight=target)
            for fault, (wrong, expected, actual) in checks.items()
        }
        return [(fault, gaps) for fault, gaps in by_fault.items() if gaps is not None]

    def _by_week(self, column: Floats) -> Floats:
        return self._on(np.arange(self._weeks.len()), (self._cells, column))

    def _on(self, sessions: Codes, table: tuple[Cells, Floats]) -> Floats:
        """Put the rows of some sessions on a grid of those alone, shape (sessions, symbols)."""
        cells, column = table
        rows, place = cells.of_sessions(sessions)
        key = place * self._grid.width + cells.symbol[rows]
        return totals(key, column[rows], sessions.size * self._grid.width).reshape(
            sessions.size, self._grid.width
        )


@rule(
    "decisions.fill_at",
    "Where fill_at is set, a book of its family (raw_fill_at: a raw book) has a fill of the name at that instant that "
    "names the decision.",
    "Take fill_at from the fill itself; leave it null where the decision led to none.",
    needs={"decisions": _NAME, "trades": ("book", "timestamp", "decision_at", "symbol")},
    uses={"decisions": ("fill_at", "raw_fill_at")},
)
def decisions_fill_at(tables: Tables) -> Finding | None:
    """Report decisions that point at a fill nobody made."""
    grid, trades, decisions = tables.alignment, tables["trades"], tables["decisions"]
    weeks = decisions["date"].unique().sort()
    fills = tables.runs("trades", FILLS)
    week = np.repeat(_places(weeks, fills.heads["decision_at"]), fills.lengths)
    instant = trades["timestamp"].to_physical().to_numpy()
    runs = tables.runs("decisions", ("date",))
    decided_week, decided_symbol = (
        np.repeat(_places(weeks, runs.heads["date"]), runs.lengths),
        grid.codes("decisions"),
    )
    reasons: list[str] = []
    shown: list[Mapping[str, Any]] = []
    total = 0
    for column in tables.present("decisions", ("fill_at", "raw_fill_at")):
        raw = column.startswith(RAW_PREFIX)
        family = {
            name: base_book(name) == name and name.startswith(RAW_PREFIX) == raw
            for name in fills.heads["book"].unique()
        }
        mine = fills.heads["book"].replace_strict(family, return_dtype=pl.Boolean).to_numpy()
        made = np.flatnonzero(np.repeat(mine, fills.lengths) & (week >= 0))
        # The last fill of each name and week settles nearly every row, so that few are looked up.
        last = np.full((weeks.len(), grid.width), np.iinfo(np.int64).min)
        last[week[made], grid.codes("trades")[made]] = instant[made]
        stated = np.flatnonzero(decisions[column].is_not_null().to_numpy())
        sealed = decisions[column].to_physical().to_numpy()[stated]
        open_ = stated[last[decided_week[stated], decided_symbol[stated]] != sealed]
        if open_.size:
            names = trades[made].select(date="decision_at", symbol="symbol", at="timestamp")
            rows = decisions[open_]
            lost = rows.join(names, left_on=(*_NAME, column), right_on=(*_NAME, "at"), how="anti")
            if lost.height:
                total += lost.height
                reasons.append(f"{column} is not the time of a fill in {lost.height} rows")
                shown += pick_examples(lost, (*_NAME, column))
    return joined_findings("decisions", total, shown, reasons)


def _places(weeks: pl.Series, days: pl.Series) -> Codes:
    """Number days by the weeks they are; -1 for a day that is none."""
    place = weeks.search_sorted(days).to_numpy().astype(np.int64)
    place[~np.isin(days.to_numpy(), weeks.to_numpy())] = -1
    return place
