from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipeline.maths.cross_section import cross_section
from tests.maths import oracles
from tests.maths.panels import Run, check, runs, shuffled

DAY = dt.date(2020, 1, 3)


def one_week(*scores: float | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"date": [DAY] * len(scores), "score": list(scores)}, schema_overrides={"score": pl.Float64}
    )


@check
@given(runs())
def test_every_column_matches_a_loop_over_the_week(run: Run) -> None:
    placed = pl.concat([run.decisions, cross_section(run.decisions)], how="horizontal")
    for rows in oracles.measure_weeks(placed).values():
        valid = [row["score"] for row in rows if row["score"] is not None]
        for row, z in zip(rows, oracles.z_scores([row["score"] for row in rows]), strict=True):
            score = row["score"]
            assert oracles.close(row["score_z"], z)
            assert row["cohort_size"] == len(valid)
            if score is None:
                assert row["direction"] is row["confidence"] is row["average_rank"] is None
            else:
                above, level = sum(v > score for v in valid), sum(v == score for v in valid)
                assert row["average_rank"] == above + (level + 1) / 2
                assert row["direction"] == (score > 0) - (score < 0)
                assert row["confidence"] == abs(score)
                assert row["direction"] * row["confidence"] == score


@check
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_z_scores_and_ranks_match_scipy(values: list[int]) -> None:
    scores = [value / 7 for value in values]
    placed = cross_section(one_week(*scores))
    np.testing.assert_allclose(placed["score_z"], stats.zscore(scores), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(placed["average_rank"], stats.rankdata([-score for score in scores]))


@pytest.mark.parametrize("count", [1, 3, 10, 500])
def test_equal_scores_have_no_z_score_despite_rounding(count: int) -> None:
    placed = cross_section(one_week(*[0.1] * count))
    assert placed["score_z"].to_list() == [None] * count
    assert placed["average_rank"].to_list() == [(count + 1) / 2] * count


@pytest.mark.parametrize("unit", [1e308, 1e-310])
def test_scores_with_an_overflowing_deviation_have_no_z_score(unit: float) -> None:
    placed = cross_section(one_week(*(unit * score for score in (1.7, 1.1, -1.0, -1.6))))
    assert placed["score_z"].to_list() == [None] * 4, "not 0, which would be the mean"
    assert placed["average_rank"].to_list() == [1.0, 2.0, 3.0, 4.0]


def test_a_zero_score_has_no_direction_whatever_its_sign_bit() -> None:
    placed = cross_section(one_week(-0.0, 0.0, 1e-300, -1e-300))
    assert placed["direction"].to_list() == [0, 0, 1, -1]
    assert placed["average_rank"].to_list() == [2.5, 2.5, 1, 4]


def test_a_week_without_valid_scores_has_an_empty_cohort() -> None:
    placed = cross_section(one_week(None, None))
    assert placed["cohort_size"].to_list() == [0, 0]
    assert placed["score_z"].null_count() == placed["average_rank"].null_count() == 2


def test_an_empty_table_has_the_same_columns() -> None:
    placed = cross_section(one_week(), prefix="raw_")
    assert placed.schema == {
        "raw_direction": pl.Int64,
        "raw_confidence": pl.Float64,
        "raw_score_z": pl.Float64,
        "raw_average_rank": pl.Float64,
        "raw_cohort_size": pl.Int64,
    }
    assert placed.height == 0


@check
@given(runs(), st.integers(0, 10**6))
def test_row_order_changes_no_bit(run: Run, seed: int) -> None:
    frame = run.decisions.with_columns(score=pl.col("score") / 7)
    once = pl.concat([frame, cross_section(frame)], how="horizontal")
    again = shuffled(frame, seed)
    again = pl.concat([again, cross_section(again)], how="horizontal")
    assert once.sort("date", "symbol").equals(again.sort("date", "symbol"))


@check
@given(runs(), st.sampled_from([0.5, 3.0, 1024.0]), st.sampled_from([-2.0, 0.0, 5.0]))
def test_z_scores_and_ranks_are_invariant_to_affine_scores(run: Run, unit: float, zero: float) -> None:
    before = cross_section(run.decisions)
    after = cross_section(run.decisions.with_columns(score=pl.col("score") * unit + zero))
    assert before["average_rank"].equals(after["average_rank"])
    for one, other in zip(before["score_z"], after["score_z"], strict=True):
        assert oracles.close(one, other)
