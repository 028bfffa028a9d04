"""A served root with the explorer, and a real browser in front of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.visit import Site, Visit, issued
from tests.support import contract_app
from tests.support.server import served
from tests.support.waiting import eventually

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("explorer")
    root = contract_app.publish(folder)
    prices = contract_app.market_data(folder)
    with served(
        root, "--explorer", variables={"ALPHA_RESULTS_MARKET_DATA": str(prices)}, log=folder / "log"
    ) as (_, base):
        made = Site(base, root, issued(root))
        # Until then, sections with comparisons show that they wait, and the browser's console logs the 503.
        eventually(lambda: "data" in made.send(f"alphas/{contract_app.FULL}/neighbours"))
        yield made


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("TEST_READERS") == "required":
            pytest.fail("TEST_READERS=required, and chromium is not on the path")
        pytest.skip("chromium is not installed here (.ci/nightly installs it)")
    with sync_playwright() as playwright:
        result = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield result
        result.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    yield made
    made.close()


@pytest.fixture
def visit(context: BrowserContext, site: Site) -> Iterator[Visit]:
    """Open a page; check at the end that it called no other host and logged no error."""
    result = Visit(context.new_page(), site)
    result.page.on(
        "console",
        lambda message: result.said.append(message.text) if message.type in {"error", "warning"} else None,
    )
    result.page.on("pageerror", lambda error: result.said.append(str(error)))
    result.page.on("request", lambda request: result.requests.append(request))  # noqa: PLW0108 - no builtin is taken
    yield result
    assert [line for line in result.said if not result.is_expected(line)] == []
    requested = {request.url for request in result.requests}
    assert all(url.startswith((f"{site.base}/", "blob:")) for url in requested), requested
    assert not any(site.key in url for url in requested)
