"""A tear sheet opens from a folder in a real browser: charts drawn, no console message, no request."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.visit import Site
from tests.support.contract_app import BARE, EMPTY, FULL, HIDDEN, PLAIN, UNDECIDED
from tests.support.prices import write_prices
from tests.support.processes import REPOSITORY, environment


@pytest.fixture(scope="module")
def folder(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a sheet of each alpha and one of several."""
    made = tmp_path_factory.mktemp("it's a folder")
    prices = str(write_prices(site.root, FULL, made / "spy.parquet"))
    sheets = {name: [name] for name in (FULL, PLAIN, UNDECIDED, EMPTY, BARE)}
    for name, alphas in {**sheets, "all": [FULL, PLAIN, HIDDEN, UNDECIDED, EMPTY, BARE]}.items():
        pdf = ["--pdf"] if name == FULL else []
        out = ["--out", f"{made}/{name}.html", *pdf]
        given = ["--datasets", str(site.root), "--market-data", prices]
        subprocess.run(
            [sys.executable, "-m", "datasets", "report", *alphas, *given, *out],
            cwd=REPOSITORY, env=environment(), check=True,
        )  # fmt: skip
    return made


def opened(context: BrowserContext, file: Path) -> tuple[Page, list[str], list[str]]:
    """Open a sheet from its folder; return the page, its console messages and its requests."""
    page, said, requested = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn]")
    return page, said, requested


def drawn(page: Page) -> list[dict[str, Any]]:
    """Return kind, size and number of colours of each chart."""
    result: list[dict[str, Any]] = page.eval_on_selector_all(
        "[data-chart]",
        """figures => figures.map(figure => {
          const canvas = figure.querySelector(".canvas canvas");
          const { width, height } = canvas;
          const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          const colours = new Set();
          for (let i = 0; i < pixels.length; i += 4) colours.add(pixels.slice(i, i + 4).join());
          return { kind: figure.dataset.chart, width, height, colours: colours.size, label: canvas.ariaLabel };
        })""",
    )
    return result


@pytest.mark.parametrize("name", [FULL, PLAIN, UNDECIDED, EMPTY, BARE, "all"])
def test_a_sheet_opens_from_a_folder_with_no_error_and_no_request(
    context: BrowserContext, folder: Path, name: str
) -> None:
    page, said, requested = opened(context, folder / f"{name}.html")
    assert said == []
    assert requested == [(folder / f"{name}.html").as_uri()]
    for chart in drawn(page):
        assert chart["colours"] > 10, chart
        assert chart["label"]


def test_every_chart_of_a_complete_run_is_drawn(context: BrowserContext, folder: Path) -> None:
    page, _, _ = opened(context, folder / f"{FULL}.html")
    kinds = [chart["kind"] for chart in drawn(page)]
    assert kinds == [
        "equity", "weeklyIc", "deciles", "termStructure", "rankAutocorrelation", "turnover", "exposures", "distribution", "bestAndWorst",
    ]  # fmt: skip
    # It lost money, so no record is long enough and its P&L has no shares; no factors were named; all else is there.
    withheld = page.locator(".withheld")
    # The track record on returns and on excess returns; the former is repeated on the second page.
    assert page.locator("[data-luck*=minimum_track_record] .withheld").count() == 2
    texts = withheld.all_inner_texts()
    assert sum("no length is enough" in text for text in texts) == 3
    assert sum("shares of it are not defined" in text for text in texts) == 4
    assert len(texts) == 3 + 4 + sum("no file of factors" in text for text in texts)
    assert page.locator("[data-conclusions] li").count() >= 4
    assert page.locator("[data-months] tbody tr").count() >= 1
    data = json.loads(page.locator("#data").text_content() or "")
    shown = page.locator('[data-figure="core.icir"] data').get_attribute("value")
    assert shown == repr(data["sheets"][0]["metrics"]["core"]["icir"]["value"])


@pytest.mark.parametrize("width", [360, 820, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_sheet_fits_narrow_and_wide_screens_in_both_schemes(
    browser: Browser, folder: Path, width: int, scheme: Any
) -> None:
    made = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, said, _ = opened(made, folder / f"{FULL}.html")
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lightness = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (lightness > 127) == (scheme == "light")
    assert all(chart["colours"] > 10 for chart in drawn(page))
    made.close()


def test_a_sheet_prints_in_light_colours_under_every_colour_scheme(browser: Browser, folder: Path) -> None:
    made = browser.new_context(color_scheme="dark")
    page, said, _ = opened(made, folder / f"{FULL}.html")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".paper canvas").count() == page.locator("[data-chart]").count()
    assert page.locator(".paper canvas").first.is_visible()
    assert not page.locator(".canvas canvas").first.is_visible()
    assert said == []
    made.close()


def test_no_table_of_correlations_is_split_between_two_printed_pages(
    context: BrowserContext, folder: Path
) -> None:
    page, _, _ = opened(context, folder / "all.html")
    page.emulate_media(media="print")
    tables = page.locator(".matrix")
    assert tables.count() == 3
    for table in tables.all():
        assert table.evaluate("table => getComputedStyle(table).breakInside") == "avoid"


def test_printed_notices_are_no_larger_than_their_heading(context: BrowserContext, folder: Path) -> None:
    page, _, _ = opened(context, folder / "all.html")
    page.emulate_media(media="print")
    size = "element => parseFloat(getComputedStyle(element).fontSize)"
    notices = page.locator(".verdict ul")
    assert notices.count() >= 1
    for notice in notices.all():
        assert notice.evaluate(size) <= page.locator(".verdict p").first.evaluate(size)


def test_the_command_prints_a_sheet_to_pdf(folder: Path) -> None:
    printed = (folder / f"{FULL}.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert printed.count(b"/Subtype /Image") >= 9, "every chart is a picture in it"
    assert len(re.findall(rb"/Type /Page\b", printed)) == 2
