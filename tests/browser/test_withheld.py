"""The explorer gives the reason for each figure, section or test that is missing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.visit import Visit
from tests.support.contract_app import EMPTY, FULL, HIDDEN, PLAIN


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


def test_a_run_without_a_ledger_is_not_said_to_lack_it_in_this_window(visit: Visit) -> None:
    said = visit.open(f"/alphas/{EMPTY}").locator("#equity").inner_text()
    assert "Not available: the run holds no data of this." in said


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
