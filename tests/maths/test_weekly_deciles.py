from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from alphalens.performance import factor_information_coefficient, mean_return_by_quantile
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.series import mean_or_null
from pipeline.maths.cross_section import cross_section
from pipeline.maths.deciles import decile_returns, decile_spread, weekly_deciles
from pipeline.maths.information_coefficient import weekly_ic
from tests.maths import oracles
from tests.maths.panels import SCHEMA, Run, check, shuffled, week, wide_runs


def one_week(names: int, tie: float | None = None) -> pl.DataFrame:
    rows = [
        (week(0), f"S{n:03d}", None, float(n) if tie is None else tie, n / 16, n / 100, 0.0)
        for n in range(names)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@check
@given(wide_runs())
def test_every_bucket_matches_a_loop_over_sorted_names(run: Run) -> None:
    actual = weekly_deciles(run.decisions)
    expected = oracles.deciles(run.decisions)
    assert actual.height == len(expected)
    for row, wanted in zip(actual.iter_rows(named=True), expected, strict=True):
        assert list(row) == list(wanted)
        for name, value in wanted.items():
            exact = name in {"date", "bucket", "n_symbols", "n_return_obs"}
            assert row[name] == value if exact else oracles.close(row[name], value, 1e-10), (
                name,
                row,
                wanted,
            )


@check
@given(wide_runs())
def test_the_spread_is_the_top_bucket_less_the_bottom_one(run: Run) -> None:
    means = {
        (row["date"], row["bucket"]): row["mean_forward_return"] for row in oracles.deciles(run.decisions)
    }
    dates = sorted({date for date, _ in means})
    result = decile_spread(weekly_deciles(run.decisions))
    assert result["date"].to_list() == dates
    for date, spread in result.iter_rows():
        top, bottom = means[date, 10], means[date, 1]
        assert oracles.close(spread, None if top is None or bottom is None else top - bottom, 1e-10)


@pytest.mark.parametrize(("names", "rows"), [(0, 0), (19, 0), (20, 10), (21, 10), (501, 10)])
def test_deciles_need_twenty_scored_names(names: int, rows: int) -> None:
    deciles = weekly_deciles(one_week(names))
    assert deciles.height == rows
    assert deciles["n_symbols"].sum() == (names if rows else 0)
    if rows:
        counts: list[int] = deciles["n_symbols"].to_list()
        assert max(counts) - min(counts) <= 1
        assert deciles["ic"].to_list() == [1.0] * 10


def test_names_without_a_signal_do_not_count_towards_the_twenty() -> None:
    silent = one_week(20).with_columns(raw_score=pl.when(pl.col("symbol") != "S000").then("raw_score"))
    assert weekly_deciles(silent).height == 0


def test_equal_signals_are_split_by_symbol() -> None:
    higher = pl.when(pl.col("symbol") == "S019").then(0.2).otherwise("raw_score")
    deciles = weekly_deciles(shuffled(one_week(20, tie=0.1).with_columns(raw_score=higher), 3))
    assert deciles["mean_long_short_weight"].to_list() == pytest.approx(
        [(4 * b + 1) / 200 for b in range(10)]
    )
    assert deciles["ic"].null_count() == 9


def test_a_week_with_one_score_for_all_is_not_cut() -> None:
    constant = one_week(20, tie=0.1).with_columns(date=pl.lit(week(1)))
    run = pl.concat([one_week(20), constant, one_week(30).with_columns(date=pl.lit(week(2)))])
    deciles = weekly_deciles(shuffled(run, 3))
    assert deciles["date"].unique().sort().to_list() == [week(0), week(2)]
    assert deciles["n_symbols"].sum() == 50
    means = decile_returns(run.with_columns(score="raw_score"))
    assert means.shape == (2, 10)


def test_a_week_without_forward_returns_keeps_its_rows() -> None:
    deciles = weekly_deciles(one_week(20).with_columns(forward_return=pl.lit(None, pl.Float64)))
    assert deciles["n_return_obs"].to_list() == [0] * 10
    assert deciles["mean_forward_return"].null_count() == 10
    assert deciles["mean_score"].null_count() == 0
    assert decile_spread(deciles)["decile_spread"].to_list() == [None]


@check
@given(wide_runs(), st.integers(0, 10**6))
def test_row_order_changes_no_bit(run: Run, seed: int) -> None:
    assert weekly_deciles(shuffled(run.decisions, seed)).equals(weekly_deciles(run.decisions))


@check
@given(wide_runs())
def test_given_z_scores_are_averaged_like_computed_ones(run: Run) -> None:
    with_ranks = run.decisions.hstack(cross_section(run.decisions, "raw_score", "raw_").select("raw_score_z"))
    assert weekly_deciles(with_ranks).equals(weekly_deciles(run.decisions))


def test_a_long_run_equals_its_weeks_one_by_one() -> None:
    rng = np.random.default_rng(7)
    # Weeks of very different size, and the largest double.
    sizes = [3, 9_000, 21, 400, 12_000, 1, 7_500, 500]
    run = pl.DataFrame(
        {
            "date": [week(w) for w, size in enumerate(sizes) for _ in range(size)],
            "symbol": [f"S{name}" for size in sizes for name in range(size)],
            "raw_score": rng.normal(size=sum(sizes)).round(2),
            "forward_return": rng.normal(size=sum(sizes)).round(3),
            "long_short_target_weight": rng.normal(size=sum(sizes)),
            "long_only_target_weight": rng.uniform(size=sum(sizes)),
        }
    ).with_columns(
        forward_return=pl.when(pl.int_range(pl.len()) == 9_400)
        .then(np.inf)
        .when(pl.col("forward_return") < 2)
        .then("forward_return")
    )
    weeks = run.partition_by("date")
    assert weekly_deciles(run).equals(pl.concat(weekly_deciles(rows) for rows in weeks))
    assert weekly_ic(run, "raw_score").equals(pl.concat(weekly_ic(rows, "raw_score") for rows in weeks))
    for rows, ic in zip(weeks, weekly_ic(run, "raw_score")["ic"], strict=True):
        pairs = rows.select("raw_score", "forward_return").rows()
        assert oracles.close(ic, oracles.spearman(pairs)[0])


@check
@given(wide_runs())
def test_symbols_matter_only_through_their_order(run: Run) -> None:
    renamed = run.decisions.with_columns(symbol=pl.lit("other_") + pl.col("symbol"))
    assert weekly_deciles(renamed).equals(weekly_deciles(run.decisions))


def test_weekly_ic_and_bucket_returns_match_alphalens() -> None:
    run = pl.concat(
        one_week(37).with_columns(
            date=pl.lit(week(w)),
            raw_score=(pl.col("raw_score") * (7 + w)).mod(31.0) + pl.col("raw_score") / 100,
            forward_return=(pl.col("raw_score") * (3 + w)).mod(11.0) / 64,
        )
        for w in range(6)
    )
    deciles = weekly_deciles(run)
    data = run.select("date", "symbol", "raw_score", "forward_return").to_pandas()
    data["date"] = pd.to_datetime(data["date"])
    data = data.set_index(["date", "symbol"]).rename_axis(["date", "asset"])
    data.columns = pd.Index(["factor", "1D"])
    data["factor_quantile"] = data.groupby("date")["factor"].transform(
        lambda s: (10 * (s.rank(method="first") - 1) // len(s) + 1).astype(int)
    )
    theirs = factor_information_coefficient(data[["1D", "factor", "factor_quantile"]])["1D"]
    assert weekly_ic(run, "raw_score")["ic"].to_list() == pytest.approx(theirs.to_list(), abs=1e-12)

    by_week, _ = mean_return_by_quantile(
        data[["1D", "factor", "factor_quantile"]], by_date=True, demeaned=False
    )
    ours = deciles.sort("bucket", "date")["mean_forward_return"].to_list()
    assert by_week["1D"].sort_index().to_list() == pytest.approx(ours, abs=1e-12)


def test_scores_with_an_overflowing_sum_have_a_mean() -> None:
    large = weekly_deciles(one_week(60).with_columns(pl.col("raw_score") * 2.0**1017))
    assert large["mean_score"].to_list() == pytest.approx(
        (weekly_deciles(one_week(60))["mean_score"] * 2.0**1017).to_list(), rel=1e-15
    )
    assert large["mean_score"].is_finite().all()


def test_a_mean_over_weeks_is_finite_where_their_sum_is_not() -> None:
    assert mean_or_null(np.array([1e308, np.nan, 1.5e308])) == 1.25e308
    assert mean_or_null(np.array([np.nan])) is None
