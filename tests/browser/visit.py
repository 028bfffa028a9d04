"""The served explorer, and a browser page whose calls and errors are recorded."""

from __future__ import annotations

import asyncio
import csv
import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, Request

from serve.auth.settings import AccessSettings
from tests.support import plain_http
from tests.support.keys import issue_key

LOADED: Final = "html[data-ready]:not(:has([aria-busy=true]))"
"""Matches when every section has its answer."""
UNFOLD: Final = "() => document.querySelectorAll('.folded .fold').forEach(fold => fold.click())"
"""Opens all collapsed sections."""
UNAVAILABLE: Final = ["rolling", "market", "rolling-beta"]
"""Sections without data: the run is shorter than a year, and the market data end before it begins."""


def read(page: Page) -> None:
    """Scroll through a page until everything is loaded, and back to its top."""
    page.wait_for_selector(LOADED, state="attached")
    at, end = 0, 1
    while at < end:
        end = page.evaluate(f"() => {{ scrollTo(0, {at}); return document.documentElement.scrollHeight; }}")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.wait_for_selector(LOADED, state="attached")
        at += 500
    page.evaluate("() => scrollTo(0, 0)")
    page.wait_for_selector(LOADED, state="attached")


def issued(root: Path, **grants: Any) -> str:
    """Issue a key with these grants, on a thread because Playwright runs the event loop here."""
    access = AccessSettings.from_environment({}, str(root))
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(issue_key(access, **grants))).result()


@dataclass(frozen=True)
class Site:
    """The explorer's address, and a key that may read everything."""

    base: str
    root: Path
    key: str

    def send(self, path: str, key: str | None = None) -> Any:
        """Request from the API what the page requests."""
        return plain_http.get(
            f"{self.base}/v1/{path}", headers={"authorization": f"Bearer {key or self.key}"}
        ).json()


@dataclass
class Visit:
    """A page and its unexpected calls and errors."""

    page: Page
    site: Site
    said: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    refusals: tuple[int, ...] = ()

    def is_expected(self, line: str) -> bool:
        """Whether a console message only reports an expected refusal of the API."""
        return any(f"the server responded with a status of {status} " in line for status in self.refusals)

    def open(self, view: str, key: str | None = None) -> Page:
        """Open a view by a link with a key, expand all sections, scroll to the end, and wait until all is loaded."""
        self.begin(view, key)
        self.page.evaluate(UNFOLD)
        self.read()
        return self.page

    def begin(self, view: str, key: str | None = None) -> Page:
        """Open a view and wait until its first screen is loaded."""
        self.page.goto(f"{self.site.base}/explorer#key={key or self.site.key}&{view}")
        self.settle()
        return self.page

    def read(self) -> None:
        """Scroll to the end and back: sections with calls of their own load when they come near the screen."""
        read(self.page)

    @property
    def calls(self) -> list[str]:
        """Paths and parameters of every call of the API so far."""
        start = f"{self.site.base}/v1/"
        return [request.url.removeprefix(start) for request in self.requests if request.url.startswith(start)]

    def settle(self) -> None:
        """Wait until every section has its answer."""
        self.page.wait_for_selector(LOADED, state="attached")


def taken(page: Page, section: str, what: str, folder: Path) -> Path:
    """Download a section's image or table into a folder."""
    with page.expect_download() as waiting:
        page.locator(f"#{section} .actions button", has_text=what).click()
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def table_of(page: Page, section: str, folder: Path) -> list[dict[str, str]]:
    """Return the rows of a section's table."""
    return list(csv.DictReader(io.StringIO(taken(page, section, "CSV", folder).read_text())))


def refused_sections(page: Page) -> list[str | None]:
    """Return the ids of the sections that show a refusal."""
    refused = page.locator(".panel", has=page.locator(".refused")).all()
    return [section.get_attribute("id") for section in refused]
