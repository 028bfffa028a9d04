"""Exposures compared with statsmodels, and an attribution that sums to the total."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.rolling import RollingOLS

from datasets.figures.exposures import Attribution, Exposures, Rolling, exposures, returns_between
from datasets.figures.newey_west import Regression, residual_sharpe
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Dates, Floats, Matrix
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check

seeds = st.integers(0, 2**32 - 1)


def days(n: int) -> Dates:
    return np.datetime64("2020-01-01", "D") + np.arange(n)


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


def fitted(exposures: Exposures) -> tuple[Regression, Attribution, Rolling]:
    parts = (exposures.fit, exposures.attribution, exposures.rolling)
    assert not any(isinstance(part, Unavailable) for part in parts)
    return parts  # type: ignore[return-value]  # checked above


@check
@given(seeds, st.integers(60, 400), st.integers(1, 5), st.booleans())
def test_coefficients_and_errors_match_statsmodels(seed: int, n: int, k: int, less: bool) -> None:
    book, factors = drawn(seed, n, k)
    fit, _, _ = fitted(exposures(book, factors, 50, less_risk_free=less))
    rate = book.risk_free
    y = (book.ending - book.starting) / book.starting - rate
    x = factors - rate[:, None] if less else factors
    theirs = sm.OLS(y, sm.add_constant(x)).fit(
        cov_type="HAC", cov_kwds={"maxlags": fit.lags, "use_correction": False}, use_t=True
    )
    ours = (fit.intercept, *fit.slopes)
    assert [c.value for c in ours] == pytest.approx(theirs.params.tolist(), rel=1e-9, abs=1e-12)
    assert [c.standard_error for c in ours] == pytest.approx(theirs.bse.tolist(), rel=1e-9)
    assert fit.r_squared == pytest.approx(theirs.rsquared, abs=1e-9)
    assert fit.residual_deviation == pytest.approx(math.sqrt(theirs.ssr / theirs.df_resid), rel=1e-9)
    assert residual_sharpe(fit) == pytest.approx(
        theirs.params[0] / math.sqrt(theirs.ssr / theirs.df_resid) * math.sqrt(252), rel=1e-9, abs=1e-9
    )


@check
@given(seeds, st.integers(60, 200), st.integers(1, 4), st.integers(20, 60))
def test_rolling_coefficients_match_statsmodels(seed: int, n: int, k: int, window: int) -> None:
    book, factors = drawn(seed, n, k)
    _, _, rolling = fitted(exposures(book, factors, window, less_risk_free=False))
    y = (book.ending - book.starting) / book.starting - book.risk_free
    theirs = RollingOLS(pd.Series(y), sm.add_constant(factors), window=window).fit()
    rows = np.arange(n - 1, window - 2, -5)[::-1]
    assert rolling.days.tolist() == days(n)[rows].tolist()
    params = np.asarray(theirs.params)[rows]
    assert rolling.intercept == pytest.approx(params[:, 0], rel=1e-9, abs=1e-11)
    assert rolling.slopes == pytest.approx(params[:, 1:], rel=1e-9, abs=1e-9)
    assert rolling.r_squared == pytest.approx(np.asarray(theirs.rsquared)[rows], abs=1e-9)


@check
@given(seeds, st.integers(60, 300), st.integers(1, 5))
def test_attribution_sums_to_the_ledgers_profit(seed: int, n: int, k: int) -> None:
    book, factors = drawn(seed, n, k)
    factors[np.random.default_rng(seed).random(n) < 0.05] = np.nan
    result = exposures(book, factors, 40, less_risk_free=True).attribution
    assert isinstance(result, Attribution)
    parts = (*result.factors, result.alpha, result.risk_free, result.residual, result.unmeasured)
    assert result.pnl == pytest.approx(book.ending[-1] - book.starting[0], abs=0)
    assert math.fsum(parts) == pytest.approx(result.pnl, abs=1e-9)


def test_the_market_itself_has_beta_one_and_no_alpha() -> None:
    market = np.random.default_rng(1).normal(0.0004, 0.01, 300)
    result = exposures(ledger(market), market[:, None], 60, less_risk_free=True)
    assert isinstance(result.fit, Regression)
    assert result.fit.slopes[0].value == pytest.approx(1.0)
    assert result.fit.intercept.value == pytest.approx(0.0, abs=1e-15)
    assert isinstance(residual_sharpe(result.fit), Unavailable)
    assert isinstance(result.attribution, Attribution)
    assert result.attribution.alpha == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("spoil", ["constant", "twice", "absent"])
def test_uninformative_factors_are_withheld(spoil: str) -> None:
    book, factors = drawn(3, 100, 2)
    factors[:, 1] = {
        "constant": np.full(100, 0.001),
        "twice": 2 * factors[:, 0],
        "absent": np.full(100, np.nan),
    }[spoil]
    result = exposures(book, factors, 50, less_risk_free=False)
    assert isinstance(result.fit, Unavailable)
    assert isinstance(result.attribution, Unavailable)
    if isinstance(result.rolling, Rolling):
        assert np.isnan(result.rolling.slopes).all()


def test_a_book_with_negative_equity_is_withheld() -> None:
    book, factors = drawn(4, 100, 1)
    book.starting[50] = -1.0
    result = exposures(book, factors, 50, less_risk_free=False)
    assert {getattr(x, "code", None) for x in (result.fit, result.attribution, result.rolling)} == {
        "nonpositive_equity"
    }


def test_a_book_without_a_risk_free_rate_is_withheld() -> None:
    book, factors = drawn(4, 100, 1)
    book.risk_free[:] = np.nan
    result = exposures(book, factors, 50, less_risk_free=False)
    assert isinstance(result.fit, Unavailable)
    assert "risk-free" in result.fit.text


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
