"""Controls of the explorer: selections, addresses, downloads, keyboard, and what is loaded when."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visit import Visit, taken
from tests.support.contract_app import FULL, HIDDEN

SHIFTS = """
  globalThis.shifted = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) if (!one.hadRecentInput) globalThis.shifted += one.value; })
    .observe({ type: "layout-shift", buffered: true });
"""


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
