"""The explorer's page of an alpha: what it shows matches the API."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Route, expect
from scipy.stats import t

from datasets.figures.newey_west import NeweyWest, newey_west
from tests.browser.visit import UNAVAILABLE, Visit, issued, refused_sections, table_of
from tests.support.contract_app import FULL, PLAIN

CHARTS = (
    "equity", "ic", "deciles", "term-structure", "persistence", "turnover", "exposures", "daily", "names",
)  # fmt: skip


def test_every_chart_of_an_alpha_is_drawn_and_described(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    for section in CHARTS:
        canvas = page.locator(f"#{section} canvas")
        expect(canvas).to_have_count(1)
        assert len(canvas.get_attribute("aria-label") or "") > 20, section
    assert refused_sections(page) == UNAVAILABLE


def test_figures_match_the_api(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    metrics = visit.site.send(f"alphas/{FULL}/metrics?panel=1")["data"]
    for name in ("ic", "icir", "information_ratio", "excess_sharpe", "pnl", "max_drawdown_pct", "turnover"):
        shown = page.locator(f"#headlines [data-figure={name}]").get_attribute("data-value")
        assert float(shown or "nan") == metrics["core"][name]["value"], name
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"]
    drawn = table_of(page, "equity", tmp_path)
    assert [row["date"] for row in drawn] == [row["date"] for row in curve]
    assert [float(row["growth of 1 (ratio)"]) for row in drawn] == [
        1 + row["cumulative_return"] for row in curve
    ]
    weekly = table_of(page, "ic", tmp_path)
    assert [float(row["ic (correlation)"]) for row in weekly] == [
        row["ic"] for row in metrics["panel"]["ic_weekly"]
    ]
    buckets = table_of(page, "deciles", tmp_path)
    assert [float(row["mean_forward_return (ratio)"]) for row in buckets] == [
        row["mean_forward_return"] for row in metrics["ic_deciles"]["buckets"]
    ]


def test_a_window_shows_its_own_figures(visit: Visit, tmp_path: Path) -> None:
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"]
    first, last = curve[len(curve) // 4]["date"], curve[-10]["date"]
    page = visit.open(f"/alphas/{FULL}?from={first}&to={last}")
    answer = f"alphas/{FULL}/metrics?panel=1&granularity=yearly&from={first}&to={last}"
    within = visit.site.send(answer)["data"]["within_window"]
    for name in ("ic", "information_ratio", "pnl", "max_drawdown_pct", "turnover"):
        shown = page.locator(f"#headlines [data-figure={name}]").get_attribute("data-value")
        assert float(shown or "nan") == within["core"][name]["value"], name
    assert float(page.locator("#ic-test").get_attribute("data-mean") or "nan") == within["nwt"]["ic"]["mean"]
    assert [float(row["pnl"]) for row in table_of(page, "years", tmp_path)] == [
        period["core"]["pnl"]["value"] for period in within["periods"]
    ]


def test_the_rolling_interval_matches_the_newey_west_test(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}?span=13")
    rows = table_of(page, "ic", tmp_path)
    weeks = visit.site.send(f"alphas/{FULL}/metrics?panel=1")["data"]["panel"]["ic_weekly"]
    for at in range(12, len(rows)):
        test = newey_west(np.array([week["ic"] for week in weeks[at - 12 : at + 1]]))
        assert isinstance(test, NeweyWest)
        width = t.ppf(0.975, 12) * test.standard_error
        assert float(rows[at]["rolling_mean_13 (correlation)"]) == pytest.approx(test.mean, abs=1e-12)
        assert float(rows[at]["lower_95 (correlation)"]) == pytest.approx(test.mean - width, abs=1e-6)
        assert float(rows[at]["upper_95 (correlation)"]) == pytest.approx(test.mean + width, abs=1e-6)
    assert rows[11]["rolling_mean_13 (correlation)"] == ""


def test_luck_figures_match_the_api(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    data = visit.site.send(f"alphas/{FULL}/luck")["data"]
    for row in table_of(page, "luck", tmp_path):
        band = data["bands"][row["figure"]]
        if band is None:
            assert row["estimate"] == ""
        else:
            assert [float(row[name]) for name in ("lower", "estimate", "upper")] == [
                band[name] for name in ("lower", "estimate", "upper")
            ]
    ratios = (
        ("probabilistic_sharpe", "probability"),
        ("deflated_sharpe", "probability"),
        ("minimum_track_record", "years"),
    )
    data |= {f"excess.{block}": data["excess"][block] for block, _ in ratios}
    for block, member in (
        *ratios,
        *((f"excess.{block}", member) for block, member in ratios),
        ("overfitting", "probability"),
    ):
        tile = page.locator(f"#luck [data-figure='{block}.{member}']")
        value = (data[block] or {}).get(member)
        if value is None:
            withheld = data["withheld"]
            expect(tile).to_contain_text(withheld.get(f"{block}.{member}") or withheld[block])
        else:
            assert float(tile.get_attribute("data-value") or "nan") == value


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_neighbours_match_the_api(visit: Visit, by: str, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}?near={by}")
    result = visit.site.send(f"alphas/{FULL}/neighbours?by={by}&limit=10")["data"]
    value = "overlap" if by == "holdings" else "correlation"
    assert [(row["alpha_id"], float(row[value])) for row in table_of(page, "near", tmp_path)] == [
        (row["alpha_id"], row[value]) for row in result
    ]


def test_neighbours_of_an_alpha_the_key_may_not_list_are_shown(visit: Visit, tmp_path: Path) -> None:
    visit.refusals = (403,)  # of the description
    key = issued(visit.site.root, alphas=f"list:{PLAIN}")
    page = visit.open(f"/alphas/{FULL}", key)
    result = visit.site.send(f"alphas/{FULL}/neighbours?limit=10", key)["data"]
    expect(page.locator("#near .refused, #among-all")).to_have_count(0)
    assert [row["alpha_id"] for row in table_of(page, "near", tmp_path)] == [
        row["alpha_id"] for row in result
    ]


def test_a_benchmark_curve_starts_at_the_previous_close(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}?benchmark=SPY")
    rows = table_of(page, "equity", tmp_path)
    prices = {
        row["date"]: 1 + row["cumulative_return"]
        for row in visit.site.send("benchmarks/SPY/daily?limit=5000")["data"]
    }
    base = prices[max(date for date in prices if date < rows[0]["date"])]
    for row in rows:
        if row["date"] in prices:
            expected = prices[row["date"]] / base
            assert float(row["SPY growth of 1 (ratio)"]) == pytest.approx(expected, rel=1e-9)
    page.get_by_label("Benchmark", exact=True).select_option("none")
    visit.settle()
    assert "SPY growth of 1 (ratio)" not in table_of(page, "equity", tmp_path)[0]


def test_no_benchmark_is_drawn_by_default_where_it_does_not_cover_the_run(visit: Visit) -> None:
    listed = visit.site.send("benchmarks")
    for row in listed["data"]:
        row.update(first_date="1990-01-01", last_date="1990-12-31", simulated=True)
    visit.page.route("**/v1/benchmarks?*", lambda route: route.fulfill(json=listed))
    page = visit.open(f"/alphas/{FULL}")
    benchmark = page.get_by_label("Benchmark", exact=True)
    expect(benchmark).to_have_value("none")
    expect(benchmark).to_contain_text("SPY (simulated)")


def test_an_alphas_page_starts_with_its_checks(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    data = visit.site.send(f"alphas/{FULL}/audit")["data"]
    expect(page.locator("#verdict")).to_contain_text(data["summary"]["verdict"])
    above = "() => document.querySelector('#verdict').compareDocumentPosition(document.querySelector('#headlines'))"
    assert page.evaluate(above) == 4, "the headline figures follow it"
    weighty = [one for one in data["entries"] if one["status"] in ("withheld", "notice")]
    shown = page.locator("#verdict li")
    assert [row.get_attribute("data-id") for row in shown.all()] == [one["id"] for one in weighty]
    rows = table_of(page, "audit", tmp_path)
    assert [(row["kind"], row["id"], row["status"]) for row in rows] == [
        (one["kind"], one["id"], one["status"]) for one in data["entries"]
    ]


def test_headline_figures_and_signals_are_labelled(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}?book=long_only")
    expect(page.locator("#headlines-of")).to_have_text(
        "Headline figures: book long_short, the whole run. Charts and tables below: book long_only."
    )
    for section in ("deciles", "term-structure", "persistence"):
        expect(page.locator(f"#{section} .about")).to_contain_text("before smoothing")
    expect(page.locator("#headlines [data-figure=information_ratio] .label")).to_have_text("Sharpe ratio")


def test_decimals_are_aligned_and_columns_sort(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}?side=all")
    cells = page.locator("#week tbody tr")
    for column in (2, 3, 4, 5, 6):
        texts = cells.locator(f"td:nth-child({column})").all_inner_texts()
        places = {len(text.partition(".")[2]) for text in texts if text != "\N{EN DASH}"}
        assert len(places) <= 1, texts
        assert not any(text.strip("-0.") == "" and text.startswith("-") for text in texts), texts
    names = cells.locator("td:nth-child(1)")
    page.locator("#week th", has_text="Name").get_by_role("button").click()
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    page.locator("#week th", has_text="Name").get_by_role("button").click()
    assert names.all_inner_texts() == sorted(names.all_inner_texts(), reverse=True)


def test_the_sides_of_a_week_follow_the_weights_whatever_the_sign_of_the_scores(visit: Visit) -> None:
    index = visit.site.send(f"alphas/{FULL}/rebalances?limit=5000")["data"]
    week = [row["date"] for row in index if row["week_status"] == "traded"][-1]
    answer = visit.site.send(f"alphas/{FULL}/rebalances/{week}?sort=weight&min_abs_weight=0.000000001")
    for row in answer["data"]:
        row["direction"] = 1

    def with_positive_scores(route: Route) -> None:
        rows = [] if "direction=short" in route.request.url else answer["data"]
        page = {**answer["pagination"], "returned": len(rows), "total": len(rows)}
        route.fulfill(json={**answer, "data": rows, "pagination": page})

    visit.page.route(f"**/rebalances/{week}?*", with_positive_scores)
    page = visit.open(f"/alphas/{FULL}")
    for side, sign in (("long", 1), ("short", -1)):
        page.locator(f"#week [data-value={side}]").click()
        visit.settle()
        names = page.locator("#week tbody td:nth-child(1)").all_inner_texts()
        held = [x["symbol"] for x in answer["data"] if x["long_short_target_weight"] * sign > 0]
        assert names == held != []


def test_a_run_without_a_long_short_book_opens_with_its_first(visit: Visit) -> None:
    visit.refusals = (400,)
    unknown = {"code": "unknown_book", "message": "No such book.", "details": {"available": ["long_only"]}}
    visit.page.route(
        f"**/alphas/{FULL}/equity-curve?book=long_short*",
        lambda route: route.fulfill(status=400, json={"error": unknown}),
    )
    page = visit.open(f"/alphas/{FULL}")
    expect(page.get_by_label("Book", exact=True)).to_have_value("long_only")
    assert refused_sections(page) == UNAVAILABLE


def test_an_alphas_summary_is_written_in_sentences(visit: Visit) -> None:
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"]
    growth = np.exp(np.cumsum(np.random.default_rng(4).normal(0, 0.01, len(curve))))
    # These market data end before the run begins.
    prices = [
        {"date": row["date"], "cumulative_return": grown - 1}
        for row, grown in zip(curve, growth, strict=True)
    ]
    summary = {"previous_date": None, "first_return": None, "total_return_from_previous": None}
    answer = {
        "data": prices,
        "meta": {"summary": summary},
        "pagination": {"total": len(prices), "has_more": False},
    }
    visit.page.route("**/benchmarks/SPY/daily?*", lambda route: route.fulfill(json=answer))
    page = visit.begin(f"/alphas/{FULL}?benchmark=SPY")
    said = {
        row.get_attribute("data-about"): row.inner_text() for row in page.locator("#conclusions li").all()
    }
    metrics = visit.site.send(f"alphas/{FULL}/metrics?panel=1")["data"]
    test = metrics["nwt"]["ic"]
    reach = t.ppf(0.975, test["n"] - 1) * test["standard_error"]
    mean, low, high = re.findall(r"IC is (\S+) \(95% interval (\S+) to (\S+),", said["skill"])[0]
    assert float(mean) == pytest.approx(test["mean"], rel=1e-2)
    assert [float(low), float(high)] == pytest.approx(
        [test["mean"] - reach, test["mean"] + reach], rel=1e-2, abs=1e-4
    )
    assert ("does not differ" in said["skill"]) == (test["p_value"] >= 0.05)
    total = float(re.findall(r"returned (\S+)%", said["return"])[0])
    assert total == pytest.approx(100 * curve[-1]["cumulative_return"], rel=1e-2)
    delivered = visit.site.send(f"alphas/{FULL}/signal")["data"]["delivered"]
    earned = float(
        re.findall(r"By the delivered score, the top decile earned (\S+) basis points", said["deciles"])[0]
    )
    assert earned == pytest.approx(1e4 * abs(delivered["spread"]), abs=0.06)
    alike = float(re.findall(r"correlate at (-?\d\.\d\d):", said["benchmark"])[0])
    ours = np.array([row["period_return"] for row in curve])[1:]
    assert alike == pytest.approx(np.corrcoef(ours, growth[1:] / growth[:-1] - 1)[0, 1], abs=0.006)


def test_monthly_returns_compound_the_daily_ones(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"]
    growth: dict[str, float] = {}
    for row in curve:
        for span in (row["date"][:7], row["date"][:4]):
            growth[span] = growth.get(span, 1.0) * (1 + row["period_return"])
    names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    for row in table_of(page, "months", tmp_path):
        months = {f"{row['year']}-{at:02d}": row[f"{name} (ratio)"] for at, name in enumerate(names, 1)}
        for span, value in {**months, row["year"]: row["total (ratio)"]}.items():
            if span in growth:
                assert float(value) == pytest.approx(growth[span] - 1, abs=1e-12)
            else:
                assert value == ""


def test_no_two_columns_of_the_monthly_returns_have_the_same_name(visit: Visit) -> None:
    heads = visit.open(f"/alphas/{FULL}").locator("#months th").all_inner_texts()
    assert [heads[0], heads[-1]] == ["Year", "Total"]
    assert len(set(heads)) == len(heads) == 14


def test_risk_matches_the_api(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    risk = visit.site.send(f"alphas/{FULL}/risk?book=long_short")["data"]
    for name in ("annualised_return", "volatility", "sortino"):
        shown = page.locator(f"#headlines [data-figure='risk.{name}']").get_attribute("data-value")
        assert float(shown or "nan") == risk[name]
    rows = table_of(page, "drawdowns", tmp_path)
    assert [float(row["depth_pct"]) for row in rows] == [row["depth_pct"] for row in risk["drawdowns"]]


def test_legs_and_regimes_match_the_api(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    legs = visit.site.send(f"alphas/{FULL}/concentration")["data"]
    for row in table_of(page, "legs", tmp_path):
        assert {name: float(row[name]) for name in legs[row["leg"]]} == legs[row["leg"]]
    regimes = visit.site.send(f"alphas/{FULL}/regimes")["data"]
    rows = [row for row in table_of(page, "regimes", tmp_path) if row["sessions"]]
    assert [row["sharpe"] for row in rows] == [
        "" if part["sharpe"] is None else str(part["sharpe"])
        for group in regimes["groups"]
        for part in group["regimes"]
    ]
    for name, why in regimes["withheld"].items():
        if not name.startswith("breaks."):
            expect(page.locator("#regimes")).to_contain_text(why)


def test_betas_and_attribution_match_the_api(visit: Visit, tmp_path: Path) -> None:
    answer = visit.site.send(f"alphas/{FULL}/exposures?book=long_short")
    (model,) = answer["data"]["models"]
    reason = model["withheld"]["regression"]
    page = visit.open(f"/alphas/{FULL}")
    expect(page.locator("#market .unavailable")).to_contain_text(reason)
    beta = {"beta": 0.25, "standard_error": 0.1, "t_stat": 2.5, "p_value": 0.01}
    regression = {
        "alpha_daily": 0.0001, "alpha_annualised": 0.0252, "standard_error": 0.0001, "t_stat": 1.0, "p_value": 0.3,
        "betas": {"SPY": beta}, "r_squared": 0.2, "residual_sharpe": 0.5, "lags": 3,
    }  # fmt: skip
    equity = visit.site.send(f"alphas/{FULL}/equity-curve")["meta"]["summary"]["starting_equity"]
    parts = {"risk_free": 0.01, "alpha": 0.02, "residual": -0.005, "unmeasured": 0.0}
    attribution = {name: value * equity for name, value in {**parts, "pnl": 0.055}.items()}
    attribution["factors"] = {"SPY": 0.03 * equity}
    model.update(regression=regression, attribution=attribution)
    visit.page.route("**/exposures?*", lambda route: route.fulfill(json=answer))
    visit.page.goto("about:blank")
    page = visit.open(f"/alphas/{FULL}")
    (row,) = table_of(page, "market", tmp_path)
    assert (row["factor"], row["beta"], row["residual_sharpe"]) == ("SPY", "0.25", "0.5")
    expect(page.locator("#market")).to_contain_text(
        "risk-free rate 1.00, SPY 3.00, alpha 2.00, residual -0.50; in all 5.50"
    )


def test_the_joint_alpha_of_several_factors_has_its_own_row(visit: Visit, tmp_path: Path) -> None:
    answer = visit.site.send(f"alphas/{FULL}/exposures?book=long_short")
    (model,) = answer["data"]["models"]
    beta = {"beta": 0.25, "standard_error": 0.1, "t_stat": 2.5, "p_value": 0.01}
    regression = {
        "alpha_daily": 0.0001, "alpha_annualised": 0.0252, "standard_error": 0.0001, "t_stat": 1.0, "p_value": 0.3,
        "betas": {"SMB": beta, "HML": beta}, "r_squared": 0.2, "residual_sharpe": 0.5, "lags": 3,
    }  # fmt: skip
    model.update(name="factors", kind="factors", regression=regression)
    visit.page.route("**/exposures?*", lambda route: route.fulfill(json=answer))
    page = visit.open(f"/alphas/{FULL}")
    rows = table_of(page, "market", tmp_path)
    assert [(row["factor"], row["beta"], row["alpha_t_stat"]) for row in rows] == [
        ("2 factors together", "", "1"), ("SMB", "0.25", ""), ("HML", "0.25", ""),
    ]  # fmt: skip


def test_deciles_of_the_delivered_score_precede_those_of_the_unsmoothed_signal(
    visit: Visit, tmp_path: Path
) -> None:
    page = visit.open(f"/alphas/{FULL}")
    signal = visit.site.send(f"alphas/{FULL}/signal")["data"]
    rows = table_of(page, "delivered-deciles", tmp_path)
    assert [float(row["mean_forward_return (ratio)"]) for row in rows] == [
        bucket["mean_forward_return"] for bucket in signal["delivered"]["deciles"]
    ]
    delays = table_of(page, "delay", tmp_path)
    assert [row["mean_ic (correlation)"] for row in delays] == [
        "" if point["mean_ic"] is None else str(point["mean_ic"]) for point in signal["ic_by_delay"]
    ]
    above = "() => document.querySelector('#delivered-deciles').compareDocumentPosition(document.querySelector('#deciles'))"
    assert page.evaluate(above) == 4
