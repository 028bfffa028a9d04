"""Risk of a book compared with empyrical, ffn, pandas, SciPy and Lo's closed form."""

from __future__ import annotations

import math

import empyrical
import ffn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.tsa.stattools import acf

from datasets.figures.equity import equity_curve
from datasets.figures.risk import drawdowns, lo_scale, lo_sharpe, risk
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable

DAYS = np.arange("2015-01-05", "2021-01-05", dtype="datetime64[D]")
DAYS = DAYS[np.is_busday(DAYS)]


def book(seed: int, n: int = DAYS.size, drift: float = 0.0003) -> Floats:
    draw = np.random.default_rng(seed)
    shocks = draw.standard_t(4, n) * 0.007
    return np.asarray(drift + shocks + 0.2 * np.concatenate([[0.0], shocks[:-1]]))


def measured(returns: Floats) -> dict[str, object]:
    ending: Floats = np.cumprod(1 + returns, dtype=np.float64)
    return risk(DAYS[: returns.size], np.concatenate([np.ones(1), ending])[:-1], ending)


@pytest.mark.parametrize("seed", range(2))
def test_figures_of_returns_match_empyrical_and_scipy(seed: int) -> None:
    returns = book(seed)
    expected = {
        "annualised_return": empyrical.annual_return(returns),
        "volatility": empyrical.annual_volatility(returns),
        "sharpe": empyrical.sharpe_ratio(returns),
        "sortino": empyrical.sortino_ratio(returns),
        "calmar": empyrical.calmar_ratio(returns),
        "var_95": empyrical.value_at_risk(returns, 0.05),
        "var_99": empyrical.value_at_risk(returns, 0.01),
        "cvar_95": empyrical.conditional_value_at_risk(returns, 0.05),
        "cvar_99": empyrical.conditional_value_at_risk(returns, 0.01),
        "tail_ratio": empyrical.tail_ratio(returns),
        "skewness": stats.skew(returns, bias=False),
        "kurtosis": stats.kurtosis(returns, bias=False, fisher=False),
    }
    actual = measured(returns)
    for name, value in expected.items():
        assert actual[name] == pytest.approx(value, rel=1e-9), name


@pytest.mark.parametrize("seed", range(3))
def test_drawdowns_match_ffn(seed: int) -> None:
    returns = book(seed)
    result = measured(returns)
    prices = pd.Series(
        np.concatenate([[1.0], np.cumprod(1 + returns)]), pd.DatetimeIndex([DAYS[0] - 1, *DAYS])
    )
    details = ffn.drawdown_details(ffn.to_drawdown_series(prices)).sort_values("drawdown").head(10)
    listed = result["drawdowns"]
    assert isinstance(listed, list)
    assert [entry["depth_pct"] for entry in listed] == pytest.approx(
        (-100 * details["drawdown"].astype(float)).tolist(), rel=1e-9
    )
    assert [entry["start"] for entry in listed] == [str(day.date()) for day in details["Start"]]
    for entry, end in zip(listed, details["End"], strict=True):
        # ffn ends an unfinished drawdown with the last day.
        assert (entry["recovery"] or str(DAYS[-1])) == str(end.date())
        part = [day for day in DAYS.astype(str) if entry["start"] <= day < (entry["recovery"] or "9")]
        assert (entry["sessions"], entry["sessions_to_trough"]) == (
            len(part),
            part.index(entry["trough"]) + 1,
        )
    assert result["under_water"] == np.mean(ffn.to_drawdown_series(prices)[1:] < -1e-15)


