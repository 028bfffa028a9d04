"""The explorer in a real browser: pages load, selections change charts, figures match the API, refusals are shown."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from scipy.stats import t

from datasets.figures.newey_west import NeweyWest, newey_west
from tests.browser.visit import Site, Visit, issued, read
from tests.support.contract_app import EMPTY, FULL, HIDDEN, PLAIN

CHARTS = (
    "equity", "ic", "deciles", "term-structure", "persistence", "turnover", "exposures", "daily", "names",
)  # fmt: skip
UNAVAILABLE = ["rolling", "market", "rolling-beta"]
"""Sections without data: the run is shorter than a year, and the market data end before it begins."""
UNFOLD = "() => document.querySelectorAll('.folded .fold').forEach(fold => fold.click())"
SHIFTS = """
  globalThis.shifted = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) if (!one.hadRecentInput) globalThis.shifted += one.value; })
    .observe({ type: "layout-shift", buffered: true });
"""


def taken(page: Page, section: str, what: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator(f"#{section} .actions button", has_text=what).click()
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def refused_sections(page: Page) -> list[str | None]:
    return [
        section.get_attribute("id") for section in page.locator(".panel", has=page.locator(".refused")).all()
    ]


def table_of(page: Page, section: str, folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(taken(page, section, "CSV", folder).read_text())))


def test_the_catalogue_lists_what_the_key_may_read_and_searches_it(visit: Visit) -> None:
    page = visit.open("/")
    listed = page.locator("tr[data-alpha]")
    expected = [row["alpha_id"] for row in visit.site.send("alphas")["data"]]
    assert [row.get_attribute("data-alpha") for row in listed.all()] == expected
    page.get_by_label("Search").fill("hidden")
    expect(listed).to_have_count(1)
    assert page.url.endswith("#/?q=hidden")
    page.get_by_label("Search").fill("no such alpha")
    expect(page.locator("#results")).to_contain_text("No alpha matches")


def test_the_catalogue_is_sorted_and_bounded_by_figures(visit: Visit) -> None:
    page = visit.open("/")
    page.locator("[data-sort=icir]").click()
    visit.settle()
    assert "sort=-icir" in page.url
    rows = visit.site.send("screen?fields=icir&sort=-icir")["data"]
    listed = page.locator("tr[data-alpha]")
    assert [row.get_attribute("data-alpha") for row in listed.all()] == [row["alpha_id"] for row in rows]
    values = [cell.get_attribute("data-value") for cell in page.locator("td[data-figure=icir]").all()]
    assert [None if value is None else float(value) for value in values] == [
        row["figures"]["icir"] for row in rows
    ]
    stated = [row["alpha_id"] for row in rows if row["figures_checked"].get("icir") == "stated"]
    marked = page.locator("tr[data-alpha]", has=page.locator("td[data-figure=icir] small.standing"))
    assert [row.get_attribute("data-alpha") for row in marked.all()] == stated != []
    withheld = next(row for row in rows if row["figures"]["icir"] is None)
    cell = page.locator(f"tr[data-alpha={withheld['alpha_id']}] td[data-figure=icir]")
    cell.locator("summary").click()
    expect(cell).to_contain_text(withheld["withheld"]["icir"])
    page.locator(".bounds > summary").click()
    page.get_by_label("Least ICIR").fill("-1000")
    supported = [row for row in rows if row["figures_checked"].get("icir") not in {None, "stated"}]
    expect(listed).to_have_count(len(supported))
    assert "min_icir=-1000" in page.url


def test_a_key_that_may_not_read_figures_has_a_list_without_them(visit: Visit) -> None:
    key = issued(visit.site.root, endpoints="meta.me,catalog.alphas.list,catalog.alphas.get")
    page = visit.open("/", key)
    assert page.locator("tr[data-alpha]").count() == len(visit.site.send("alphas", key)["data"])
    assert page.locator("[data-sort=icir]").count() == 0
    expect(page.locator("main")).to_contain_text("performance.metrics")


def test_alphas_selected_in_the_catalogue_are_compared(visit: Visit) -> None:
    page = visit.open("/")
    for alpha in (FULL, HIDDEN):
        page.locator(f"tr[data-alpha={alpha}] input").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#curves canvas")
    assert page.url.endswith(f"#/compare?alphas={FULL},{HIDDEN}")
    visit.settle()


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


def test_a_selection_changes_chart_and_url_and_the_url_restores_it(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    before = page.locator("#equity canvas").get_attribute("aria-label")
    page.get_by_label("Book", exact=True).select_option("long_only")
    visit.settle()
    page.locator("#ic").get_by_role("button", name="13 weeks").click()
    visit.settle()
    after = page.locator("#equity canvas").get_attribute("aria-label")
    assert before != after
    assert "long_only" in (after or "")
    address = page.url
    assert "book=long_only" in address
    assert "span=13" in address
    assert "key" not in address
    page.goto("about:blank")
    page.goto(address)
    visit.settle()
    assert page.locator("#equity canvas").get_attribute("aria-label") == after
    assert "13 weeks" in (page.locator("#ic canvas").get_attribute("aria-label") or "")


def test_a_chart_is_downloaded_as_an_image(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/alphas/{FULL}")
    picture = taken(page, "equity", "PNG", tmp_path)
    assert picture.name == f"{FULL}-equity.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 5_000


def test_withheld_figures_show_their_reason(visit: Visit) -> None:
    visit.refusals = (404,)  # the run sealed no description
    page = visit.open(f"/alphas/{PLAIN}")
    metrics = visit.site.send(f"alphas/{PLAIN}/metrics?panel=1")
    withheld = {
        name: entry
        for name, entry in metrics["data"]["core"].items()
        if name != "tenure" and entry["value"] is None
    }
    for name, entry in withheld.items():
        expect(page.locator(f"#headlines [data-figure={name}]")).to_contain_text(entry["withheld_reason"])
    empty = [one for one in metrics["meta"]["warnings"] if one.get("block") == "ic_deciles"]
    reason = empty[0]["message"].removeprefix("ic_deciles is null: ")
    expect(page.locator("#deciles .refused")).to_contain_text(reason)


def test_a_missing_alpha_is_reported_once(visit: Visit) -> None:
    visit.refusals = (404,)
    page = visit.begin("/alphas/nowhere")
    expect(page.locator(".refused")).to_have_count(1)
    expect(page.locator(".refused")).to_contain_text("There is no alpha nowhere.")
    page.get_by_role("link", name="To the catalogue").click()
    expect(page.locator("tr[data-alpha]").first).to_be_visible()


def test_an_empty_catalogue_says_that_no_alpha_is_published(visit: Visit) -> None:
    nobody = {"data": [], "pagination": {"offset": 0, "total": 0}, "meta": {}}
    visit.page.route("**/v1/screen?*", lambda route: route.fulfill(json=nobody))
    page = visit.begin("/")
    expect(page.locator("#results")).to_contain_text("nothing is published yet")


def test_the_page_of_an_empty_run_says_that_its_data_are_missing(visit: Visit) -> None:
    page = visit.open(f"/alphas/{EMPTY}")
    expect(page.locator("#equity .refused")).to_be_visible()
    expect(page.locator("#week .refused")).to_be_visible()


def test_data_an_engine_did_not_seal_is_explained_without_an_error(visit: Visit) -> None:
    visit.refusals = (404,)
    missing = {
        "error": {"code": "alpha_description_not_found", "message": "No description.", "request_id": "r1"}
    }
    visit.page.route(f"**/v1/alphas/{EMPTY}", lambda route: route.fulfill(status=404, json=missing))
    page = visit.open(f"/alphas/{EMPTY}")
    expect(page.locator("#about .unavailable")).to_contain_text("the run sealed no description")
    expect(page.locator(".alpha-head")).to_contain_text("The run sealed no description")
    for section in ("ic", "deciles", "term-structure", "persistence"):
        expect(page.locator(f"#{section} .unavailable")).to_be_visible()
        expect(page.locator(f"#{section} .unavailable")).not_to_contain_text("is null")


def test_costs_at_other_levels_are_withheld_where_no_rate_is_stated(visit: Visit) -> None:
    def without_rate(route: Route) -> None:
        answer = route.fetch().json()
        for row in answer["data"]["at_multiples"]:
            row["fixed_quantities"] = {"annualised_return": None, "sharpe": None}
        route.fulfill(json=answer)

    visit.page.route("**/costs?*", without_rate)
    page = visit.open(f"/alphas/{FULL}")
    expect(page.locator("#costs")).to_contain_text("withheld, as the ledger states no rate")
    expect(page.locator("#costs th", has_text="same quantities")).to_have_count(0)


def test_two_alphas_are_compared_on_the_sessions_that_both_have(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/compare?alphas={FULL},{HIDDEN}")
    expect(page.locator("#curves canvas")).to_have_count(1)
    rows = table_of(page, "curves", tmp_path)
    curves = [visit.site.send(f"alphas/{alpha}/equity-curve?limit=5000")["data"] for alpha in (FULL, HIDDEN)]
    for alpha, curve in zip((FULL, HIDDEN), curves, strict=True):
        growth = [float(row[f"{alpha} growth of 1 (ratio)"]) for row in rows]
        assert growth == pytest.approx([row["ending_equity"] / curve[0]["starting_equity"] for row in curve])


def test_links_from_a_comparison_keep_its_book_and_window(visit: Visit) -> None:
    page = visit.open(f"/compare?alphas={FULL},{HIDDEN}&book=long_only&from=2021-10-01")
    page.get_by_role("textbox", name="To").fill("2022-02-28")
    visit.settle()
    page.locator(".tags a", has_text=FULL).click()
    page.wait_for_selector("#equity canvas")
    expect(page.get_by_label("Book", exact=True)).to_have_value("long_only")
    assert page.get_by_role("textbox", name="From").input_value() == "2021-10-01"
    assert page.get_by_role("textbox", name="To").input_value() == "2022-02-28"


def test_profits_of_different_currencies_are_compared_in_one_unit(visit: Visit) -> None:
    profit = visit.site.send(f"alphas/{FULL}/metrics")["data"]["core"]["pnl"]["value"]

    def in_dollars(route: Route) -> None:
        answer = route.fetch().json()
        answer["data"]["core"]["pnl"] |= {"value": 2e6 * profit, "unit": "base_currency_units"}
        route.fulfill(json=answer)

    def of_two_million(route: Route) -> None:
        answer = route.fetch().json()
        answer["data"][0]["equity_basis"] = 2e6
        route.fulfill(json=answer)

    visit.page.route(f"**/alphas/{FULL}/metrics*", in_dollars)
    visit.page.route(f"**/alphas/{FULL}/portfolio?*", of_two_million)
    page = visit.open(f"/compare?alphas={FULL},{HIDDEN}")
    figures = page.locator("#compared-figures")
    expect(figures.locator("th", has_text="Profit")).to_contain_text("% of initial equity")
    shown = figures.locator("tbody tr").first.locator("td").nth(5).inner_text()
    assert float(shown) == pytest.approx(100 * profit, rel=1e-2)


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_similarities_match_the_api(visit: Visit, by: str) -> None:
    page = visit.open(f"/compare?alphas={FULL},{HIDDEN}&by={by}")
    data = visit.site.send(f"correlations?alphas={FULL},{HIDDEN}&by={by}")["data"]
    cells = page.locator("#alike .heat-cell").all()
    values = [cell.get_attribute("data-value") for cell in cells]
    assert [None if value is None else float(value) for value in values] == [
        value for row in data["matrix"] for value in row
    ]


def test_contributions_match_the_api(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(f"/compare?alphas={FULL},{PLAIN}")
    rows = table_of(page, "adds", tmp_path)
    for row, other in zip(rows, (PLAIN, FULL), strict=True):
        data = visit.site.send(f"alphas/{row['alpha_id']}/contribution?alphas={other}")["data"]
        for part in ("with", "without", "marginal"):
            shown = row[f"sharpe_{part}"]
            assert (float(shown) if shown else None) == data[part]["sharpe"]


def test_withheld_contributions_show_their_reason(visit: Visit) -> None:
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"]
    since = f"from={curve[-3]['date']}"
    page = visit.open(f"/compare?alphas={FULL},{PLAIN}&{since}")
    for alpha, other in ((FULL, PLAIN), (PLAIN, FULL)):
        data = visit.site.send(f"alphas/{alpha}/contribution?alphas={other}&{since}")["data"]
        assert data["regression"] is None
        expect(page.locator("#adds li", has_text=alpha)).to_contain_text([data["withheld"]["regression"]])


def test_a_contribution_without_residuals_has_no_t_stat_and_says_so(visit: Visit) -> None:
    page = visit.open(f"/compare?alphas={FULL},{PLAIN}")  # the same returns
    expect(page.locator("#adds")).to_contain_text("No t-stat where the others explain every return")


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


def test_a_catalogue_row_shows_the_checks(visit: Visit) -> None:
    page = visit.open("/")
    for row in visit.site.send("screen?fields=ic")["data"]:
        cell = page.locator(f"tr[data-alpha={row['alpha_id']}] td.checked")
        checked = row["checked"]
        if checked is None:
            expect(cell).to_have_text("\N{EN DASH}")
        else:
            assert int(cell.get_attribute("data-notices") or -1) == checked["notices"]
            sealed = sum(checked[name] for name in ("reproduced", "stated", "contradicted"))
            expect(cell).to_contain_text(
                f"{checked['reproduced']} of {sealed}" if sealed else "no figure sealed"
            )


def test_a_forbidden_audit_is_reported_on_the_page(visit: Visit) -> None:
    others = ",".join(
        name for name in visit.site.send("me")["data"]["callable_endpoints"] if name != "performance.audit"
    )
    page = visit.open(f"/alphas/{FULL}", issued(visit.site.root, endpoints=others))
    expect(page.locator("#verdict")).to_contain_text("performance.audit")
    assert page.locator("#headlines [data-figure=icir]").count() == 1


def test_an_invalid_key_shows_the_apis_message(context: BrowserContext, site: Site) -> None:
    page = context.new_page()
    page.goto(f"{site.base}/explorer")
    page.get_by_label("Key").fill("ar_live_nosuchkey.nosuchsecret")
    page.get_by_role("button", name="Sign in").click()
    refused = site.send("me", "ar_live_nosuchkey.nosuchsecret")["error"]
    expect(page.locator(".refused")).to_contain_text(refused["code"])
    expect(page.locator(".refused")).to_contain_text(refused["message"])
    assert page.evaluate("() => sessionStorage.length") == 0


def test_a_key_without_grants_sees_the_apis_refusals(context: BrowserContext, site: Site) -> None:
    key = issued(site.root, endpoints="meta.me,catalog.alphas.list,catalog.alphas.get", runs=f"list:{PLAIN}")
    page = context.new_page()
    page.goto(f"{site.base}/explorer#key={key}&/alphas/{FULL}")
    read(page)
    page.evaluate(UNFOLD)
    for section, endpoint in {
        "equity": "portfolio.equity_curve",
        "deciles": "performance.metrics",
        "week": "signals.rebalances.list",
    }.items():
        refused = page.locator(f"#{section} .refused")
        expect(refused).to_contain_text("endpoint_not_allowed")
        expect(refused).to_contain_text(endpoint)
    expect(page.locator("h1")).not_to_have_text(FULL)  # the key may read the description


def test_a_forbidden_run_is_requested_only_once(visit: Visit) -> None:
    visit.refusals = (403,)
    page = visit.open(f"/alphas/{FULL}", issued(visit.site.root, runs=f"list:{PLAIN}"))
    expect(page.locator("#banner")).to_contain_text(
        "run_not_allowed This key may not read that alpha's data."
    )
    expect(page.locator("#banner button")).to_have_count(0)  # a retry does not help
    assert page.locator(".refused").count() == 0
    expect(page.locator("#equity")).to_contain_text("Not loaded: run_not_allowed")
    assert len([call for call in visit.calls if call.startswith(f"alphas/{FULL}/")]) <= 6, visit.calls


def test_a_refused_parameter_is_named_with_its_rule(visit: Visit) -> None:
    visit.refusals = (400,)
    page = visit.begin(f"/alphas/{FULL}?from=2022-06-31")
    (broken,) = visit.site.send(f"alphas/{FULL}/equity-curve?from=2022-06-31")["error"]["details"][
        "parameters"
    ]
    expect(page.locator("#equity .refused")).to_contain_text(f"from ({broken['constraint']})")


def test_a_book_that_the_run_lacks_is_refused_with_those_it_has(visit: Visit) -> None:
    visit.refusals = (400, 404)
    page = visit.begin(f"/alphas/{FULL}?book=nothing")
    error = visit.site.send(f"alphas/{FULL}/equity-curve?book=nothing")["error"]
    expect(page.locator("#equity .refused")).to_contain_text(f"({', '.join(error['details']['available'])})")


def test_a_long_limit_shows_when_calls_work_again(visit: Visit) -> None:
    visit.refusals = (429,)
    limited = {
        "error": {"code": "rate_limit_day", "message": "The key's limit is used up.", "request_id": "r1"}
    }
    visit.page.route(
        f"**/alphas/{FULL}/metrics?*",
        lambda route: route.fulfill(status=429, json=limited, headers={"retry-after": "86000"}),
    )
    page = visit.begin(f"/alphas/{FULL}")
    expect(page.locator("#banner")).to_contain_text(
        re.compile(r"Calls work again from \d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d")
    )


@pytest.mark.parametrize(
    "view", [f"/alphas/{FULL}", f"/alphas/{FULL}?from=2021-01-08", f"/compare?alphas={FULL},{HIDDEN}"]
)
def test_dates_in_messages_are_formatted(visit: Visit, view: str) -> None:
    warned = {
        "code": "comparison_cut", "message": "Sessions from 2021-03-04 to 2021-05-31, seen at 2022-01-02T03:04:05.6Z."
    }  # fmt: skip

    def warn(route: Route) -> None:
        answer = route.fetch().json()
        answer["meta"]["warnings"] = [warned]
        route.fulfill(json=answer)

    visit.page.route("**/metrics?*", warn)
    visit.page.route("**/contribution?*", warn)
    page = visit.open(view)
    assert "4 Mar 2021 to 31 May 2021, seen at 2 Jan 2022, 03:04 UTC" in page.inner_text("main")
    assert re.findall(r"\d{4}-\d\d-\d\d", page.inner_text("main")) == []


def test_the_weekly_ic_fills_its_chart_on_a_small_screen(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(f"/alphas/{FULL}")
    left, right, first, last = page.evaluate("""() => {
      const chart = Chart.getChart(document.querySelector('#ic canvas'));
      const bars = chart.getDatasetMeta(chart.data.datasets.findIndex(one => one.type === 'bar')).data;
      return [chart.chartArea.left, chart.chartArea.right, bars[0].x, bars.at(-1).x];
    }""")
    assert (first - left) + (right - last) < 0.1 * (right - left)


def test_the_key_stays_in_the_tab_until_sign_out(visit: Visit, context: BrowserContext) -> None:
    page = visit.open("/")
    assert visit.site.key not in page.url
    assert page.evaluate("() => Object.keys(localStorage).length") == 0
    assert context.cookies() == []
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("() => sessionStorage.length") == 0
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_theme_follows_the_system_and_the_switch(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(light) => ({ground})() !== light", arg=light)  # from the next frame on
    page.get_by_role("button", name="Switch to the light theme").click()
    assert page.evaluate(ground) == light
    page.reload()
    visit.settle()
    assert page.evaluate(ground) == light


@pytest.mark.parametrize("width", [360, 820, 1400])
def test_no_element_is_wider_than_the_screen(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    for view in ("/", f"/alphas/{FULL}", f"/compare?alphas={FULL},{HIDDEN}"):
        page = visit.open(view)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), view


def test_the_catalogue_fits_a_laptop_beside_stated_and_withheld_figures(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    page = visit.open("/")
    assert page.locator("#results .standing").count()
    assert page.locator("#results .withheld").count()
    assert page.evaluate(
        "(() => { const list = document.querySelector('#results .scroll'); return list.scrollWidth <= list.clientWidth; })()"
    )


def test_every_control_is_reachable_by_keyboard(visit: Visit) -> None:
    page = visit.open("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("() => document.activeElement.textContent || document.activeElement.type"))
    assert {"Sign out", "search", "checkbox"} <= seen
    focused = page.locator("tr[data-alpha] a").first
    focused.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#headlines")
    assert "/alphas/" in page.url


def test_sorting_and_picking_by_keyboard_keep_the_focus(visit: Visit) -> None:
    page = visit.open("/")
    head = page.locator("[data-sort=icir]")
    for direction in ("descending", "ascending"):
        head.press("Enter")
        expect(page.locator("th", has=head)).to_have_attribute("aria-sort", direction)
        expect(head).to_be_focused()
    box = page.locator("tr[data-alpha] input").first
    box.press("Space")
    page.get_by_role("button", name="Clear").press("Enter")
    expect(box).not_to_be_checked()
    expect(box).to_be_focused()


def test_another_view_has_the_focus_at_its_top(visit: Visit) -> None:
    page = visit.open("/")
    page.locator("tr[data-alpha] a").first.press("Enter")
    page.wait_for_selector("#headlines")
    expect(page.locator("#main")).to_be_focused()


def test_a_section_is_entered_from_the_bar_by_keyboard(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    page.get_by_role("navigation", name="Sections").get_by_role("button", name="Week").press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#week .fold")).to_be_focused()


def test_weeks_are_turned_by_keyboard(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    weeks, before = page.locator("#week select"), page.get_by_role("button", name="The week before")
    for _ in range(2):
        shown = weeks.input_value()
        before.press("Enter")
        expect(weeks).not_to_have_value(shown)
        expect(before).to_be_focused()


def test_a_day_that_is_typed_is_requested_once(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}")
    before = len(visit.calls)
    page.get_by_role("textbox", name="From").focus()
    page.keyboard.type("01032022", delay=20)
    visit.read()
    days = {day for call in visit.calls[before:] for day in re.findall(r"[?&]from=([^&]*)", call)}
    assert days == {"2022-01-03"}


def test_if_the_scores_test_is_withheld_the_unsmoothed_signals_is_shown_with_the_reason(
    visit: Visit,
) -> None:
    answer = visit.site.send(f"alphas/{FULL}/metrics?panel=1&granularity=yearly")
    reason = "the run sealed no mean IC to compare the rebuilt one with"
    answer["data"]["nwt"]["ic"] = None
    answer["meta"]["warnings"] = [
        {"code": "ic_reproduction_mismatch", "block": "nwt.ic", "message": reason},
    ]
    visit.page.route("**/metrics?*", lambda route: route.fulfill(json=answer))
    page = visit.open(f"/alphas/{FULL}")
    tile = page.locator("#headlines [data-figure='nwt.ic_score_panel.t_stat']")
    assert tile.get_attribute("data-value") == repr(answer["data"]["nwt"]["ic_score_panel"]["t_stat"])
    expect(tile).to_contain_text("signal before smoothing")
    expect(tile).to_contain_text(reason)
    expect(page.locator("#headlines")).not_to_contain_text("mismatch")


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


def test_an_unavailable_service_is_reported_once_and_retried_on_request(visit: Visit) -> None:
    visit.refusals = (503,)
    away = {"error": {"code": "not_ready", "message": "The service is starting.", "request_id": "r1"}}
    visit.page.route(f"**/alphas/{FULL}/*", lambda route: route.fulfill(status=503, json=away))
    page = visit.open(f"/alphas/{FULL}")
    expect(page.locator("#banner")).to_contain_text("The service is starting.")
    assert page.locator(".refused").count() == 0
    expect(page.locator("#verdict")).not_to_have_class(re.compile("clean|noticed"))
    page.unroute(f"**/alphas/{FULL}/*")
    page.locator("#banner").get_by_role("button", name="Try again").click()
    expect(page.locator("#equity canvas")).to_have_count(1)
    visit.settle()
    expect(page.locator("#banner")).to_be_hidden()


def test_no_benchmark_is_drawn_by_default_where_it_does_not_cover_the_run(visit: Visit) -> None:
    listed = visit.site.send("benchmarks")
    for row in listed["data"]:
        row.update(first_date="1990-01-01", last_date="1990-12-31", simulated=True)
    visit.page.route("**/v1/benchmarks?*", lambda route: route.fulfill(json=listed))
    page = visit.open(f"/alphas/{FULL}")
    benchmark = page.get_by_label("Benchmark", exact=True)
    expect(benchmark).to_have_value("none")
    expect(benchmark).to_contain_text("SPY (simulated)")


def test_a_page_without_charts_loads_no_chart_library(visit: Visit) -> None:
    visit.open("/")
    assert not any(request.url.endswith("/chart.js") for request in visit.requests)


def test_the_first_screen_makes_few_calls_and_repeats_none(visit: Visit) -> None:
    page = visit.begin(f"/alphas/{FULL}")
    assert len(visit.calls) <= 10, visit.calls
    visit.read()
    assert len(visit.calls) <= 12, visit.calls
    assert len(set(visit.calls)) == len(visit.calls)
    before = len(visit.calls)
    page.locator("#brand").click()
    page.wait_for_selector("tr[data-alpha]")
    page.locator(f"tr[data-alpha={FULL}] a").click()
    page.wait_for_selector("#headlines")
    visit.read()
    assert [call for call in visit.calls[before:] if call.startswith("alphas/")] == []


@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("view", ["/", f"/alphas/{FULL}", f"/compare?alphas={FULL},{HIDDEN}"])
def test_the_layout_does_not_shift_while_loading(visit: Visit, view: str, width: int) -> None:
    """Cumulative layout shift below 0.1, the bound of Web Vitals."""
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.add_init_script(SHIFTS)
    page = visit.open(view)
    assert page.evaluate("() => globalThis.shifted") < 0.1


def test_at_the_rate_limit_the_page_shows_the_wait_and_continues(visit: Visit) -> None:
    visit.refusals = (429,)
    limited = {"error": {"code": "rate_limited", "message": "Too many calls.", "request_id": "r1"}}
    refused: list[str] = []

    def once(route: Route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(route.request.url)
            route.fulfill(status=429, json=limited, headers={"retry-after": "2"})

    visit.page.route(f"**/alphas/{FULL}/metrics?*", once)
    visit.page.goto(f"{visit.site.base}/explorer#key={visit.site.key}&/alphas/{FULL}")
    expect(visit.page.locator("#banner")).to_contain_text("going on in")
    expect(visit.page.locator("#headlines [data-figure=icir]")).to_have_count(1)
    visit.read()
    expect(visit.page.locator("#banner")).to_be_hidden()
    assert refused_sections(visit.page) == UNAVAILABLE


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
    mean, low, high = re.findall(r"IC is (\S+) \(95 % interval (\S+) to (\S+),", said["skill"])[0]
    assert float(mean) == pytest.approx(test["mean"], rel=1e-2)
    assert [float(low), float(high)] == pytest.approx(
        [test["mean"] - reach, test["mean"] + reach], rel=1e-2, abs=1e-4
    )
    assert ("does not differ" in said["skill"]) == (test["p_value"] >= 0.05)
    total = float(re.findall(r"returned (\S+) %", said["return"])[0])
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


def test_the_number_of_discoveries_matches_the_api(visit: Visit) -> None:
    data = visit.site.send("luck")["data"]
    (counts,) = [row for row in data["discoveries"] if row["level"] == 0.05]
    page = visit.open("/")
    expect(page.locator("#catalogue-luck")).to_contain_text(
        f"{counts['benjamini_hochberg']} of {data['tested']} alphas (Benjamini-Hochberg)"
    )


def test_a_collapsed_section_loads_when_opened_and_the_url_keeps_it_open(visit: Visit) -> None:
    page = visit.begin(f"/alphas/{FULL}")
    visit.read()
    assert not any("/rebalances" in call for call in visit.calls)
    expect(page.locator("#week .body")).to_be_hidden()
    page.get_by_role("button", name="Week", exact=True).click()
    expect(page.locator("#week tbody tr").first).to_be_visible()
    assert page.url.endswith("open=week")
    page.reload()
    visit.read()
    expect(page.locator("#week tbody tr").first).to_be_visible()


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


def test_withheld_deciles_of_the_delivered_score_show_their_reason_in_every_window(visit: Visit) -> None:
    answer = visit.site.send(f"alphas/{FULL}/signal")
    reason = "weeks with a return in each decile: 0; the figure needs at least 1"
    answer["data"]["delivered"] |= {"deciles": None, "weeks": 0, "spread": None, "spread_t_stat": None}
    answer["data"]["withheld"] |= {"delivered.deciles": reason, "delivered.spread": reason}
    visit.page.route("**/signal", lambda route: route.fulfill(json=answer))
    last = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"][-1]["date"]
    page = visit.open(f"/alphas/{FULL}?to={last}")
    expect(page.locator("#delivered-deciles .unavailable")).to_have_text(f"Not available: {reason}")


def test_a_book_with_a_session_without_a_return_is_not_called_neutral(visit: Visit) -> None:
    curve = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")
    prices = [
        {"date": row["date"], "cumulative_return": 0.01 * (at % 3)} for at, row in enumerate(curve["data"])
    ]
    answer = {
        "data": prices,
        "meta": {
            "summary": {"previous_date": None, "first_return": None, "total_return_from_previous": None}
        },
        "pagination": {"total": len(prices), "has_more": False},
    }
    visit.page.route("**/benchmarks/SPY/daily?*", lambda route: route.fulfill(json=answer))
    visit.page.route("**/equity-curve?*", lambda route: route.fulfill(json=curve))
    page = visit.begin(f"/alphas/{FULL}?benchmark=SPY")
    expect(page.locator("#conclusions [data-about=benchmark]")).to_contain_text("neutral to it")
    curve["data"][-1] |= {"period_return": None, "cumulative_return": None}
    page.reload()
    expect(page.locator("#conclusions [data-about=skill]")).to_be_visible()
    expect(page.locator("#conclusions [data-about=benchmark]")).to_have_count(0)


def test_a_withheld_rank_correlation_of_deciles_shows_its_reason(visit: Visit) -> None:
    metrics = visit.site.send(f"alphas/{FULL}/metrics?panel=1&granularity=yearly")
    deciles = metrics["data"]["ic_deciles"]
    deciles["buckets"] = [bucket | {"mean_forward_return": 0.001} for bucket in deciles["buckets"]]
    deciles["monotonicity"] = {"spearman_bucket_vs_mean_forward_return": None, "top_minus_bottom": 0.0}
    signal = visit.site.send(f"alphas/{FULL}/signal")
    signal["data"]["delivered"] = None
    signal["data"]["withheld"]["delivered"] = "no deciles"
    visit.page.route("**/metrics?*", lambda route: route.fulfill(json=metrics))
    visit.page.route("**/signal", lambda route: route.fulfill(json=signal))
    page = visit.open(f"/alphas/{FULL}")
    reason = "withheld: all deciles have the same mean return."
    expect(page.locator("#conclusions [data-about=deciles]")).to_contain_text(reason)
    expect(page.locator("#deciles .extras")).to_contain_text(reason)


def test_figures_of_a_short_run_show_why_they_are_withheld(visit: Visit) -> None:
    few = "weeks with a return in each decile: 9; the figure needs at least"
    signal = visit.site.send(f"alphas/{FULL}/signal")
    signal["data"]["delivered"]["spread_t_stat"] = None
    signal["data"]["delivered"]["monotonicity"]["p_value"] = None
    signal["data"]["short_side"]["mean_ic"] = signal["data"]["ic_by_delay"][8]["mean_ic"] = None
    signal["data"]["withheld"] |= {
        "delivered.spread_t_stat": f"{few} 10",
        "delivered.monotonicity.p_value": f"{few} 20",
        "short_side.mean_ic": "weekly ICs of the side: 0; the figure needs at least 1",
    }
    legs = visit.site.send(f"alphas/{FULL}/concentration")
    legs["data"]["short"]["sharpe"] = None
    legs["data"]["withheld"]["short.sharpe"] = "daily returns of the leg do not vary"
    visit.page.route("**/signal", lambda route: route.fulfill(json=signal))
    visit.page.route("**/concentration?*", lambda route: route.fulfill(json=legs))
    page = visit.open(f"/alphas/{FULL}")
    expect(page.locator("#conclusions [data-about=deciles]")).to_contain_text(f"HAC t withheld: {few} 10")
    expect(page.locator("#delivered-deciles")).to_contain_text(f"Test of monotonicity: withheld, {few} 20.")
    expect(page.locator("#delay")).to_contain_text(
        "IC of the short side: withheld, weekly ICs of the side: 0"
    )
    expect(page.locator("#delay")).to_contain_text("No value at 8 weeks")
    expect(page.locator("#legs")).to_contain_text("Sharpe ratio of the short leg: withheld, daily returns")


def test_a_short_window_shows_which_horizons_have_no_value(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}?from=2022-01-03&to=2022-01-14")
    expect(page.locator("#term-structure")).to_contain_text("No value at 2, 4, 8 weeks")
    expect(page.locator("#persistence")).to_contain_text("No value at 1, 2, 3, 4, 5, 6, 7, 8 weeks")
    expect(page.locator("#week")).to_contain_text("No forward return: ")
    expect(page.locator("#deciles")).to_contain_text("1 week; top less bottom")


def test_neighbours_are_compared_in_the_same_book_and_window(visit: Visit) -> None:
    page = visit.open(f"/alphas/{FULL}?book=long_only&from=2021-10-01&to=2022-02-28")
    page.locator("#near a", has_text="Compare with").click()
    page.wait_for_selector("#curves canvas")
    expect(page.get_by_label("Book", exact=True)).to_have_value("long_only")
    assert page.get_by_role("textbox", name="From").input_value() == "2021-10-01"
    assert page.get_by_role("textbox", name="To").input_value() == "2022-02-28"
    compared = [call for call in visit.calls if call.startswith("correlations?")]
    assert all("book=long_only&from=2021-10-01&to=2022-02-28" in call for call in compared)
    assert compared


def test_presets_and_dragging_on_the_chart_select_the_window(visit: Visit) -> None:
    page = visit.begin(f"/alphas/{FULL}")
    last = visit.site.send(f"alphas/{FULL}/equity-curve?limit=5000")["data"][-1]["date"]
    page.get_by_role("button", name="YTD").click()
    visit.settle()
    assert f"from={last[:4]}-01-01" in page.url
    assert page.get_by_label("From", exact=True).input_value() == f"{last[:4]}-01-01"
    expect(page.locator("#headlines-of")).to_contain_text(f"1 Jan {last[:4]} to the last")
    page.get_by_role("button", name="All", exact=True).click()
    visit.settle()
    assert "from=" not in page.url
    page.locator("#equity canvas").scroll_into_view_if_needed()
    box = page.locator("#equity canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 120, steps=4)
    page.mouse.up()
    visit.settle()
    assert re.search(r"from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d", page.url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_controls_meet_wcag_contrast(visit: Visit, scheme: Literal["light", "dark"]) -> None:
    """4.5:1 for text, 3:1 for the edge of a control."""
    visit.page.emulate_media(color_scheme=scheme)
    page = visit.begin(f"/alphas/{FULL}")
    styles = """([selector, property]) => getComputedStyle(document.querySelector(selector))[property]"""

    def colour(selector: str, name: str) -> list[float]:
        return [float(part) for part in re.findall(r"[\d.]+", page.evaluate(styles, [selector, name]))[:3]]

    card = colour(".tile", "backgroundColor")
    ground = colour("body", "backgroundColor")
    assert contrast(colour(".standing-reproduced", "color"), card) >= 4.5
    assert contrast(colour(".tile .fine", "color"), card) >= 4.5
    assert contrast(colour(".section-bar .link", "color"), ground) >= 4.5
    for control in (".toolbar select", ".toolbar input", ".toolbar button", ".section-bar .segments"):
        assert contrast(colour(control, "borderTopColor"), ground) >= 3, control


def contrast(one: list[float], other: list[float]) -> float:
    def luminance(colour: list[float]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_on_a_phone_the_alpha_selector_covers_no_text(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open("/")
    widths = page.locator(".catalogue tbody td:first-child").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().width)"
    )
    assert widths
    assert max(widths) < 32, "the room that is left of the text"


def test_on_a_phone_the_figures_of_the_catalogue_keep_their_units(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    rows = visit.open("/").locator(f"tr[data-alpha={FULL}]").aria_snapshot()
    for title in ("ICIR, annualised", "Sharpe ratio, annualised", "Max drawdown, %", "Turnover, per year"):
        assert re.search(rf'cell "{title} -?\d', rows), rows


def test_on_a_phone_a_figure_and_its_standing_stay_within_their_row(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open("/")
    right = "all => all.map(one => one.getBoundingClientRect().right)"
    standings = page.locator(".catalogue .standing").evaluate_all(right)
    assert standings
    assert max(standings) <= min(page.locator("tr[data-alpha]").evaluate_all(right)) - 12, "the padding"


def test_a_run_without_a_ledger_is_not_said_to_lack_it_in_this_window(visit: Visit) -> None:
    said = visit.open(f"/alphas/{EMPTY}").locator("#equity").inner_text()
    assert "Not available: the run holds no data of this." in said


def test_on_a_phone_the_first_column_stays_while_a_table_is_scrolled(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(f"/alphas/{FULL}")
    table = page.locator("#months .scroll")
    assert table.evaluate("box => { box.scrollLeft = 1000; return box.scrollLeft; }") > 100
    box, year = table.bounding_box(), table.locator("tbody td").first.bounding_box()
    assert box is not None
    assert year is not None
    assert year["x"] == pytest.approx(box["x"], abs=2)
