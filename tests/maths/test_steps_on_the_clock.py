from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.maths.autocorrelation import rank_autocorrelations
from pipeline.maths.horizons import horizon_ics
from pipeline.maths.information_coefficient import weekly_ic
from pipeline.maths.week_clock import WeeklyPanel, week_clock
from tests.maths import oracles
from tests.maths.panels import SCHEMA, Run, check, runs, shuffled, week


def steady_run(statuses: list[str], names: int = 5) -> Run:
    """Build a run in which every name keeps its rank and earns in that order."""
    rows = [
        (week(w), f"S{n}", float(n), float(n), None if status == "pending" else n / 16, 0.0, 0.0)
        for w, status in enumerate(statuses)
        for n in range(names)
    ]
    index = pl.DataFrame({"date": [week(w) for w in range(len(statuses))], "week_status": statuses})
    return Run(index, pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def horizons(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    return horizon_ics(WeeklyPanel.of(rebalances, decisions, "raw_score", "forward_return"))


def autocorrelations(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    return rank_autocorrelations(WeeklyPanel.of(rebalances, decisions, "raw_score"))


@check
@given(runs())
@pytest.mark.parametrize("horizon", [1, 2, 4, 8])
def test_horizons_match_a_loop_over_names_and_weeks(horizon: int, run: Run) -> None:
    actual = horizons(*run)
    expected = oracles.horizon_ic(*run, horizon)
    assert actual["date"].to_list() == list(expected)
    for ic, wanted in zip(actual[f"ic_h{horizon}"], expected.values(), strict=True):
        assert oracles.close(ic, wanted)


@check
@given(runs(max_weeks=12))
@pytest.mark.parametrize("lag", [1, 2, 5, 8])
def test_autocorrelations_match_a_loop_over_names_and_weeks(lag: int, run: Run) -> None:
    actual = autocorrelations(*run)
    expected = oracles.autocorrelation(*run, lag)
    assert actual["date"].to_list() == list(expected)
    for rho, wanted in zip(actual[f"rho_lag{lag}"], expected.values(), strict=True):
        assert oracles.close(rho, wanted)


@check
@given(runs())
def test_one_week_ahead_is_the_weekly_ic_itself(run: Run) -> None:
    ahead = horizons(*run).select("date", "ic_h1")
    ic = weekly_ic(run.decisions, "raw_score").select("date", "ic")
    assert ahead["ic_h1"].equals(ahead.join(ic, on="date", how="left", maintain_order="left")["ic"])


def test_returns_lost_in_compounding_are_ties() -> None:
    run = steady_run(["traded", "traded"])
    tiny = run.decisions.with_columns(forward_return=pl.col("forward_return") * 1e-18)
    reach = horizons(run.rebalances, tiny)
    assert reach["ic_h1"].to_list() == [1.0, 1.0]
    assert reach["ic_h2"].to_list() == [None, None]


@pytest.mark.parametrize("horizon", [2, 4, 8])
def test_compounded_returns_tie_like_the_documented_product(horizon: int) -> None:
    """Returns in hundredths, whose products are often equal up to the last bit."""
    draw = random.Random(11)
    run = steady_run(["traded"] * 9, names=40)
    returns = [draw.choice((-0.03, -0.01, 0.0, 0.01, 0.02, 0.1)) for _ in range(run.decisions.height)]
    decisions = run.decisions.with_columns(forward_return=pl.Series(returns))
    actual = horizons(run.rebalances, decisions)[f"ic_h{horizon}"]
    expected = oracles.horizon_ic(run.rebalances, decisions, horizon).values()
    assert [oracles.close(ic, wanted) for ic, wanted in zip(actual, expected, strict=True)] == [True] * 9


def test_a_skipped_week_is_not_a_step_even_with_scores() -> None:
    run = steady_run(["traded", "constant_scores", "traded", "pending"])
    assert week_clock(run.rebalances).to_dict(as_series=False) == {
        "date": [week(0), week(2), week(3)],
        "week_index": [0, 1, 2],
    }
    reach = horizons(*run)
    assert reach["ic_h1"].to_list() == [1.0, 1.0, None]
    assert reach["ic_h2"].to_list() == [1.0, None, None]
    assert autocorrelations(*run)["rho_lag2"].to_list() == [None, None, 1.0]


def test_a_name_that_misses_a_week_has_no_return_over_it_but_keeps_its_longer_lags() -> None:
    run = steady_run(["traded"] * 3, names=2)
    gap = run.decisions.filter(~((pl.col("symbol") == "S1") & (pl.col("date") == week(1))))
    assert horizons(run.rebalances, gap)["ic_h2"].to_list() == [None, None, None]
    rho = autocorrelations(run.rebalances, gap)
    assert rho["rho_lag1"].to_list() == [None, None, None]
    assert rho["rho_lag2"].to_list() == [None, None, 1.0]


@check
@given(runs(), st.integers(0, 10**6), st.sampled_from([0.001, 7.0, 1e6]))
def test_figures_ignore_row_order_names_and_scale(run: Run, seed: int, unit: float) -> None:
    changed = shuffled(run.decisions, seed).with_columns(
        symbol=pl.lit("other_") + pl.col("symbol").str.reverse(), raw_score=pl.col("raw_score") * unit
    )
    index = shuffled(run.rebalances, seed)
    assert horizons(index, changed).equals(horizons(*run))
    assert autocorrelations(index, changed).equals(autocorrelations(*run))


def test_a_run_of_skipped_weeks_has_no_rows() -> None:
    run = steady_run(["constant_scores"])
    assert horizons(*run).columns == ["date", "ic_h1", "ic_h2", "ic_h4", "ic_h8"]
    assert horizons(*run).height == autocorrelations(*run).height == 0
