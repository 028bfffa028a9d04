"""Keys, refusals and limits in the explorer."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Route, expect

from tests.browser.visit import UNAVAILABLE, UNFOLD, Site, Visit, issued, read, refused_sections
from tests.support.contract_app import FULL, PLAIN


def test_a_missing_alpha_is_reported_once(visit: Visit) -> None:
    visit.refusals = (404,)
    page = visit.begin("/alphas/nowhere")
    expect(page.locator(".refused")).to_have_count(1)
    expect(page.locator(".refused")).to_contain_text("There is no alpha nowhere.")
    page.get_by_role("link", name="To the catalogue").click()
    expect(page.locator("tr[data-alpha]").first).to_be_visible()


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