def test_month_end_rolling_figures_match_pandas_and_empyrical() -> None:
    returns = book(7)
    series = pd.Series(returns, pd.DatetimeIndex(DAYS))
    sharpe = empyrical.roll_sharpe_ratio(series, 252).to_numpy()
    volatility = (series.rolling(252).std() * math.sqrt(252)).to_numpy()
    months = DAYS.astype("datetime64[M]")
    ends = [x for x in range(251, DAYS.size) if x == DAYS.size - 1 or months[x + 1] != months[x]]
    result = measured(returns)["rolling"]
    assert isinstance(result, list)
    assert [entry["date"] for entry in result] == [str(DAYS[place]) for place in ends]
    assert [entry["volatility"] for entry in result] == pytest.approx(volatility[ends].tolist(), rel=1e-9)
    assert [entry["sharpe"] for entry in result] == pytest.approx([sharpe[x - 251] for x in ends], rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_los_sharpe_ratio_matches_his_formula_on_statsmodels_autocorrelations(seed: int) -> None:
    returns, lags = book(seed), 7
    rho = acf(returns, nlags=lags, fft=False)
    weight = sum((252 - k) * rho[k] for k in range(1, lags + 1))
    expected = returns.mean() / returns.std(ddof=1) * 252 / math.sqrt(252 + 2 * weight)
    assert lo_sharpe(returns, lags) == pytest.approx(expected, rel=1e-9)
    assert measured(returns)["lo_lags"] == 7


@pytest.mark.parametrize("rho", [-0.5, -0.2, 0.0, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("q", [2, 12, 252])
def test_los_scale_matches_the_closed_form_for_an_ar1(rho: float, q: int) -> None:
    result = lo_scale(rho ** np.arange(1.0, q), q)
    closed = math.sqrt(q) / math.sqrt(1 + 2 * rho / (1 - rho) * (1 - (1 - rho**q) / (q * (1 - rho))))
    assert result == pytest.approx(closed, rel=1e-9)


def test_a_year_without_variance_has_no_scale() -> None:
    assert lo_scale(np.array([-0.5]), 2) == pytest.approx(2**0.5 / (1 - 0.5) ** 0.5)
    assert lo_scale(np.array([-0.6]), 252) is None


@given(st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=60))
def test_drawdowns_partition_the_sessions_below_the_peak(values: list[float]) -> None:
    returns = np.array(values)
    ending = np.cumprod(1 + returns)
    curve = equity_curve(np.concatenate([[1.0], ending[:-1]]), ending)
    result = drawdowns(DAYS[: returns.size], curve.drawdown_pct)
    under = int((curve.drawdown_pct > 0).sum())
    assert sum(entry["sessions"] for entry in result) <= under
    assert len(result) == 10 or sum(entry["sessions"] for entry in result) == under
    assert [entry["depth_pct"] for entry in result] == sorted((x["depth_pct"] for x in result), reverse=True)
    assert max((entry["depth_pct"] for entry in result), default=0.0) == curve.drawdown_pct.max()


@pytest.mark.parametrize("n", [0, 1, 5, 19, 99, 251])
def test_short_runs_withhold_undetermined_figures(n: int) -> None:
    result = measured(book(1, n))
    withheld = {name for name, value in result.items() if isinstance(value, Unavailable)}
    assert {"rolling", "var_99", "cvar_99"} <= withheld or n >= 100
    assert ("var_95" in withheld) == (n < 20)
    assert ("sharpe" in withheld) == (n < 2)
    assert ("lo_sharpe" in withheld) == ("lo_lags" in withheld) == (n < 10)


def test_equity_at_or_below_zero_withholds_every_figure_of_returns() -> None:
    equity = np.array([1.0, 0.5, -0.1, 0.2, 0.3])
    result = risk(DAYS[:4], equity[:-1], equity[1:])
    for name in ("sharpe", "lo_sharpe", "sortino", "calmar", "var_95", "rolling", "annualised_return"):
        reason = result[name]
        assert isinstance(reason, Unavailable)
        assert reason.code == "nonpositive_equity"
    assert result["drawdowns"][0]["depth_pct"] == pytest.approx(110.0)


def test_returns_that_do_not_vary_have_no_ratio() -> None:
    result = measured(np.full(300, 0.001))
    for name in ("sharpe", "lo_sharpe", "sortino", "calmar", "skewness"):
        assert isinstance(result[name], Unavailable), name
    assert result["drawdowns"] == []
    assert result["under_water"] == 0.0


def test_a_book_with_few_losses_has_no_tail_ratio_and_the_reason_names_its_quantile() -> None:
    result = measured(np.concatenate([[-0.02], np.zeros(60), np.full(60, 0.01)]))
    reason = result["tail_ratio"]
    assert isinstance(reason, Unavailable)
    assert reason.text == "the 5% quantile of the daily returns of the window is 0"


def test_losses_within_rounding_give_no_ratio_and_no_drawdown() -> None:
    equity = np.repeat(1.001 ** np.arange(150), 2)
    equity[1::2] = np.nextafter(equity[1::2], 0.0)
    result = risk(DAYS[:299], equity[:-1], equity[1:])
    for name in ("sortino", "calmar", "tail_ratio"):
        assert isinstance(result[name], Unavailable), name
    assert result["under_water"] == 0.0
    assert result["drawdowns"] == []
    assert result["sharpe"] > 0
