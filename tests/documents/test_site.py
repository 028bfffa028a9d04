"""The site: built without warnings, every page in its navigation, no external resources."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.documents.pages import all_pages, blocks
from tests.support.processes import REPOSITORY

FETCHING = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
"""Elements for which a browser fetches a resource -> the attribute with its address."""
NOT_FETCHED = {"canonical", "next", "prev", "alternate"}
"""Relations of a `link` that browsers do not fetch."""


class Page(HTMLParser):
    """A page's links, resources and anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if FETCHING.get(tag, "") in values and values.get("rel") not in NOT_FETCHED:
            self.fetched.append(values[FETCHING[tag]])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "docs/site/build.py", str(out)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_in_the_site_and_reachable_from_its_start(site: Path, pages: dict[Path, Page]) -> None:
    reached, todo = set(), [site / "index.html"]
    while todo:
        at = todo.pop()
        if at in reached or at not in pages:
            continue
        reached.add(at)
        links = (urldefrag(link)[0] for link in pages[at].links if ":" not in link)
        todo += [(at.parent / unquote(link)).resolve() for link in links if link]
    assert {path for path in pages if path.name != "404.html"} == reached
    expected = sum(page != "README.md" for page in all_pages())  # the README is the start of a repository
    assert len(reached) >= expected


def test_every_internal_link_leads_to_a_page_and_anchor(pages: dict[Path, Page]) -> None:
    broken = []
    for at, page in pages.items():
        if at.name == "404.html":  # its links begin at the root of wherever the site is
            continue
        for link in page.links:
            address, anchor = urldefrag(link)
            if ":" in link:
                continue
            target = (at.parent / unquote(address)).resolve() if address else at
            known = pages.get(target)
            if not target.exists() or (anchor and known and unquote(anchor) not in known.anchors):
                broken.append((at.name, link))
    assert not broken


def test_no_resource_is_fetched_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    elsewhere = [
        (at.name, address)
        for at, page in pages.items()
        for address in page.fetched
        if re.match(r"(?:[a-z]+:)?//", address)
    ]
    assert not elsewhere
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")), (
            sheet.name
        )


def test_steps_with_commands_between_them_keep_their_numbers(site: Path) -> None:
    # The renderer continues a step only in lines that are indented by four spaces, otherwise each number begins a list of its own.
    section = (site / "operations.html").read_text().partition('id="first-deployment-in-order"')[2]
    steps = section.partition("<ol>")[2].partition("</ol>")[0]
    assert len(re.findall("<li>", steps)) == 7


def test_diagrams_are_rendered_at_build_time(pages: dict[Path, Page]) -> None:
    drawn = [
        at.parent / address
        for at, page in pages.items()
        for address in page.fetched
        if "images/diagram-" in address
    ]
    written = sum(block.language == "mermaid" for name in all_pages() for block in blocks(name))
    assert len(drawn) == written > 3
    for picture in drawn:
        assert picture.is_file()
        assert picture.read_text("utf-8").startswith("<svg")
    for at in pages:
        assert 'class="mermaid"' not in at.read_text("utf-8"), (
            "the theme would fetch what draws it from elsewhere"
        )


def test_a_dead_link_fails_the_build() -> None:
    code = (
        "import sys; sys.path.insert(0, 'docs/site'); import build;"
        "build.relink('[a](nowhere.md)', 'docs/index.md', 'index.md', build.pages())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert "docs/index.md links to nowhere.md, which is not in the repository" in done.stderr
