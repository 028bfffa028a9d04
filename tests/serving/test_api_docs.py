"""The OpenAPI document and its interactive page are served outside /v1, from this host alone, unless switched off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.documents.openapi import rendered
from serve.http.api_docs import PARTS
from tests.support.application import running
from tests.support.client import ApiClient

PATHS = [part.path for part in PARTS]


@pytest.fixture
def without(root: Path, tmp_path: Path) -> Iterator[ApiClient]:
    with running(root, counts=tmp_path / "counts.sqlite3", api_docs="off") as result:
        yield result


def test_the_document_is_the_published_one_and_needs_no_key(api: ApiClient) -> None:
    answer = api.send("GET", "/openapi.json", {})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.text == rendered()
    again = api.send("GET", "/openapi.json", {"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_loads_no_resource_of_another_host_and_runs_no_script_of_its_own(api: ApiClient) -> None:
    page = api.send("GET", "/docs", {})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "http" not in page.text
    assert not re.search(r"<script(?! src=)|<style|style=|\son[a-z]+=", page.text)
    loaded = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(loaded) == 3
    for path in loaded:
        result = api.send("GET", path, {})
        assert result.status_code == 200, path
        assert result.headers["x-content-type-options"] == "nosniff"
    start = api.send("GET", "/docs/start.js", {}).text
    assert '"/openapi.json"' in start
    assert "validatorUrl: null" in start  # the library would send the document to an external validator


@pytest.mark.parametrize("path", PATHS)
def test_files_are_compressed_as_requested(api: ApiClient, path: str) -> None:
    plain = api.undecoded("GET", path, {"accept-encoding": "identity"})
    coded = api.undecoded("GET", path, {"accept-encoding": "gzip"})
    assert plain.headers["vary"] == coded.headers["vary"] == "Accept-Encoding"
    if len(plain.content) > 10_000:
        assert coded.headers["content-encoding"] == "gzip"
        assert len(coded.content) < len(plain.content) / 2
        assert coded.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize("path", PATHS)
def test_another_method_is_not_found(api: ApiClient, path: str) -> None:
    for method in ("POST", "HEAD", "OPTIONS", "DELETE"):
        answer = api.send(method, path, {})
        assert answer.status_code == 404
        assert method == "HEAD" or answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", PATHS)
def test_the_api_docs_can_be_disabled(without: ApiClient, path: str) -> None:
    answer = without.send("GET", path, {})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
