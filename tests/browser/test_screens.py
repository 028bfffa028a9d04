"""The explorer on screens of different sizes and in both themes."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from tests.browser.visit import Visit
from tests.support.contract_app import FULL, HIDDEN


def test_the_weekly_ic_fills_its_chart_on_a_small_screen(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(f"/alphas/{FULL}")
    left, right, first, last = page.evaluate("""() => {
      const chart = Chart.getChart(document.querySelector('#ic canvas'));
      const bars = chart.getDatasetMeta(chart.data.datasets.findIndex(one => one.type === 'bar')).data;
      return [chart.chartArea.left, chart.chartArea.right, bars[0].x, bars.at(-1).x];
    }""")
    assert (first - left) + (right - last) < 0.1 * (right - left)


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


def test_on_a_phone_the_first_column_stays_while_a_table_is_scrolled(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = visit.open(f"/alphas/{FULL}")
    table = page.locator("#months .scroll")
    assert table.evaluate("box => { box.scrollLeft = 1000; return box.scrollLeft; }") > 100
    box, year = table.bounding_box(), table.locator("tbody td").first.bounding_box()
    assert box is not None
    assert year is not None
    assert year["x"] == pytest.approx(box["x"], abs=2)
