"""Figures of the delivered score compared with SciPy, alphalens, statsmodels and slow loops."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from alphalens.performance import factor_information_coefficient, mean_return_by_quantile
from arch.bootstrap import StationaryBootstrap
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from datasets.figures.bootstrap import mean_block_length, resample
from datasets.figures.newey_west import bandwidth
from datasets.figures.run_figures import NO_RAW_SIGNAL
from datasets.figures.signal import (
    DeliveredSignal,
    decile_figures,
    half_life,
    monotonicity,
    signal_quality,
    turnover_adjusted,
)
from datasets.figures.unavailable import Unavailable
from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.delivered_signal import delivered_signal
from pipeline.maths.weekly_signal import weekly_signal
from schemas.metrics.families.family import SAMPLES
from schemas.metrics.families.signal import DELAYS, SEED
from tests.maths import oracles
from tests.maths.panels import Run, check, runs

WEEKS = 40


def panel(seed: int, names: int = 60, holes: float = 0.05) -> tuple[pl.DataFrame, pl.DataFrame]:
    draw = np.random.default_rng(seed)
    days = [dt.date(2020, 1, 3) + dt.timedelta(weeks=week) for week in range(WEEKS)]
    status = ["skipped_for_holidays" if week == 7 else "traded" for week in range(WEEKS)]
    score = np.zeros(names)
    rows = []
    for day in days:
        score = 0.7 * score + draw.normal(size=names)
        returns = 0.01 * score + 0.03 * draw.normal(size=names)
        for name in range(names):
            if draw.random() > holes:
                known = None if draw.random() < holes else float(returns[name])
                rows.append((day, f"S{name:02}", float(score[name]), float(np.round(score[name], 1)), known))
    columns = ["date", "symbol", "score", "raw_score", "forward_return"]
    decisions = pl.DataFrame(rows, columns, orient="row").with_columns(
        long_short_target_weight=pl.lit(0.0), long_only_target_weight=pl.lit(0.0)
    )
    return pl.DataFrame({"date": days, "week_status": status}), decisions.sort("date", "symbol")


def measured(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> DeliveredSignal:
    weeks = weekly_signal(rebalances, decisions.drop("raw_score", strict=False))
    raw = weekly_deciles(decisions) if "raw_score" in decisions.columns else None
    return delivered_signal(weeks, decisions, raw)


def spearman(pairs: list[tuple[float, float]]) -> float:
    value, _ = oracles.spearman(pairs)
    return math.nan if value is None else value


def slow(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> dict[Any, list[float]]:
    """Measure every week by name with SciPy."""
    clock = [day for day, kind in rebalances.sort("date").iter_rows() if kind in ("traded", "pending")]
    score = {
        (d, s): x for d, s, x in decisions.select("date", "symbol", "score").iter_rows() if x is not None
    }
    results: dict[Any, list[float]] = {key: [] for key in (*DELAYS, "rho", "upper", "lower")}
    for week, day in enumerate(clock):
        rows = decisions.filter(pl.col("date") == day).select("symbol", "forward_return").drop_nulls().rows()
        for delay in DELAYS:
            before = clock[week - delay] if week >= delay else None
            results[delay].append(spearman([(score[before, s], r) for s, r in rows if (before, s) in score]))
        pairs = [(score[day, s], r) for s, r in rows if (day, s) in score]
        ranks = stats.rankdata([x for x, _ in pairs]) if pairs else np.empty(0)
        middle = (len(pairs) + 1) / 2
        for side, sign in (("upper", 1), ("lower", -1)):
            half = [pair for pair, rank in zip(pairs, ranks, strict=True) if sign * (rank - middle) > 0]
            results[side].append(spearman(half))
        yesterday = clock[week - 1] if week else None
        both = [
            (x, score[yesterday, s]) for (d, s), x in score.items() if d == day and (yesterday, s) in score
        ]
        results["rho"].append(spearman(both))
    return results


def agree(actual: DeliveredSignal, expected: dict[Any, list[float]]) -> None:
    for delay in DELAYS:
        np.testing.assert_allclose(actual.ic_by_delay[delay], expected[delay], atol=1e-9, rtol=0)
    for name, series in (("rho", actual.autocorrelation), ("upper", actual.upper), ("lower", actual.lower)):
        np.testing.assert_allclose(series, expected[name], atol=1e-9, rtol=0)


def test_weekly_figures_of_many_names_match_scipy() -> None:
    rebalances, decisions = panel(0)
    agree(measured(rebalances, decisions), slow(rebalances, decisions))


@check
@given(runs())
def test_weekly_figures_of_any_run_match_scipy(run: Run) -> None:
    decisions = run.decisions.sort("date", "symbol").drop("raw_score", strict=False)
    if "score" not in decisions.columns:
        decisions = decisions.with_columns(score=run.decisions.sort("date", "symbol")["raw_score"])
    if decisions.height:
        agree(measured(run.rebalances, decisions), slow(run.rebalances, decisions))


@pytest.mark.parametrize("delay", [1, 4, 8])
def test_ic_by_delay_matches_alphalens_on_a_shifted_factor(delay: int) -> None:
    rebalances, decisions = panel(5, holes=0.0)
    clock = rebalances.filter(pl.col("week_status") == "traded")["date"].to_list()
    later = pl.DataFrame({"date": clock[:-delay], "then": clock[delay:]})
    aged = decisions.join(later, on="date").select("symbol", date="then", factor="score")
    pairs = decisions.select("date", "symbol", pl.col("forward_return").alias("1D")).join(
        aged, on=("date", "symbol")
    )
    clean = pairs.to_pandas()
    clean["date"] = pd.to_datetime(clean["date"])
    clean = clean.set_index(["date", "symbol"]).rename_axis(["date", "asset"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about what alphalens calls
        ic = factor_information_coefficient(clean)["1D"]
    quality = signal_quality(measured(rebalances, decisions))
    entry = quality["ic_by_delay"][delay]
    assert entry["weeks"] == len(ic)
    assert entry["mean_ic"] == pytest.approx(ic.mean(), rel=1e-9)


def test_deciles_and_spread_match_alphalens_and_statsmodels() -> None:
    rebalances, decisions = panel(6, holes=0.0)
    quality = signal_quality(measured(rebalances, decisions))
    data = decisions.to_pandas()
    data["date"] = pd.to_datetime(data["date"])
    data = data.set_index(["date", "symbol"]).rename_axis(["date", "asset"])
    data["factor_quantile"] = (
        data.groupby(level="date")["score"].rank().sub(1).mul(10).floordiv(60).astype(int) + 1
    )
    data = data.rename(columns={"forward_return": "1D", "score": "factor"})[
        ["1D", "factor", "factor_quantile"]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        means, _ = mean_return_by_quantile(data, by_date=True, demeaned=False)
    by_tenth = means["1D"].groupby(level="factor_quantile")
    delivered = quality["delivered"]
    assert [x["mean_forward_return"] for x in delivered["deciles"]] == pytest.approx(
        by_tenth.mean().tolist(), rel=1e-9
    )
    lowest, highest = (means["1D"].xs(tenth, level="factor_quantile").to_numpy() for tenth in (1, 10))
    spread = highest - lowest
    fit = OLS(spread, np.ones(spread.size)).fit(
        cov_type="HAC", cov_kwds={"maxlags": bandwidth(spread.size), "use_correction": False}
    )
    assert delivered["spread"] == pytest.approx(fit.params[0], rel=1e-9)
    assert delivered["spread_t_stat"] == pytest.approx(fit.tvalues[0], rel=1e-9)
    assert delivered["weeks"] == spread.size


def test_unsmoothed_deciles_are_reported_beside_delivered_ones() -> None:
    rebalances, decisions = panel(7)
    result = measured(rebalances, decisions)
    again = measured(rebalances, decisions.with_columns(score="raw_score"))
    quality = signal_quality(result)
    assert quality["unsmoothed"] == signal_quality(again)["delivered"]
    assert signal_quality(measured(rebalances, decisions.drop("raw_score")))["unsmoothed"] is NO_RAW_SIGNAL


def returns(seed: int, rise: float, n: int = 200) -> Any:
    draw = np.random.default_rng(seed)
    return draw.normal(0, 0.02, (n, 10)) + draw.normal(0, 0.02, (n, 1)) + rise * np.arange(10)


@pytest.mark.parametrize("seed", range(2))
def test_the_monotonicity_test_matches_the_paper_sample_by_sample(seed: int) -> None:
    portfolios = returns(seed, 0.0004)
    result = monotonicity(portfolios)
    steps = np.diff(portfolios, axis=1)
    block = mean_block_length(portfolios[:, -1] - portfolios[:, 0])
    draw = np.random.Generator(np.random.PCG64(SEED))
    places = np.concatenate(list(resample(draw, len(steps), block)))
    smallest = min(steps.mean(axis=0))
    above = sum(min(steps[sample].mean(axis=0) - steps.mean(axis=0)) > smallest for sample in places)
    assert result["smallest_step"] == pytest.approx(smallest, rel=1e-12)
    assert result["p_value"] == above / SAMPLES
    assert result["mean_block"] == block


@pytest.mark.parametrize("rise", [0.0, 0.0008, 0.002])
def test_the_monotonicity_p_value_matches_archs_stationary_bootstrap(rise: float) -> None:
    portfolios = returns(11, rise)
    result = monotonicity(portfolios)
    steps = np.diff(portfolios, axis=1)
    means = steps.mean(axis=0)
    block: Any = result["mean_block"]
    bootstrap = StationaryBootstrap(block, steps, seed=np.random.default_rng(3))
    drawn = [data[0][0].mean(axis=0) - means for data in bootstrap.bootstrap(4000)]
    theirs = np.mean([sample.min() > means.min() for sample in drawn])
    assert result["p_value"] == pytest.approx(theirs, abs=0.05)


def test_rising_decile_returns_are_detected() -> None:
    flat = [monotonicity(returns(seed, 0.0))["p_value"] for seed in range(200)]
    rising = [monotonicity(returns(seed, 0.004))["p_value"] for seed in range(20)]
    assert np.mean([value < 0.05 for value in flat if isinstance(value, float)]) <= 0.09
    assert np.mean([value < 0.05 for value in rising if isinstance(value, float)]) >= 0.9


@given(st.floats(0.3, 0.9), st.floats(0.01, 0.2))
def test_the_half_life_of_a_geometric_decay_is_interpolated(share: float, start: float) -> None:
    draw = np.random.default_rng(1).normal(0, 0.001, 60)
    noise = draw - draw.mean()
    result = half_life({delay: start * share**delay + noise for delay in DELAYS})
    exact = math.log(0.5) / math.log(share)
    if exact > 8:
        assert isinstance(result, Unavailable)
    else:
        before, behind = share ** math.floor(exact), share ** (math.floor(exact) + 1)
        assert result == pytest.approx(math.floor(exact) + (before - 0.5) / (before - behind), abs=1e-6)


def test_undetermined_figures_are_withheld() -> None:
    noise = np.random.default_rng(2).normal(0, 1, 60)
    noise -= noise.mean()
    unsure = half_life(dict.fromkeys(DELAYS, 0.01 + noise))
    assert isinstance(unsure, Unavailable)
    assert "standard errors" in unsure.text
    assert turnover_adjusted(0.05, 0.75) == pytest.approx(0.1)
    assert isinstance(turnover_adjusted(0.05, 1.0), Unavailable)
    assert turnover_adjusted(NO_RAW_SIGNAL, 0.5) is NO_RAW_SIGNAL
    few = decile_figures(returns(1, 0.0)[:5])
    assert isinstance(few["monotonicity"]["p_value"], Unavailable)
    none = decile_figures(np.empty((0, 10)))
    assert all(isinstance(none[name], Unavailable) for name in ("deciles", "spread", "spread_t_stat"))
