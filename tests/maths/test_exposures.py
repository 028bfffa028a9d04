"""Exposures compared with statsmodels, and an attribution that sums to the total."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.rolling import RollingOLS

from datasets.figures.exposures import exposures, returns_between
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Floats, Matrix
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, days, seeds


def ledger(returns: Floats, rate: float = 0.0001) -> Ledger:
    ending: Floats = 100.0 * np.cumprod(1.0 + returns, dtype=np.float64)
    starting = np.concatenate([[100.0], ending[:-1]])
    n = returns.size
    draw = np.random.default_rng(n)
    rates = draw.uniform(rate, 2 * rate, n)
    return Ledger(days(n), starting, ending, rates, np.zeros(n))


def drawn(seed: int, n: int, k: int) -> tuple[Ledger, Matrix]:
    draw = np.random.default_rng(seed)
    factors = draw.normal(0.0003, 0.01, (n, k))
    returns = 0.0002 + factors @ draw.normal(0, 0.5, k) + draw.normal(0, 0.008, n)
    return ledger(returns), factors


def names(factors: Matrix) -> list[str]:
    return [f"F{place}" for place in range(factors.shape[1])]


def measured(book: Ledger, factors: Matrix, window: int, *, less_risk_free: bool = False) -> dict[str, Any]:
    return exposures(book, names(factors), factors, window, less_risk_free=less_risk_free)


@check
@given(seeds, st.integers(60, 400), st.integers(1, 5), st.booleans())
def test_coefficients_and_errors_match_statsmodels(seed: int, n: int, k: int, less: bool) -> None:
    book, factors = drawn(seed, n, k)
    fit = measured(book, factors, 50, less_risk_free=less)["regression"]
    rate = book.risk_free
    y = (book.ending - book.starting) / book.starting - rate
    x = factors - rate[:, None] if less else factors
    theirs = sm.OLS(y, sm.add_constant(x)).fit(
        cov_type="HAC", cov_kwds={"maxlags": fit["lags"], "use_correction": False}, use_t=True
    )
    betas = fit["betas"].values()
    values = [fit["alpha_daily"], *(beta["beta"] for beta in betas)]
    errors = [fit["standard_error"], *(beta["standard_error"] for beta in betas)]
    assert values == pytest.approx(theirs.params.tolist(), rel=1e-9, abs=1e-12)
    assert errors == pytest.approx(theirs.bse.tolist(), rel=1e-9)
    assert fit["r_squared"] == pytest.approx(theirs.rsquared, abs=1e-9)
    deviation = math.sqrt(theirs.ssr / theirs.df_resid)
    assert fit["residual_sharpe"] == pytest.approx(
        theirs.params[0] / deviation * math.sqrt(252), rel=1e-9, abs=1e-9
    )
    assert fit["alpha_annualised"] == fit["alpha_daily"] * 252


@check
@given(seeds, st.integers(60, 200), st.integers(1, 4), st.integers(20, 60))
def test_rolling_coefficients_match_statsmodels(seed: int, n: int, k: int, window: int) -> None:
    book, factors = drawn(seed, n, k)
    rolling = measured(book, factors, window)["rolling"]
    y = (book.ending - book.starting) / book.starting - book.risk_free
    theirs = RollingOLS(pd.Series(y), sm.add_constant(factors), window=window).fit()
    rows = np.arange(n - 1, window - 2, -5)[::-1]
    assert [entry["date"] for entry in rolling] == days(n)[rows].astype(str).tolist()
    params = np.asarray(theirs.params)[rows]
    alphas = np.array([entry["alpha_annualised"] for entry in rolling])
    assert alphas == pytest.approx(params[:, 0] * 252, rel=1e-9, abs=1e-9)
    slopes = np.array([[entry["betas"][name] for name in names(factors)] for entry in rolling])
    assert slopes == pytest.approx(params[:, 1:], rel=1e-9, abs=1e-9)
    shares = [entry["r_squared"] for entry in rolling]
    assert shares == pytest.approx(np.asarray(theirs.rsquared)[rows].tolist(), abs=1e-9)


@check
@given(seeds, st.integers(60, 300), st.integers(1, 5))
def test_attribution_sums_to_the_ledgers_profit(seed: int, n: int, k: int) -> None:
    book, factors = drawn(seed, n, k)
    factors[np.random.default_rng(seed).random(n) < 0.05] = np.nan
    parts = measured(book, factors, 40, less_risk_free=True)["attribution"]
    pnl, by_factor = parts.pop("pnl"), parts.pop("factors")
    assert pnl == pytest.approx(book.ending[-1] - book.starting[0], abs=0)
    assert math.fsum((*parts.values(), *by_factor.values())) == pytest.approx(pnl, abs=1e-9)


def test_the_market_itself_has_beta_one_and_no_alpha() -> None:
    market = np.random.default_rng(1).normal(0.0004, 0.01, 300)
    result = measured(ledger(market), market[:, None], 60, less_risk_free=True)
    assert result["measured"] == 300
    assert result["regression"]["betas"]["F0"]["beta"] == pytest.approx(1.0)
    assert result["regression"]["alpha_daily"] == pytest.approx(0.0, abs=1e-15)
    assert isinstance(result["regression"]["residual_sharpe"], Unavailable)
    assert result["attribution"]["alpha"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("spoil", ["constant", "twice", "absent"])
def test_uninformative_factors_are_withheld(spoil: str) -> None:
    book, factors = drawn(3, 100, 2)
    factors[:, 1] = {
        "constant": np.full(100, 0.001),
        "twice": 2 * factors[:, 0],
        "absent": np.full(100, np.nan),
    }[spoil]
    result = measured(book, factors, 50)
    assert isinstance(result["regression"], Unavailable)
    assert isinstance(result["attribution"], Unavailable)
    if spoil == "absent":
        assert isinstance(result["rolling"], Unavailable)
    else:
        assert all(beta is None for entry in result["rolling"] for beta in entry["betas"].values())


def test_rolling_regressions_need_as_many_sessions_as_a_regression() -> None:
    book, factors = drawn(3, 100, 15)
    short = measured(book, factors, 20)["rolling"]
    assert isinstance(short, Unavailable)
    assert short.text == "sessions of a rolling regression in the window: 20; the figure needs at least 25"
    assert len(measured(book, factors, 25)["rolling"]) == 16


def test_a_book_with_negative_equity_is_withheld() -> None:
    book, factors = drawn(4, 100, 1)
    book.starting[50] = -1.0
    result = measured(book, factors, 50)
    assert {getattr(result[part], "code", None) for part in ("regression", "attribution", "rolling")} == {
        "nonpositive_equity"
    }


def test_a_book_without_a_risk_free_rate_is_withheld() -> None:
    book, factors = drawn(4, 100, 1)
    book.risk_free[:] = np.nan
    fit = measured(book, factors, 50)["regression"]
    assert isinstance(fit, Unavailable)
    assert "risk-free" in fit.text


def test_factor_returns_between_two_sessions_are_compounded() -> None:
    returns = np.array([[0.01], [0.02], [np.nan], [0.04], [0.05]])
    at = days(8)[[0, 1, 3, 4]]
    result = returns_between(days(5), returns, at)
    assert result[:, 0].tolist() == pytest.approx([0.01, 0.02, math.nan, 0.05], nan_ok=True)
    assert returns_between(days(5)[:2], returns[:2], days(4)[[1, 3]])[:, 0].tolist() == pytest.approx(
        [0.02, math.nan], nan_ok=True
    ), "a day that the factors do not have"
    wide = returns_between(days(5)[[0, 1, 3, 4]], returns[[0, 1, 3, 4]], days(5)[[0, 4]])
    assert wide[:, 0].tolist() == pytest.approx([0.01, 1.02 * 1.04 * 1.05 - 1])


def test_a_return_that_begins_before_the_books_previous_session_is_not_measured() -> None:
    returns = np.array([[0.01], [0.02], [0.03], [0.04]])
    result = returns_between(days(6)[[0, 1, 4, 5]], returns, days(6))
    assert result[:, 0].tolist() == pytest.approx([0.01, 0.02, *[math.nan] * 3, 0.04], nan_ok=True)
