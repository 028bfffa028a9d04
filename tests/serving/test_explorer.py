"""The explorer's page is public when enabled, and contains no data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from serve.explorer import FILES, PAGE_PATH
from tests.support.application import running
from tests.support.client import ApiClient

PATHS = [file.path for file in FILES]
OWN_BYTES = 100_000
"""What the page's own code may weigh, compressed."""


@pytest.fixture(scope="module")
def on(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    counts = tmp_path_factory.mktemp("explorer") / "counts.sqlite3"
    with running(root, counts=counts, explorer=True) as result:
        yield result


@pytest.mark.parametrize("path", [*PATHS, "/"])
def test_the_explorer_is_off_by_default(api: ApiClient, path: str) -> None:
    answer = api.send("GET", path, {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_the_front_page_redirects_to_the_explorer(on: ApiClient) -> None:
    answer = on.send("GET", "/", {})
    assert (answer.status_code, answer.headers["location"]) == (307, PAGE_PATH[1:])


def test_the_pages_policy_allows_only_this_host(on: ApiClient) -> None:
    page = on.send("GET", PAGE_PATH, {})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    parts = [part.strip().partition(" ") for part in page.headers["content-security-policy"].split(";")]
    policy = {name: value for name, _, value in parts}
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert not re.search(r"<script(?! src=)|<style|style=|\son[a-z]+=|https?://", page.text)


def test_every_asset_of_the_page_exists(on: ApiClient) -> None:
    texts = {file.path: on.send("GET", file.path, {}).text for file in FILES if "chart.js" not in file.path}
    named = set(re.findall(r'(?:src|href)="(explorer/[^"]+)"', texts[PAGE_PATH]))
    for path, text in texts.items():
        if path.endswith(".js"):
            result = re.findall(r'(?:from|import)\s*\(?"\./([^"]+)"', text)
            named |= {f"explorer/{name}" for name in result}
    assert {f"/{name}" for name in named} == set(PATHS) - {PAGE_PATH}


@pytest.mark.parametrize("path", PATHS)
def test_an_unchanged_asset_is_answered_with_304(on: ApiClient, path: str) -> None:
    answer = on.send("GET", path, {})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    again = on.send("GET", path, {"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", [*PATHS, "/"])
def test_another_method_is_refused(on: ApiClient, path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert on.send(method, path, {}).json()["error"]["code"] == "method_not_allowed"


def test_the_explorers_code_is_small_and_sets_no_inner_html() -> None:
    own = {file.path: file.read() for file in FILES if not file.path.endswith("/chart.js")}
    assert sum(len(gzip.compress(body)) for body in own.values()) < OWN_BYTES
    for path, body in own.items():
        assert not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", body), path


def test_no_asset_contains_data(root: Path, on: ApiClient) -> None:
    alphas = [path.name.removeprefix("alpha_id=") for path in (root / "alphas").iterdir()]
    assert alphas
    for path in PATHS:
        text = on.send("GET", path, {}).text
        assert not any(alpha in text for alpha in alphas)
