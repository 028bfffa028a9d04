from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.weekly_signal import measured_decisions, weekly_signal
from schemas.tables.weekly_signal import WEEKLY_SIGNAL
from tests.maths import oracles
from tests.maths.panels import SCHEMA, Run, check, runs, shuffled, week, wide_runs

ALL_COLUMNS = [
    *("date", "week_status", "n_symbols", "cohort_size", "n_return_obs", "ic"),
    *("raw_ic", "decile_spread", "cohort_size_raw", "n_return_obs_raw"),
    *("ic_h1", "ic_h2", "ic_h4", "ic_h8"),
    *(f"rho_lag{lag}" for lag in range(1, 9)),
]


@check
@given(st.one_of(runs(), wide_runs()))
def test_every_rebalance_date_has_one_row_in_order_whatever_its_status(run: Run) -> None:
    weeks = weekly_signal(*run)
    assert weeks.select("date", "week_status").equals(run.rebalances.sort("date"))
    assert weeks.columns == ALL_COLUMNS == [column.name for column in WEEKLY_SIGNAL.columns]
    by_date = oracles.measure_weeks(run.decisions)
    for row in weeks.iter_rows(named=True):
        names = by_date.get(row["date"], [])
        assert row["n_symbols"] == len(names)
        assert row["cohort_size"] == sum(name["score"] is not None for name in names)
        assert row["cohort_size_raw"] == sum(name["raw_score"] is not None for name in names)
        ic, pairs = oracles.spearman([(name["score"], name["forward_return"]) for name in names])
        assert oracles.close(row["ic"], ic)
        assert row["n_return_obs"] == pairs
        raw_ic, raw_pairs = oracles.spearman([(name["raw_score"], name["forward_return"]) for name in names])
        assert oracles.close(row["raw_ic"], raw_ic)
        assert row["n_return_obs_raw"] == raw_pairs


@check
@given(wide_runs(), st.integers(0, 10**6))
def test_row_order_changes_no_bit(run: Run, seed: int) -> None:
    assert weekly_signal(shuffled(run.rebalances, seed), shuffled(run.decisions, seed)).equals(
        weekly_signal(*run)
    )


@check
@given(wide_runs())
def test_given_deciles_give_the_same_signal(run: Run) -> None:
    assert weekly_signal(*run, deciles=weekly_deciles(run.decisions)).equals(weekly_signal(*run))


@check
@given(runs())
def test_without_a_raw_signal_its_columns_are_absent(run: Run) -> None:
    bare = weekly_signal(run.rebalances, run.decisions.drop("raw_score"))
    assert bare.columns == ALL_COLUMNS[:6]
    assert bare.equals(weekly_signal(*run).select(ALL_COLUMNS[:6]))


@check
@given(runs())
def test_without_forward_returns_dependent_figures_are_null(run: Run) -> None:
    weeks = weekly_signal(run.rebalances, measured_decisions(run.decisions.drop("forward_return"), None))
    full = weekly_signal(*run)
    lags = ALL_COLUMNS[-8:]
    assert weeks.select(lags).equals(full.select(lags))
    assert (
        weeks.select("ic", "raw_ic", "decile_spread", "^ic_h.*$").null_count().row(0) == (weeks.height,) * 7
    )
    assert weeks["n_return_obs"].sum() == weeks["n_return_obs_raw"].sum() == 0


def test_a_skipped_week_without_a_cross_section_is_neither_counted_nor_measured() -> None:
    index = pl.DataFrame({"date": [week(0)], "week_status": ["insufficient_scored_tradeable_names"]})
    row = weekly_signal(index, pl.DataFrame(schema=SCHEMA)).row(0, named=True)
    assert {row[name] for name in ALL_COLUMNS if name.startswith(("n_", "cohort"))} == {0}
    assert {row[name] for name in ALL_COLUMNS if name.startswith(("ic", "raw", "rho", "decile"))} == {None}


def test_a_run_without_rebalances_has_no_weeks() -> None:
    index = pl.DataFrame(schema={"date": pl.Date, "week_status": pl.String})
    assert weekly_signal(index, pl.DataFrame(schema=SCHEMA)).height == 0
