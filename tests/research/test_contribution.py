"""Contribution of an alpha to a book, compared with statsmodels and empyrical."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import empyrical
import numpy as np
import pytest
import statsmodels.api as sm

from datasets.figures.bootstrap import mean_block_length, resample
from datasets.figures.contribution import contribution
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.newey_west import bandwidth
from schemas.meta import META
from tests.research.catalogue import Curve
from tests.research.conftest import Published
from tests.support.client import ApiClient

OTHERS = ("Test_like_1", "Test_holes", "Test_like_4")


def added(api: ApiClient, token: str, alpha: str, others: Any, rest: str = "") -> dict[str, Any]:
    path = f"/v1/alphas/{alpha}/contribution?alphas={','.join(others)}{rest}"
    data: dict[str, Any] = api.json(path, token)["data"]
    return data


def within(curve: Curve, window: str) -> Curve:
    return {
        day: x
        for day, x in sorted(curve.items())
        if not window or "2021-02-10" <= day.isoformat() <= "2021-06-11"
    }


def between(curve: Curve, days: list[dt.date]) -> list[float]:
    """Return the equity gained between consecutive closes, and on the first."""
    equity, closes = 1.0, {}
    for day, change in sorted(curve.items()):
        opened, equity = equity, equity * (1 + change)
        closes[day] = equity
        if day == days[0]:
            base = opened
    return [
        closes[day] / before - 1
        for before, day in zip([base, *(closes[x] for x in days)], days, strict=False)
    ]


@pytest.mark.parametrize("window", ["", "&from=2021-02-10&to=2021-06-11"])
def test_contribution_matches_statsmodels_and_empyrical(
    api: ApiClient, token: str, market: Published, window: str
) -> None:
    result = added(api, token, "Test_like_0", OTHERS, window)
    alphas = ("Test_like_0", *OTHERS)
    days = sorted(set.intersection(*(set(market.returns[x]) for x in alphas)))
    if window:
        days = [day for day in days if "2021-02-10" <= day.isoformat() <= "2021-06-11"]
    series = [within(market.returns[x], window) for x in alphas]
    table = np.array([between(curve, days) for curve in series])
    assert result["sessions"] == {
        x: {
            "sessions": len(curve),
            "merged": sum(days[0] <= day <= days[-1] for day in curve) - len(days),
            "dropped": sum(not days[0] <= day <= days[-1] for day in curve),
        }
        for x, curve in zip(alphas, series, strict=True)
    }
    assert result["sessions"]["Test_like_0"]["merged"] > 0
    spanned = (days[-1] - days[0]).days
    assert result["sessions_per_year"] == pytest.approx((len(days) - 1) / spanned * 365.25)
    assert result["observations"] == len(days)
    assert (result["first_date"], result["last_date"]) == (days[0].isoformat(), days[-1].isoformat())
    assert result["alphas"] == list(OTHERS)
    assert result["withheld"] == {}
    for block, book in (("with", table.mean(axis=0)), ("without", table[1:].mean(axis=0))):
        assert result[block]["sharpe"] == pytest.approx(empyrical.sharpe_ratio(book), rel=1e-9)
        assert result[block]["annualised_return"] == pytest.approx(empyrical.annual_return(book), rel=1e-9)
        assert result[block]["volatility"] == pytest.approx(empyrical.annual_volatility(book), rel=1e-9)
        drawdown = -100 * empyrical.max_drawdown(book)
        assert result[block]["max_drawdown_pct"] == pytest.approx(drawdown, rel=1e-9)
    for name, value in result["marginal"].items():
        assert value == pytest.approx(result["with"][name] - result["without"][name], abs=1e-12)
    lags = bandwidth(len(days))
    theirs = sm.OLS(table[0], sm.add_constant(table[1:].T)).fit(
        cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": False}, use_t=True
    )
    fit = result["regression"]
    assert fit["lags"] == lags
    assert fit["alpha_daily"] == pytest.approx(theirs.params[0], rel=1e-9, abs=1e-14)
    assert fit["alpha_annualised"] == pytest.approx(theirs.params[0] * 252, rel=1e-9, abs=1e-12)
    assert fit["t_stat"] == pytest.approx(theirs.tvalues[0], rel=1e-8)
    assert fit["p_value"] == pytest.approx(theirs.pvalues[0], rel=1e-7)
    assert fit["r_squared"] == pytest.approx(theirs.rsquared, rel=1e-9)
    deviation = math.sqrt(theirs.ssr / theirs.df_resid)
    assert fit["residual_sharpe"] == pytest.approx(theirs.params[0] / deviation * math.sqrt(252), rel=1e-8)
    assert list(fit["betas"]) == list(OTHERS)
    for place, beta in enumerate(fit["betas"].values(), start=1):
        assert beta["beta"] == pytest.approx(theirs.params[place], rel=1e-9)
        assert beta["t_stat"] == pytest.approx(theirs.tvalues[place], rel=1e-8)
        assert beta["standard_error"] == pytest.approx(theirs.bse[place], rel=1e-9)
        assert beta["p_value"] == pytest.approx(theirs.pvalues[place], rel=1e-7)


def test_a_run_that_shortens_the_comparison_is_named(api: ApiClient, token: str, market: Published) -> None:
    path = "/v1/alphas/Test_like_0/contribution?alphas=Test_like_1,Test_late"
    answer = api.json(path, token)
    (reported,) = answer["meta"]["notices"]
    lost = len(market.returns["Test_like_0"]) - len(market.returns["Test_late"])
    assert reported["code"] == "comparison_cut"
    assert "Test_late has the fewest" in reported["message"]
    assert f"{lost} of Test_like_0, {lost} of Test_like_1" in reported["message"]
    assert set(answer["meta"]) <= {field.name for field in META["research.contribution"].fields}
    assert answer["data"]["sessions"]["Test_late"] == {
        "sessions": answer["data"]["observations"], "merged": 0, "dropped": 0,
    }  # fmt: skip
    assert "notices" not in api.json(f"{path.partition(',')[0]}", token)["meta"]


def test_a_book_with_negative_equity_is_not_combined() -> None:
    days = np.arange(30, dtype=np.int32)
    sound = DailyReturns(days, np.linspace(-0.01, 0.01, 30))
    broke = DailyReturns(days[:20], np.linspace(-0.01, 0.01, 20), days[20:])
    result = contribution("sound", sound, {"broke": broke})
    assert result["with"] == result["without"] == dict.fromkeys(result["with"])
    assert result["withheld"]["with.sharpe"].startswith(
        "broke: equity is not above 0 at the open of 10 of 30"
    )


def test_repeated_alphas_count_once_and_the_alpha_itself_is_omitted(api: ApiClient, token: str) -> None:
    once = added(api, token, "Test_like_0", OTHERS)
    assert added(api, token, "Test_like_0", ("Test_like_0", *OTHERS, OTHERS[0])) == once


@pytest.mark.parametrize(
    ("others", "withheld"),
    [
        (("Test_like_0",), "with.sharpe"),
        (("Test_nothing",), "with.sharpe"),
        (("Test_flat",), "regression"),
        (("Test_like_1", "Test_twin"), "regression"),
        (("Test_few",), "regression"),
    ],
)
def test_undetermined_figures_are_null_with_a_reason(
    api: ApiClient, token: str, others: tuple[str, ...], withheld: str
) -> None:
    result = added(api, token, "Test_like_0", others)
    assert result["withheld"][withheld]
    block, _, figure = withheld.partition(".")
    assert (result[block][figure] if figure else result[block]) is None


def test_a_run_that_holds_no_returns_is_named_in_the_reason(api: ApiClient, token: str) -> None:
    result = added(api, token, "Test_like_0", ("Test_like_1", "Test_nothing"))
    assert all("Test_nothing" in reason for reason in result["withheld"].values())
    assert result["observations"] == 0


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("/v1/alphas/{0}/contribution?alphas={1}", "portfolio.ledger"),
        ("/v1/alphas/{0}/neighbours?by=returns&among={1}", "portfolio.ledger"),
        ("/v1/correlations?by=scores&alphas={0},{1}", "signals.rebalances.get"),
        ("/v1/correlations?by=holdings&alphas={0},{1}", "portfolio.positions"),
    ],
)
def test_figures_need_access_to_the_underlying_data(api: ApiClient, path: str, needed: str) -> None:
    one, other = (row["alpha_id"] for row in api.json("/v1/alphas?limit=2", api.key())["data"])
    own = "research.neighbours,research.correlations,research.contribution"
    error = api.json(path.format(one, other), api.key(endpoints=own), 403)["error"]
    assert (error["code"], error["details"]) == ("endpoint_not_allowed", {"endpoint": needed})
    assert api.get(path.format(one, other), api.key(endpoints=f"{own},{needed}")).status_code == 200


def aligned(market: Published, alphas: tuple[str, ...]) -> Any:
    days = sorted(set.intersection(*(set(market.returns[x]) for x in alphas)))
    return np.array([between(market.returns[x], days) for x in alphas])


@pytest.mark.parametrize("weights", ["volatility", "1,2,0,1.5"])
def test_requested_weights_are_used(api: ApiClient, token: str, market: Published, weights: str) -> None:
    result = added(api, token, "Test_like_0", OTHERS, f"&weights={weights}")
    table = aligned(market, ("Test_like_0", *OTHERS))
    parts = 1 / table.std(axis=1, ddof=1) if weights == "volatility" else np.array([1, 2, 0, 1.5])
    assert list(result["weights"].values()) == pytest.approx(parts / parts.sum(), rel=1e-9)
    assert result["weighting"] == ("volatility" if weights == "volatility" else "given")
    with_it, without = parts @ table / parts.sum(), parts[1:] @ table[1:] / parts[1:].sum()
    sharpes = [empyrical.sharpe_ratio(book) for book in (with_it, without)]
    assert (result["with"]["sharpe"], result["without"]["sharpe"]) == pytest.approx(sharpes, rel=1e-9)
    band = result["marginal_sharpe"]
    assert band["estimate"] == pytest.approx(sharpes[0] - sharpes[1], rel=1e-9, abs=1e-12)
    assert band["estimate"] == pytest.approx(result["marginal"]["sharpe"], rel=1e-9, abs=1e-12)


def test_the_band_resamples_both_books_together(api: ApiClient, token: str, market: Published) -> None:
    result = added(api, token, "Test_like_0", OTHERS)
    table = aligned(market, ("Test_like_0", *OTHERS))
    with_it, without = table.mean(axis=0), table[1:].mean(axis=0)
    draw = np.random.Generator(np.random.PCG64([result["seed"], 4]))
    places = np.concatenate(list(resample(draw, with_it.size, mean_block_length(with_it))))
    gains = [empyrical.sharpe_ratio(with_it[p]) - empyrical.sharpe_ratio(without[p]) for p in places]
    band = result["marginal_sharpe"]
    assert [band["lower"], band["upper"]] == pytest.approx(np.quantile(gains, [0.025, 0.975]), rel=1e-9)
    assert band["lower"] < band["estimate"] < band["upper"]
    assert added(api, token, "Test_like_0", OTHERS) == result, "the same question has the same answer"


@pytest.mark.parametrize("weights", ["1,2", "1,0,0,0", "1,2,3,4,5"])
def test_invalid_weights_are_refused(api: ApiClient, token: str, weights: str) -> None:
    path = f"/v1/alphas/Test_like_0/contribution?alphas={','.join(OTHERS)}&weights={weights}"
    error = api.json(path, token, 400)["error"]
    assert error["details"]["parameters"] == [
        {
            "name": "weights",
            "constraint": "4 numbers: that of this alpha, then those of the others, not all 0",
        }
    ]


def test_a_constant_alpha_has_no_equal_volatility_weight(api: ApiClient, token: str) -> None:
    result = added(api, token, "Test_like_0", ("Test_flat",), "&weights=volatility")
    assert result["weights"] == {}
    assert "do not vary" in result["withheld"]["with.sharpe"]
