from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from pathlib import Path

import empyrical
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures import bands, rank_ic, ratios
from datasets.figures.price import price_curve, price_summary
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from schemas.warning_codes import NOTICE_CODES, WARNING_CODES
from tests.maths.panels import check, ledger

NULL = math.nan
varied = st.lists(st.integers(-400, 600), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1)
# Figures published with the unit tests of empyrical-reloaded (Apache-2.0), on returns in per cent.
MIXED = [1, 10, -4, 2, 3, 2, 1, -10]
NEGATIVE = [0, -6, -7, -1, -9, -2, -6, -8, -5]


def reason(figure: float | Unavailable) -> str:
    assert isinstance(figure, Unavailable)
    assert figure.code in WARNING_CODES | NOTICE_CODES
    assert figure.text
    return figure.code


@pytest.mark.parametrize(
    ("per_cent", "sharpe", "drawdown"),
    [(MIXED, 1.7238613961706866, -0.1), (NEGATIVE, -24.406808633910085, -0.3659073)],
)
def test_figures_published_by_empyrical(per_cent: list[int], sharpe: float, drawdown: float) -> None:
    starting, ending = ledger([value / 100 for value in per_cent])
    assert ratios.information_ratio(starting, ending) == pytest.approx(sharpe, rel=1e-9)
    assert ratios.max_drawdown_pct(starting, ending) == pytest.approx(-drawdown * 100, rel=1e-6)


@check
@given(varied, st.integers(0, 2**32 - 1))
def test_ratios_and_drawdown_match_empyrical(per_mille: list[int], seed: int) -> None:
    returns = np.array(per_mille) / 1000
    risk_free = np.random.default_rng(seed).uniform(0, 0.01, returns.size)
    starting, ending = ledger(returns.tolist())
    assert ratios.information_ratio(starting, ending) == pytest.approx(
        float(empyrical.sharpe_ratio(returns)), rel=1e-9, abs=1e-9
    )
    assert ratios.excess_sharpe(starting, ending, risk_free) == pytest.approx(
        float(empyrical.sharpe_ratio(returns, risk_free=risk_free)), rel=1e-9, abs=1e-9
    )
    assert ratios.max_drawdown_pct(starting, ending) == pytest.approx(
        -100 * float(empyrical.max_drawdown(returns)), abs=1e-10
    )


@check
@given(varied)
def test_the_ratio_by_hand(per_mille: list[int]) -> None:
    starting, ending = ledger([value / 1000 for value in per_mille])
    returns = [end / start - 1 for start, end in zip(starting.tolist(), ending.tolist(), strict=True)]
    written = statistics.fmean(returns) / statistics.stdev(returns) * 252**0.5
    assert ratios.information_ratio(starting, ending) == pytest.approx(written, rel=1e-9, abs=1e-9)


def test_sessions_without_return_or_rate_are_omitted() -> None:
    starting, ending = ledger([0.01, 0.03, -0.02])
    gap = np.array([NULL])
    assert ratios.information_ratio(
        np.append(gap, starting), np.append(gap, ending)
    ) == ratios.information_ratio(starting, ending)
    rates = np.array([0.001, NULL, 0.001])
    expected = ratios.excess_sharpe(starting[[0, 2]], ending[[0, 2]], rates[[0, 2]])
    assert ratios.excess_sharpe(starting, ending, rates) == expected


@check
@given(varied, st.integers(0, 59), st.floats(-10.0, 0.0))
def test_a_session_opening_with_negative_equity_withholds_the_ratio(
    per_mille: list[int], at: int, debt: float
) -> None:
    starting, ending = ledger([x / 1000 for x in per_mille])
    starting[at % starting.size] = debt
    assert reason(ratios.information_ratio(starting, ending)) == "nonpositive_equity"
    assert reason(ratios.excess_sharpe(starting, ending, np.zeros(starting.size))) == "nonpositive_equity"
    days = np.arange(starting.size).astype("datetime64[D]")
    rows = Ledger(days, starting, ending, starting, starting)
    for name in ("annualised_return", "volatility"):
        assert reason(bands.LEDGER_FIGURES[name](rows)) == "nonpositive_equity"


@pytest.mark.parametrize("returns", [[], [0.01]])
def test_too_few_sessions_are_withheld_not_zero(returns: list[float]) -> None:
    starting, ending = ledger(returns)
    assert reason(ratios.information_ratio(starting, ending)) == "insufficient_data"
    assert reason(ratios.excess_sharpe(starting, ending, np.zeros(len(returns)))) == "insufficient_data"


