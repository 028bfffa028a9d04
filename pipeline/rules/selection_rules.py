"""The rule on the scores of a week against the long and short side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Codes, Flags, Floats, totals
from pipeline.reconciliation.tables import Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import joined_findings, pick_examples
from pipeline.rules.tolerance import RELATIVE
from schemas.objects.seal import BINDING

SELECTED: Final = "entered_selection"
"""The note that does not excuse a selection against the score, because it states that the score made it."""
_FEWEST_WEEKS: Final = 4
"""Minimum weeks for the comparison of the sides' averages."""


@dataclass(frozen=True, slots=True)
class _Book:
    """The columns of a book's selection."""

    weight: str
    score: str
    rank: str
    reason: str


_BOOKS: Final = {
    "long_short": _Book("long_short_target_weight", "score", "average_rank", "decision_reason"),
    "raw_long_short": _Book(
        "raw_long_short_target_weight", "unsmoothed_score", "raw_average_rank", "raw_decision_reason"
    ),
}


@rule(
    "decisions.sides",
    "In no week is a name with a target weight above 0 scored below one with a target weight below 0 of the same book "
    f"(raw weights by unsmoothed_score). A note other than {SELECTED} in decision_reason excuses its own row, a sealed rank "
    "that does order the two sides its week, and reconciliation.targets advisory single names. There is no excuse for weights that "
    f"lie the other way round than the scores in most of {_FEWEST_WEEKS} weeks or more, by the average of each side.",
    "Seal the score that the book is built from, higher for what is bought; where a name lawfully stands on the other "
    "side, say why in decision_reason, or declare reconciliation.targets advisory in seal.json.",
    needs={"decisions": ("date", "symbol")},
    uses={"decisions": tuple(name for book in _BOOKS.values() for name in (book.weight, book.score, book.rank, book.reason))},
    unique=("decisions",),
)  # fmt: skip
def decisions_sides(tables: Tables) -> Finding | None:
    """Report long names with a lower score than a short name."""
    reasons: list[str] = []
    shown: list[Mapping[str, Any]] = []
    rows: set[int] = set()
    for name, book in _BOOKS.items():
        if not tables.has("decisions", book.weight, book.score):
            continue
        sides = _Sides(tables, book)
        reversed_weeks, weeks = sides.reversed_weeks()
        single = sides.crossed() if tables.declared.targets == BINDING else np.empty(0, np.int64)
        # Each week of a part counts: if no part is reversed, the run is not.
        fewest = _FEWEST_WEEKS if tables.part.moments is None else 1
        on_the_whole = weeks >= fewest and 2 * reversed_weeks > weeks
        if on_the_whole:
            reasons.append(
                f"the {name} book is long of what scores lower than what it is short of, on average, in {reversed_weeks} of "
                f"{weeks} weeks"
            )
            single = sides.below(excused=False)
        elif single.size:
            reasons.append(
                f"{single.size} names that {name} is long of score below a name that it is short of"
            )
        rows.update(single.tolist())
        shown += sides.examples(name, single)
    return joined_findings("decisions", len(rows), shown, reasons)


class _Sides:
    """The names on the two sides of one book, by week."""

    def __init__(self, tables: Tables, book: _Book) -> None:
        self._tables, self._book = tables, book
        decisions = tables["decisions"]
        runs = tables.runs("decisions", ("date",))
        self._weeks = runs.heads["date"].unique().sort()
        weight = decisions[book.weight].to_numpy()
        self._score = decisions[book.score].to_numpy()
        rows = np.flatnonzero((weight != 0) & ~np.isnan(self._score))
        run = self._weeks.search_sorted(runs.heads["date"]).to_numpy().astype(np.int64)
        self._rows, self._week = rows, np.repeat(run, runs.lengths)[rows]
        self._weight, self._score = weight[rows], self._score[rows]
        self._long = self._weight > 0

    def reversed_weeks(self) -> tuple[int, int]:
        """Count the weeks in which the long side's weighted mean score is lower, and all weeks with both sides."""
        averages = []
        for side in (self._long, ~self._long):
            size = self._sum(side, np.abs(self._weight))
            scored = self._sum(side, np.abs(self._weight) * self._score)
            averages.append(np.divide(scored, size, out=np.full(size.shape, np.nan), where=size > 0))
        long, short = averages
        return int((long < short).sum()), int((~np.isnan(long + short)).sum())

    def crossed(self) -> Codes:
        """Return the rows of long names that score below a short one, in weeks that no sealed rank justifies."""
        rows = self.below(excused=True)
        if rows.size and self._tables.has("decisions", self._book.rank):
            rank = self._tables["decisions"][self._book.rank].to_numpy()[self._rows]
            judged = self._judged()
            weakest = self._extreme(judged & self._long, np.where(np.isnan(rank), np.inf, rank))
            strongest = -self._extreme(judged & ~self._long, -np.where(np.isnan(rank), np.inf, rank))
            rows = rows[(weakest > strongest)[self._week[np.searchsorted(self._rows, rows)]]]
        return rows

    def below(self, *, excused: bool) -> Codes:
        """Return the rows of long names that score below a short one, with or without rows that have a note."""
        judged = self._judged() if excused else np.ones(self._rows.size, np.bool_)
        highest = self._extreme(judged & ~self._long, self._score)[self._week]
        return self._rows[judged & self._long & _less(self._score, highest)]

    def examples(self, name: str, rows: Codes) -> tuple[Mapping[str, Any], ...]:
        """Show rows with the short name of the highest score."""
        if not rows.size:
            return ()
        decisions = self._tables["decisions"]
        columns = {"target_weight": pl.col(self._book.weight), "score": pl.col(self._book.score)}
        short = decisions[self._rows[~self._long]].select(
            "date", short_symbol="symbol", short_score=columns["score"]
        )
        best = short.sort("short_score", descending=True).unique("date", keep="first", maintain_order=True)
        shown = (
            decisions[rows]
            .select("date", "symbol", **columns)
            .sort("date", "symbol")
            .join(best, on="date", how="left", maintain_order="left")
            .with_columns(book=pl.lit(name))
        )
        return pick_examples(shown, ("book", *shown.columns))

    def _judged(self) -> Flags:
        if not self._tables.has("decisions", self._book.reason):
            return np.ones(self._rows.size, np.bool_)
        reason = self._tables["decisions"][self._book.reason]
        return (reason.is_null() | (reason == SELECTED)).to_numpy()[self._rows]

    def _extreme(self, side: Flags, value: Floats) -> Floats:
        """Return the largest value of some names by week; minus infinity for none."""
        extremes = np.full(self._weeks.len(), -np.inf)
        np.maximum.at(extremes, self._week[side], value[side])
        return extremes

    def _sum(self, side: Flags, value: Floats) -> Floats:
        return totals(self._week[side], value[side], self._weeks.len())


def _less(low: Floats, high: Floats) -> Flags:
    with np.errstate(invalid="ignore"):
        return np.asarray(low < high - RELATIVE * np.maximum(np.abs(low), np.abs(high)))
