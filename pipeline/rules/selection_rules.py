"""The rule on the scores of a week against the long and short side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from pipeline.reconciliation.tables import Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import joined_findings, pick_examples
from pipeline.rules.tolerance import RELATIVE
from schemas.objects.seal import BINDING
from schemas.plurals import counted

SELECTED: Final = "entered_selection"
"""Note that does not excuse a selection against the score, because it says that the score made the selection."""
_MIN_WEEKS: Final = 4
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
    f"(raw weights by unsmoothed_score). A note other than {SELECTED} in decision_reason excuses its row; a sealed rank that does order "
    "the two sides excuses its week; reconciliation.targets advisory excuses single names. Nothing excuses weights that, by the "
    f"average score of each side, contradict the scores in most weeks, if there are {_MIN_WEEKS} weeks or more.",
    "Seal the score that the book is built from, higher for names to buy; if a name is on the other side for a valid "
    "reason, give it in decision_reason, or declare reconciliation.targets advisory in seal.json.",
    needs={"decisions": ("date", "symbol")},
    uses={"decisions": tuple(name for book in _BOOKS.values() for name in (book.weight, book.score, book.rank, book.reason))},
    unique=("decisions",),
)  # fmt: skip
def decisions_sides(tables: Tables) -> Finding | None:
    """Report long names with a lower score than a short name."""
    findings = []
    rows: set[int] = set()
    for name, book in _BOOKS.items():
        if not tables.has("decisions", book.weight, book.score):
            continue
        names = _sides(tables, book)
        weeks = _by_week(names)
        reversed_weeks = int((weeks["mean"] < weeks["mean_short"]).sum())
        # If no part of a run is reversed, the run is not, so the weeks of a part suffice.
        min_weeks = _MIN_WEEKS if tables.part.days is None else 1
        if weeks.height >= min_weeks and 2 * reversed_weeks > weeks.height:
            message = (
                f"the long names of the {name} book score lower than its short names, on average, in {reversed_weeks} of "
                f"{weeks.height} weeks"
            )
            broken = names.join(weeks, on="date").filter(_LONG & _is_below(_SCORE, pl.col("highest_short")))
        elif tables.declared.targets == BINDING and (broken := _crossed(names, weeks)).height:
            message = f"{counted(broken.height, 'long name scores', 'long names score')} below a short name of {name}"
        else:
            continue
        rows.update(broken["row"])
        findings.append(Finding("decisions", broken.height, _examples(name, names, broken), message))
    return joined_findings(findings, len(rows))


_LONG: Final = pl.col("target_weight") > 0
_SCORE: Final = pl.col("score")
_JUDGED: Final = pl.col("judged")


def _sides(tables: Tables, book: _Book) -> pl.DataFrame:
    """Return the scored names on either side of a book; ``judged`` marks those that no note excuses."""
    judged, rank = pl.lit(value=True), pl.lit(None, pl.Float64)
    if tables.has("decisions", book.reason):
        judged = pl.col(book.reason).is_null() | (pl.col(book.reason) == SELECTED)
    if tables.has("decisions", book.rank):
        rank = pl.col(book.rank).fill_null(float("inf"))
    columns = tables["decisions"].select(
        "date", "symbol", target_weight=book.weight, score=book.score, rank=rank, judged=judged
    )
    sides = (pl.col("target_weight") != 0) & _SCORE.is_not_null()
    return columns.with_row_index("row").filter(sides)


def _by_week(names: pl.DataFrame) -> pl.DataFrame:
    """Compare the long side of each week with the short side, in the weeks that have both."""
    size = pl.col("target_weight").abs()
    score, rank = (pl.when(_JUDGED).then(pl.col(name)) for name in ("score", "rank"))
    sides = names.group_by("date", long=_LONG).agg(
        mean=(size * _SCORE).sum() / size.sum(),
        highest=_SCORE.max(),
        lowest_judged=score.min(),
        highest_judged=score.max(),
        first_rank=rank.min(),
        last_rank=rank.max(),
    )
    return sides.filter("long").join(sides.filter(~pl.col("long")), on="date", suffix="_short")


def _crossed(names: pl.DataFrame, weeks: pl.DataFrame) -> pl.DataFrame:
    """Return the judged long names that score below a short name, except in weeks whose ranks order the sides."""
    highest = pl.col("highest_judged_short")
    last = pl.col("last_rank")
    # A long name without a rank is last, so no rank puts it before the short side, even if that has no ranks.
    ordered = ((last <= pl.col("first_rank_short")) & last.is_finite()).fill_null(value=False)
    doubtful = weeks.filter(_is_below(pl.col("lowest_judged"), highest) & ~ordered)
    return names.join(doubtful, on="date").filter(_JUDGED & _LONG & _is_below(_SCORE, highest))


def _examples(book: str, names: pl.DataFrame, broken: pl.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """Show each name with the highest score on the short side of its week."""
    best = (
        names.filter(~_LONG)
        .select("date", short_symbol="symbol", short_score="score")
        .sort("short_score", descending=True)
        .unique("date", keep="first", maintain_order=True)
    )
    shown = (
        broken.select("date", "symbol", "target_weight", "score")
        .sort("date", "symbol")
        .join(best, on="date", how="left", maintain_order="left")
        .with_columns(book=pl.lit(book))
    )
    return pick_examples(shown, ("book", *shown.columns))


def _is_below(low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Return whether one value is below another by more than rounding."""
    return low < high - RELATIVE * pl.max_horizontal(low.abs(), high.abs())
