from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datasets.figures.blocks import tenure
from datasets.figures.panel import (
    WeeklyDeciles,
    decile_block,
    panel_coverage,
    weekly_means,
    weekly_series,
)
from datasets.figures.rank_correlation import spearman
from datasets.figures.run_figures import Index, Ledger, RunFigures, Sources
from datasets.figures.series import null_if_nan
from datasets.figures.unavailable import Unavailable
from pipeline.maths.deciles import weekly_deciles
from schemas.metrics.statistic import SOURCES
from tests.maths import oracles
from tests.maths.panels import Run, check, wide_runs

NULL = np.nan
DAYS = np.array(["2020-01-03", "2020-01-10", "2021-01-08"], dtype="datetime64[D]")


def sources(**parts: Any) -> Sources:
    run = RunFigures("alpha", "alpha", 1.0, None, frozenset(), **parts)
    return Sources(run, [source.endpoint for source in SOURCES])


def rows_of(run: Run, order: np.random.Generator) -> WeeklyDeciles:
    frame = weekly_deciles(run.decisions)
    frame = frame[order.permutation(frame.height).tolist()]
    return WeeklyDeciles(
        **{
            name: frame[name].to_numpy()
            if frame[name].dtype.is_integer() or name == "date"
            else frame[name].fill_null(NULL).to_numpy()
            for name in frame.columns
        }
    )


@check
@given(wide_runs(), st.integers(0, 2**32 - 1))
def test_the_decile_table_averages_weekly_means(run: Run, seed: int) -> None:
    weekly = oracles.deciles(run.decisions)
    measured = {row["date"] for row in weekly if row["n_return_obs"]}
    block = decile_block(rows_of(run, np.random.default_rng(seed)), run.rebalances.height)
    if not measured:
        assert isinstance(block, Unavailable)
        assert block.code == ("forward_returns_absent" if weekly else "insufficient_data")
        return
    assert isinstance(block, dict)
    assert block["weeks"] == len(measured)
    assert block["weeks_skipped"] == run.rebalances.height - len({row["date"] for row in weekly})
    for bucket in block["buckets"]:
        mine = [row for row in weekly if row["bucket"] == bucket["rank"] and row["date"] in measured]
        assert bucket["weeks"] == len(mine)
        assert bucket["n_return_obs"] == sum(row["n_return_obs"] for row in mine)
        assert oracles.close(bucket["mean_n_symbols"], oracles.mean([row["n_symbols"] for row in mine]))
        for name in ("mean_score", "mean_score_z", "mean_forward_return", "ic"):
            assert oracles.close(bucket[name], oracles.mean([row[name] for row in mine]), 1e-10), name
        for name in ("mean_long_short_weight", "mean_long_only_weight"):
            assert oracles.close(bucket[name], oracles.mean([row[name] for row in mine]), 1e-10), name


def table(means: list[list[float]]) -> WeeklyDeciles:
    """Lay out weeks of ten bucket means, one list a week."""
    flat = np.array(means, dtype=np.float64).reshape(-1)
    known = ~np.isnan(flat)
    weeks = len(means)
    return WeeklyDeciles(
        date=np.repeat(np.datetime64("2020-01-03") + 7 * np.arange(weeks), 10),
        bucket=np.tile(np.arange(1, 11), weeks),
        n_symbols=np.full(flat.size, 5),
        mean_score=flat,
        mean_score_z=flat,
        mean_long_short_weight=flat * NULL,
        mean_long_only_weight=flat,
        mean_forward_return=flat,
        ic=flat * NULL,
        n_return_obs=known * 5,
    )


def test_rising_bucket_returns_are_monotone() -> None:
    rising = [float(b) for b in range(10)]
    block = decile_block(table([rising, [2 * value for value in rising]]), rebalance_weeks=5)
    assert isinstance(block, dict)
    assert block["monotonicity"]["spearman_bucket_vs_mean_forward_return"] == 1.0
    assert block["monotonicity"]["top_minus_bottom"] == 13.5
    assert (block["weeks"], block["weeks_skipped"]) == (2, 3)
    assert [bucket["rank"] for bucket in block["buckets"]] == list(range(1, 11))
    assert {bucket["mean_long_short_weight"] for bucket in block["buckets"]} == {None}
    assert {bucket["n_return_obs"] for bucket in block["buckets"]} == {10}


def test_a_week_without_returns_is_neither_averaged_nor_skipped() -> None:
    rising = [float(b) for b in range(10)]
    with_pending = table([rising, [NULL] * 10])
    with_pending.mean_score[10:] = 99.0
    block = decile_block(with_pending, rebalance_weeks=2)
    assert isinstance(block, dict)
    assert (block["weeks"], block["weeks_skipped"]) == (1, 0)
    assert [bucket["mean_score"] for bucket in block["buckets"]] == rising


