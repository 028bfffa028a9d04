"""Regimes compared with pandas and empyrical, and the break test with statsmodels."""

from __future__ import annotations

import empyrical
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.diagnostic import breaks_cusumolsresid

from datasets.figures.bootstrap import mean_block_length, resample
from datasets.figures.price import Benchmark
from datasets.figures.regimes import Market, find_break, market_at, regimes, split_sessions
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, days, seeds


@check
@given(seeds, st.integers(20, 400), st.floats(-2, 2))
def test_the_break_test_matches_statsmodels(seed: int, n: int, step: float) -> None:
    series = np.random.default_rng(seed).normal(size=n)
    series[n // 3 :] += step
    result = find_break(days(n), series, "values")
    assert not isinstance(result, Unavailable)
    statistic, p_value, _ = breaks_cusumolsresid(series - series.mean())
    assert (result["statistic"], result["p_value"]) == pytest.approx((statistic, p_value), rel=1e-9)
    assert result["observations"] == n


def test_a_break_is_dated_and_nulls_are_left_out() -> None:
    series = np.random.default_rng(1).normal(0, 1, 300)
    series[120:] += 2.0
    series[[5, 200]] = np.nan
    result = find_break(days(300), series, "values")
    assert not isinstance(result, Unavailable)
    assert result["p_value"] < 1e-9
    assert abs((np.datetime64(result["date"]) - days(300)[119]).astype(int)) <= 5
    assert result["observations"] == 298


@pytest.mark.parametrize(
    ("series", "code"), [(np.zeros(50), "nonpositive_variance"), (np.arange(19.0), "insufficient_data")]
)
def test_undetermined_breaks_are_withheld(series: Floats, code: str) -> None:
    result = find_break(days(series.size), series, "values")
    assert isinstance(result, Unavailable)
    assert result.code == code


def test_volatility_uses_only_earlier_sessions() -> None:
    price = 100 * np.exp(np.cumsum(np.random.default_rng(2).normal(0, 0.01, 200)))
    closes = Benchmark("SPY", "SPY", False, days(200), price, np.full(200, np.nan))
    result = market_at(closes, days(205)[3::2])
    returns = pd.Series(price).pct_change()
    at = np.arange(3, 205, 2)
    wanted = [returns.reindex(at).to_numpy(), returns.rolling(63).std().shift(1).reindex(at).to_numpy()]
    assert result.returns == pytest.approx(wanted[0], rel=1e-9, nan_ok=True)
    assert result.volatility == pytest.approx(wanted[1], rel=1e-9, nan_ok=True)


@check
@given(seeds, st.integers(120, 400))
def test_a_regimes_figures_match_its_sessions(seed: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    returns = draw.normal(0.0003, 0.01, n)
    market = Market(draw.normal(0, 0.01, n), np.where(np.arange(n) < 10, np.nan, draw.uniform(0.1, 0.3, n)))
    result = regimes(returns, market, seed)
    assert result["withheld"] == {}
    frame = pd.DataFrame({"r": returns, "m": market.returns, "v": market.volatility})
    cut = pd.qcut(frame["v"], 3, labels=["low", "middle", "high"])
    wanted = {
        "first": frame["r"][: n // 2],
        "second": frame["r"][n // 2 :],
        "down": frame["r"][frame["m"] < 0],
        "up": frame["r"][frame["m"] > 0],
        **{name: frame["r"][cut == name] for name in ("low", "middle", "high")},
    }
    shown = {x["name"]: x for group in result["groups"] for x in group["regimes"]}
    assert shown.keys() == wanted.keys()
    for name, chosen in wanted.items():
        one = shown[name]
        assert one["sessions"] == len(chosen)
        assert one["sharpe"] == pytest.approx(empyrical.sharpe_ratio(chosen), rel=1e-9)
        assert one["volatility"] == pytest.approx(empyrical.annual_volatility(chosen), rel=1e-9)
        assert one["mean_return"] == pytest.approx(chosen.mean() * 252, rel=1e-9, abs=1e-12)
        assert one["band"]["lower"] < one["sharpe"] < one["band"]["upper"]
    halves = result["groups"][0]
    difference = shown["second"]["sharpe"] - shown["first"]["sharpe"]
    assert halves["difference"]["sharpe"] == pytest.approx(difference)


def test_bands_are_quantiles_of_the_samples_sessions_in_the_regime() -> None:
    returns = np.random.default_rng(4).normal(0.0005, 0.01, 200)
    result = regimes(returns, None, 9)["groups"][0]["regimes"][1]
    draw = np.random.Generator(np.random.PCG64([9, 3]))
    samples = resample(draw, 200, mean_block_length(returns))
    sharpes = [empyrical.sharpe_ratio(returns[row[row >= 100]]) for part in samples for row in part]
    assert [result["band"][end] for end in ("lower", "upper")] == pytest.approx(
        np.quantile(sharpes, [0.025, 0.975]), rel=1e-9
    )


def test_a_regime_dependent_book_differs_beyond_its_band() -> None:
    draw = np.random.default_rng(5)
    returns = draw.normal(0, 0.01, 1000)
    returns[:500] += 0.003
    halves = regimes(returns, None, 1)["groups"][0]
    assert halves["difference"]["band"]["upper"] < 0


def test_a_short_record_has_no_regimes() -> None:
    result = regimes(np.random.default_rng(6).normal(0, 0.01, 39), None, 1)
    assert result["groups"] == []
    assert set(result["withheld"]) == {"groups"}
    assert list(split_sessions(10, None)) == ["halves"]
