"""The explorer's comparison of alphas."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.visit import Visit, table_of
from tests.support.contract_app import FULL, HIDDEN, PLAIN


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