@pytest.mark.parametrize(
    ("means", "monotone", "spread"),
    [
        ([0.25] * 10, None, 0.0),
        ([*[NULL] * 9, 1.0], None, None),
        ([NULL, *[float(b) for b in range(9)]], 1.0, None),
    ],
)
def test_undetermined_monotonicity_is_null(
    means: list[float], monotone: float | None, spread: float | None
) -> None:
    block = decile_block(table([means]), rebalance_weeks=1)
    assert isinstance(block, dict)
    assert block["monotonicity"]["spearman_bucket_vs_mean_forward_return"] == monotone
    assert block["monotonicity"]["top_minus_bottom"] == spread


values = st.sampled_from([NULL, -1.0, -0.0, 0.0, 0.1, 0.30000000000000004, 0.3])


@check
@given(st.lists(st.tuples(values, values), max_size=12))
def test_the_correlation_of_two_series_matches_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    expected, _ = oracles.spearman([(null_if_nan(a), null_if_nan(b)) for a, b in pairs])
    actual = spearman(x, y)
    assert oracles.close(None if np.isnan(actual) else actual, expected)


def test_the_correlation_of_ten_buckets_matches_scipy() -> None:
    means = np.array([0.3, 0.1, 0.1, 0.2, 0.5, 0.4, 0.4, 0.4, 0.9, 0.6])
    assert spearman(np.arange(10.0), means) == pytest.approx(
        stats.spearmanr(range(10), means).statistic, abs=1e-15
    )


def test_a_weekly_series_has_only_measured_weeks() -> None:
    assert weekly_series(DAYS, np.array([0.5, NULL, -0.25]), "ic") == [
        {"date": "2020-01-03", "ic": 0.5},
        {"date": "2021-01-08", "ic": -0.25},
    ]
    assert weekly_series(DAYS[:0], np.array([]), "ic") == []


def test_means_by_step_are_ordered_with_their_weeks() -> None:
    series = {8: np.full(3, NULL), 1: np.array([0.5, NULL, 0.25]), 2: np.array([])}
    assert weekly_means(series, "lag", "rho") == [
        {"lag": 1, "rho": 0.375, "weeks": 2},
        {"lag": 2, "rho": None, "weeks": 0},
        {"lag": 8, "rho": None, "weeks": 0},
    ]


def test_coverage_of_the_panel_is_over_traded_weeks_with_names() -> None:
    sizes, cohorts, returns = (
        np.array([10.0, 20.0, 30.0, 0.0]),
        np.array([8.0, 20.0, 9.0, 0.0]),
        np.array([5.0, 20.0, 0.0, 0.0]),
    )
    traded, none = np.array([True, True, False, True]), np.zeros(4, np.bool_)
    assert [*panel_coverage(sizes, cohorts, returns, traded).values()] == [2, 15.0, 14.0, 0.75]
    assert [*panel_coverage(sizes, cohorts, returns, none).values()] == [0, None, None, None]


def test_tenure_spans_the_rebalances_whatever_their_status() -> None:
    assert tenure(sources(index=Index(DAYS, np.array([True, False, True])))) == {
        "weeks": 3,
        "traded_weeks": 2,
        "first_rebalance": "2020-01-03",
        "last_rebalance": "2021-01-08",
        "calendar_days": 371,
        "years": 371 / 365.25,
        "source": "rebalances",
    }
    without = tenure(sources(index=Index(DAYS[:0], np.zeros(0, np.bool_))))
    assert isinstance(without, Unavailable)


def test_tenure_from_a_ledger_has_no_weeks() -> None:
    assert tenure(sources(ledger=Ledger(DAYS[:1], *[np.ones(1)] * 4))) == {
        "weeks": None,
        "traded_weeks": None,
        "first_rebalance": "2020-01-03",
        "last_rebalance": "2020-01-03",
        "calendar_days": 0,
        "years": 0.0,
        "source": "portfolio",
    }
    assert isinstance(tenure(sources(ledger=Ledger(DAYS[:0], *[np.ones(0)] * 4))), Unavailable)


def test_a_week_without_bounds_is_omitted_from_a_series() -> None:
    days = np.array(["2020-01-03", "2020-01-10", "2020-01-17", "2020-01-24"], dtype="datetime64[D]")
    series = weekly_series(days, np.array([0.1, np.inf, np.nan, -np.inf]), "ic")
    assert series == [{"date": "2020-01-03", "ic": 0.1}]