@pytest.mark.parametrize("growth", [0.0, 0.001, -0.02, 0.1])
def test_steady_growth_has_no_ratio_despite_rounding(growth: float) -> None:
    starting, ending = ledger([growth] * 500)
    assert reason(ratios.information_ratio(starting, ending)) == "nonpositive_variance"
    assert reason(ratios.excess_sharpe(starting, ending, np.full(500, 0.00004))) == "nonpositive_variance"


def test_without_returns_there_are_no_ratios() -> None:
    none = np.array([])
    ledger_figures: list[Callable[[Floats, Floats], float | Unavailable]] = [
        ratios.pnl,
        ratios.max_drawdown,
        ratios.max_drawdown_pct,
    ]
    assert {reason(figure(none, none)) for figure in ledger_figures} == {"insufficient_data"}
    assert reason(ratios.turnover(none)) == "insufficient_data"
    assert reason(ratios.pnl(np.array([NULL]), np.array([1.0]))) == "insufficient_data"


def test_profit_drawdown_and_turnover_by_hand() -> None:
    starting, ending = np.array([1.0, 2.0, 1.0, 3.0]), np.array([2.0, 1.0, 3.0, 1.8])
    assert ratios.pnl(starting, ending) == pytest.approx(0.8)
    assert ratios.max_drawdown(starting, ending) == pytest.approx(1.2)
    assert ratios.max_drawdown_pct(starting, ending) == pytest.approx(50.0)
    assert ratios.turnover(np.array([1.0, 0.0, 0.0, 0.2])) == pytest.approx(0.3 * 252)


def test_a_book_that_never_fell_has_a_drawdown_of_zero() -> None:
    starting, ending = ledger([0.1, 0.0, 0.2])
    assert ratios.max_drawdown(starting, ending) == ratios.max_drawdown_pct(starting, ending) == 0.0


@check
@given(varied)
def test_weekly_figures_by_hand(thousandths: list[int]) -> None:
    ic = [value / 1000 for value in thousandths]
    gaps = np.array([NULL, *ic, NULL])
    spread = statistics.stdev(ic)
    assert rank_ic.mean_ic(gaps) == pytest.approx(statistics.fmean(ic), abs=1e-12)
    assert rank_ic.dispersion(gaps) == pytest.approx(spread, rel=1e-9)
    assert rank_ic.icir(gaps) == pytest.approx(statistics.fmean(ic) / spread * 52**0.5, rel=1e-9, abs=1e-9)
    assert rank_ic.hit_rate(gaps) == sum(value > 0 for value in ic) / len(ic)


def test_weeks_without_an_ic_are_not_counted() -> None:
    nulls = np.full(3, NULL)
    for figure in (rank_ic.mean_ic, rank_ic.icir, rank_ic.hit_rate, rank_ic.dispersion):
        assert reason(figure(nulls)) == reason(figure(np.array([]))) == "insufficient_data"
    one = np.append(nulls, 0.25)
    assert reason(rank_ic.icir(one)) == reason(rank_ic.dispersion(one)) == "insufficient_data"
    assert rank_ic.mean_ic(one) == 0.25
    assert rank_ic.hit_rate(one) == 1.0


def test_a_constant_ic_has_no_dispersion_and_no_ratio() -> None:
    steady = np.full(10, 0.1)
    assert rank_ic.dispersion(steady) == 0.0
    assert reason(rank_ic.icir(steady)) == "nonpositive_variance"


def test_coverage_is_of_traded_weeks_and_a_traded_week_without_returns_counts() -> None:
    n_return_obs, n_symbols = np.array([8.0, 5.0, 0.0, 0.0, 3.0]), np.array([10.0, 5.0, 10.0, 0.0, 10.0])
    traded = np.array([True, True, True, True, False])
    assert rank_ic.coverage(n_return_obs, n_symbols, traded) == pytest.approx((0.8 + 1.0 + 0.0) / 3)
    assert reason(rank_ic.coverage(n_return_obs, n_symbols, np.zeros(5, np.bool_))) == "insufficient_data"


def test_sharpe_and_drawdown_of_spy_match_empyrical(shared: Path) -> None:
    spy = pl.read_parquet(shared / "data/spy.parquet").sort("date")
    window = spy.filter(pl.col("date").is_between(pl.date(2010, 12, 31), pl.date(2022, 12, 30)))
    close = window["adj_close"].to_numpy()
    assert close.size == 3021
    dates = window["date"].to_numpy().astype("datetime64[D]")
    assert ratios.information_ratio(close[:-1], close[1:]) == pytest.approx(0.7243904537703001, rel=1e-9)
    summary = price_summary(dates, close, close)
    assert summary["max_drawdown_pct"] == pytest.approx(33.71726945199436, rel=1e-9)
    assert summary["total_return"] == pytest.approx(2.821443289690234, rel=1e-9)
    assert price_curve(close).cumulative_return[-1] == pytest.approx(2.821443289690234, rel=1e-9)
