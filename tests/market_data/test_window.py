from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path

import empyrical
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.price import Benchmark
from datasets.market_data.prices import read_benchmarks
from serve.market_data.window import measure

File = Callable[..., bytes]


def benchmark(close: list[float], adjusted: list[float]) -> Benchmark:
    days = (
        np.arange("2020-01-01", len(close), dtype="datetime64[D]") if close else np.array([], "datetime64[D]")
    )
    if close:
        days = np.datetime64("2020-01-01") + np.arange(len(close))
    return Benchmark("ABC", "ABC", False, days, np.array(close, float), np.array(adjusted, float))


def test_a_window_of_adjusted_prices_uses_them(market_file: File) -> None:
    window = measure(read_benchmarks({"m": market_file()})["ABC"], None, None)
    rows = window.rows
    assert rows.columns == ["date", "close", "period_return", "cumulative_return", "drawdown_pct"]
    assert rows["close"].to_list() == [100.0, 110.0, 99.0, 99.0, 121.0], "never adjusted"
    assert rows["period_return"][0] is None
    assert rows["cumulative_return"][0] == 0.0
    assert rows["period_return"].to_list()[1:] == pytest.approx([0.1, -0.1, 0.5 / 49.5, 0.22])
    assert rows["drawdown_pct"].to_list() == pytest.approx([0, 0, 10, 100 * 5 / 55, 0])
    assert window.summary == {
        "symbol": "ABC",
        "name": "ABC",
        "return_basis": "adjusted_close",
        "first_date": dt.date(2024, 1, 2),
        "last_date": dt.date(2024, 1, 8),
        "sessions": 5,
        "first_close": 100.0,
        "last_close": 121.0,
        "total_return": pytest.approx(0.22),
        "cumulative_return_pct": pytest.approx(22.0),
        "max_drawdown_pct": pytest.approx(10.0),
        "max_drawdown_date": dt.date(2024, 1, 4),
        "previous_date": None,
        "previous_close": None,
        "first_return": None,
        "total_return_from_previous": None,
    }


def test_the_summary_measures_from_the_previous_close(market_file: File) -> None:
    series = read_benchmarks({"m": market_file()})["ABC"]
    summary = measure(series, dt.date(2024, 1, 3), None).summary
    assert (summary["previous_date"], summary["previous_close"]) == ("2024-01-02", 100.0)
    assert summary["first_return"] == pytest.approx(0.1)
    assert summary["total_return"] == pytest.approx(61 / 55 - 1)
    assert summary["total_return_from_previous"] == pytest.approx(0.22)
    assert measure(series, dt.date(2024, 1, 6), dt.date(2024, 1, 7)).summary["previous_date"] is None
    half = read_benchmarks({"m": market_file(adj_close=[None, 55.0, 49.5, 50.0, 61.0])})["ABC"]
    summary = measure(half, dt.date(2024, 1, 3), None).summary
    assert summary["return_basis"] == "adjusted_close"
    assert summary["first_return"] is None, "a return never mixes two prices"


@given(
    st.lists(st.floats(1.0, 1e3), min_size=2, max_size=30),
    st.data(),
)
def test_returns_of_adjacent_windows_compound(prices: list[float], data: st.DataObject) -> None:
    days = np.datetime64("2020-01-01") + np.arange(len(prices))
    cut = data.draw(st.integers(1, len(prices) - 1))
    series = benchmark(prices, prices)
    first = measure(series, None, days[cut - 1].item()).summary["total_return"]
    second = measure(series, days[cut].item(), None)
    both = measure(series, None, None).summary["total_return"]
    since = second.summary["total_return_from_previous"]
    assert (1 + first) * (1 + since) - 1 == pytest.approx(both, rel=1e-9, abs=1e-12)
    growth = (1 + second.summary["first_return"]) * (1 + second.rows["cumulative_return"].to_numpy())
    assert growth[-1] - 1 == pytest.approx(since, rel=1e-9, abs=1e-12)
    assert growth == pytest.approx(np.array(prices[cut:]) / prices[cut - 1], rel=1e-9)


def test_one_unadjusted_row_puts_the_window_on_closes(market_file: File) -> None:
    series = read_benchmarks({"m": market_file(adj_close=[50.0, None, 49.5, 50.0, 61.0])})["ABC"]
    full = measure(series, None, None)
    assert full.summary["return_basis"] == "close"
    assert full.rows["period_return"].to_list()[1:] == pytest.approx([0.1, -0.1, 0.0, 22 / 99])
    later = measure(series, dt.date(2024, 1, 4), None)
    assert later.summary["return_basis"] == "adjusted_close", "the rule looks at the window only"
    assert later.summary["sessions"] == 3


