"""Longs score above shorts, unless the seal gives a reason."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from pipeline.rule import Finding
from pipeline.rules import Tables
from pipeline.rules.selection_rules import decisions_sides
from pipeline.seal.declared_differences import DeclaredDifferences

ADVISORY = DeclaredDifferences(targets="advisory")
WEIGHTS = [0.5, 0.5, 0.0, -0.5, -0.5]


def findings(
    *weeks: list[float | None],
    declared: DeclaredDifferences | None = None,
    weights: list[float] = WEIGHTS,
    **columns: list[Any],
) -> Finding | None:
    """Apply the rule to five names a week with these scores, two long and two short."""
    frames = [
        pl.DataFrame(
            {
                "date": [date(2024, 1, 5) + timedelta(weeks=number)] * len(WEIGHTS),
                "symbol": list("ABCDE"),
                "score": scores,
                "long_short_target_weight": weights,
                **columns,
            },
            schema_overrides={"score": pl.Float64, "decision_reason": pl.String} if columns else {"score": pl.Float64},
            strict=False,
        )
        for number, scores in enumerate(weeks)
    ]  # fmt: skip
    outcome = decisions_sides.body(Tables({"decisions": pl.concat(frames)}, 1.0, declared))
    assert outcome is None or isinstance(outcome, Finding)
    return outcome


ORDERED: list[float | None] = [2.0, 1.0, 0.0, -1.0, -2.0]
CROSSED: list[float | None] = [2.0, -1.5, 0.0, -1.0, -2.0]
TURNED: list[float | None] = [-2.0, -1.0, 0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "scores",
    [
        ORDERED,
        [1.0, 1.0, 5.0, 1.0, 1.0],
        [2.0, None, 0.0, -1.0, None],
        [0.5, 0.1, 9.0, 0.1, -9.0],
        [None, None, None, None, None],
    ],
    ids=["in order", "all alike", "without a score", "one who ties, and one who was not picked", "no score"],
)
def test_sides_in_order_are_accepted(scores: list[float | None]) -> None:
    assert findings(scores, ORDERED) is None


def test_a_long_name_below_a_short_one_is_reported_with_it() -> None:
    broken = findings(ORDERED, CROSSED, ORDERED)
    assert broken is not None
    (row,) = broken.examples
    assert (row["date"], row["symbol"], row["score"]) == ("2024-01-12", "B", -1.5)
    assert (row["short_symbol"], row["short_score"], row["book"]) == ("D", -1.0, "long_short")


def test_a_reason_other_than_selection_excuses_its_row() -> None:
    kept = [None, "kept_for_its_sector", None, None, None]
    assert findings(CROSSED, decision_reason=kept) is None
    assert findings(CROSSED, decision_reason=[None, "entered_selection", None, None, None]) is not None
    assert findings([-9.0, -1.5, 0.0, -1.0, -2.0], decision_reason=kept) is not None
    assert findings(CROSSED, decision_reason=[None, None, None, "kept_for_its_sector", None]) is None, (
        "the short name that scores higher is the one that is explained"
    )


def test_a_sealed_rank_that_orders_the_sides_excuses_scores_that_do_not() -> None:
    assert findings(CROSSED, average_rank=[1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert findings(CROSSED, average_rank=[1.0, 4.0, 3.0, 2.0, 5.0]) is not None


def test_a_rank_that_is_null_on_both_sides_excuses_nothing() -> None:
    assert findings(CROSSED, average_rank=[None, None, 3.0, None, None]) is not None
    assert findings(CROSSED, average_rank=[1.0, None, 3.0, None, None]) is not None
    assert findings(CROSSED, average_rank=[1.0, 2.0, 3.0, None, None]) is None


def test_advisory_targets_excuse_names_but_not_an_inverted_book() -> None:
    assert findings(CROSSED, ORDERED, ORDERED, ORDERED, declared=ADVISORY) is None
    assert findings(TURNED, ORDERED, ORDERED, ORDERED, declared=ADVISORY) is None
    for excuse in ({}, {"decision_reason": ["any"] * 5}, {"average_rank": [1.0, 2.0, 3.0, 4.0, 5.0]}):
        turned = findings(TURNED, TURNED, ORDERED, TURNED, TURNED, declared=ADVISORY, **excuse)
        assert turned is not None
        assert turned.rows == 8
        assert "4 of 5 weeks" in turned.message


def test_a_book_without_a_short_side_is_not_judged() -> None:
    assert findings(*[TURNED] * 6, weights=[0.5, 0.5, 0.0, 0.0, 0.0]) is None
