from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.maths.information_coefficient import weekly_ic
from tests.maths import oracles
from tests.maths.panels import Run, check, runs, shuffled, wide_runs

DAY = dt.date(2020, 1, 3)


def ic_of(x: list[float | None], y: list[float | None]) -> float | None:
    frame = pl.DataFrame(
        {"date": [DAY] * len(x), "x": x, "forward_return": y},
        schema_overrides={"x": pl.Float64, "forward_return": pl.Float64},
    )
    ic: float | None = weekly_ic(frame, "x")["ic"].item()
    return ic


@check
@given(st.one_of(runs(), wide_runs()))
def test_weekly_ic_matches_scipy_over_names_with_both_values(run: Run) -> None:
    results = {row["date"]: row for row in weekly_ic(run.decisions, "raw_score").iter_rows(named=True)}
    weeks = oracles.measure_weeks(run.decisions)
    assert list(results) == sorted(weeks)
    for date, rows in weeks.items():
        ic, pairs = oracles.spearman([(row["raw_score"], row["forward_return"]) for row in rows])
        assert oracles.close(results[date]["ic"], ic)
        assert results[date]["n_pairs"] == pairs


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([1.0], [2.0]),
        ([1.0, None], [None, 2.0]),
        ([1.0, 2.0, None], [3.0, None, 4.0]),
        ([0.1] * 7, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
        ([1.0, 2.0, 3.0], [0.0, -0.0, 0.0]),
    ],
)
def test_an_undefined_correlation_is_null_not_zero(x: list[float | None], y: list[float | None]) -> None:
    assert (ic_of([*x, None], [*y, None])) is None


def test_a_perfect_ordering_has_an_ic_of_exactly_one() -> None:
    x = [float(3**n) for n in range(30)]
    assert ic_of(list(x), [value**0.5 for value in x]) == 1.0
    assert ic_of(list(x), [-value for value in x]) == -1.0


@check
@given(runs(), st.integers(0, 10**6), st.sampled_from([0.001, 7.0, 1e6]))
def test_ic_ignores_row_order_names_and_scale(run: Run, seed: int, unit: float) -> None:
    changed = shuffled(run.decisions, seed).with_columns(
        symbol=pl.lit("other_") + pl.col("symbol").str.reverse(), score=pl.col("score") * unit
    )
    assert weekly_ic(changed, "score").equals(weekly_ic(run.decisions, "score"))


@check
@given(runs())
def test_an_inverted_signal_has_the_opposite_ic(run: Run) -> None:
    turned = weekly_ic(run.decisions.with_columns(score=-pl.col("score")), "score")
    assert turned.with_columns(ic=-pl.col("ic")).equals(weekly_ic(run.decisions, "score"))


def test_a_run_without_rows_has_no_weeks() -> None:
    empty = pl.DataFrame(schema={"date": pl.Date, "score": pl.Float64, "forward_return": pl.Float64})
    assert weekly_ic(empty, "score").to_dict(as_series=False) == {"date": [], "ic": [], "n_pairs": []}