def test_the_window_is_inclusive_and_starts_afresh(market_file: File) -> None:
    series = read_benchmarks({"m": market_file()})["ABC"]
    window = measure(series, dt.date(2024, 1, 3), dt.date(2024, 1, 6))
    assert [str(day) for day in window.rows["date"]] == ["2024-01-03", "2024-01-04", "2024-01-05"]
    assert window.rows["period_return"][0] is None
    assert window.rows["cumulative_return"][0] == 0.0
    assert window.summary["first_close"] == 110.0


def test_a_window_without_sessions_is_empty_and_has_no_figures(market_file: File) -> None:
    window = measure(read_benchmarks({"m": market_file()})["ABC"], dt.date(2024, 1, 6), dt.date(2024, 1, 7))
    assert window.rows.height == 0
    assert window.rows.columns == ["date", "close", "period_return", "cumulative_return", "drawdown_pct"]
    assert window.summary["sessions"] == 0
    assert window.summary["return_basis"] == "close"
    figures = set(window.summary) - {"symbol", "name", "return_basis", "sessions"}
    assert {window.summary[name] for name in figures} == {None}


positive = st.floats(1e-3, 1e6, allow_nan=False)


@given(st.lists(st.tuples(positive, positive | st.just(math.nan)), min_size=1, max_size=40))
def test_a_window_equals_the_slow_definition(prices: list[tuple[float, float]]) -> None:
    close, adjusted = [c for c, _ in prices], [a for _, a in prices]
    window = measure(benchmark(close, adjusted), None, None)
    price = close if any(math.isnan(a) for a in adjusted) else adjusted
    growth, peak = 1.0, -math.inf
    for row, value in enumerate(price):
        peak = max(peak, value)
        shown = window.rows.row(row, named=True)
        assert shown["close"] == close[row]
        if row:
            change = (value - price[row - 1]) / price[row - 1]
            growth *= 1 + change
            assert shown["period_return"] == pytest.approx(change, rel=1e-12, abs=1e-15)
        assert shown["cumulative_return"] == pytest.approx(growth - 1, rel=1e-9, abs=1e-12)
        assert shown["drawdown_pct"] == pytest.approx((peak - value) / peak * 100, rel=1e-9, abs=1e-12)


@given(st.lists(positive, min_size=2, max_size=40), st.sampled_from([0.25, 2.0, 1024.0]))
def test_returns_do_not_depend_on_the_currency(prices: list[float], scale: float) -> None:
    one = measure(benchmark(prices, prices), None, None)
    other = measure(benchmark([p * scale for p in prices], [p * scale for p in prices]), None, None)
    assert one.rows.drop("close").equals(other.rows.drop("close"))
    assert one.summary["total_return"] == other.summary["total_return"]


def test_real_prices_agree_with_empyrical(shared: Path) -> None:
    file = shared / "data" / "spy.parquet"
    series = read_benchmarks({"spy.parquet": file.read_bytes()})["SPY"]
    # From the last session of 2010, so that the first session of 2011 has a return, as in the published figure.
    window = measure(series, dt.date(2010, 12, 31), dt.date(2022, 12, 31))
    assert window.summary["return_basis"] == "adjusted_close"
    assert window.summary["name"] == "SPDR S&P 500 ETF Trust"
    assert window.summary["max_drawdown_pct"] == pytest.approx(33.717, abs=5e-4)
    raw = pd.read_parquet(file)
    raw["date"] = pd.to_datetime(raw["date"])
    inside = raw[(raw.date >= "2010-12-31") & (raw.date <= "2022-12-31")].set_index("date")
    returns = inside.adj_close.pct_change().dropna()
    figures = window.rows["period_return"].to_numpy()[1:]
    assert figures == pytest.approx(returns.to_numpy(), rel=1e-12, abs=1e-15)
    assert empyrical.sharpe_ratio(pd.Series(figures)) == pytest.approx(0.7244, abs=5e-5)
    assert window.rows["cumulative_return"].to_numpy()[1:] == pytest.approx(
        empyrical.cum_returns(returns).to_numpy(), rel=1e-10
    )
    assert window.summary["max_drawdown_pct"] == pytest.approx(
        -100 * empyrical.max_drawdown(returns), rel=1e-10
    )
    assert window.summary["cumulative_return_pct"] == pytest.approx(
        100 * empyrical.cum_returns_final(returns), rel=1e-10
    )
    assert window.rows["close"].to_list() == inside.close.to_list()
