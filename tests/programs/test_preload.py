"""What is read into memory before anybody asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain_http, published
from tests.support.server import served, token_for
from tests.support.waiting import eventually

ALPHA = f"/v1/alphas/{published.ALPHA}"
PAGES = (f"{ALPHA}/scores?limit=7", f"{ALPHA}/portfolio?limit=3", f"{ALPHA}/equity-curve?limit=3")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return published.publish_below(tmp_path)


def lines(root: Path, event: str) -> list[dict[str, Any]]:
    log = (root.parent / "server.log").read_text().splitlines()
    return [line for line in map(json.loads, log) if line["event"] == event]


def lose(root: Path) -> None:
    for file in root.rglob("*.parquet"):
        file.unlink()


def test_what_was_read_before_is_answered_when_its_files_are_gone(root: Path) -> None:
    token = token_for(root)
    with served(root) as (_, base):
        eventually(lambda: bool(lines(root, "preloaded")))
        lose(root)
        for page in PAGES:
            found = plain_http.get(f"{base}{page}", headers={"authorization": f"Bearer {token}"})
            assert found.status_code == 200, page
            assert found.json()["data"]


def test_nothing_is_read_when_nothing_is_wanted(root: Path) -> None:
    token = token_for(root)
    with served(root, "--preload", "0") as (_, base):
        lose(root)
        found = plain_http.get(f"{base}{PAGES[0]}", headers={"authorization": f"Bearer {token}"})
        assert (found.status_code, found.json()["error"]["code"]) == (503, "upstream_unavailable")
    assert not lines(root, "preloaded")


def test_a_snapshot_that_cannot_be_read_keeps_nobody_from_starting(root: Path) -> None:
    token = token_for(root)
    lose(root)
    with served(root) as (_, base):
        eventually(lambda: bool(lines(root, "preloaded")))
        headers = {"authorization": f"Bearer {token}"}
        assert plain_http.get(f"{base}{PAGES[0]}", headers=headers).status_code == 503
        assert plain_http.get(f"{base}/v1/me", headers=headers).status_code == 200
    (result,) = lines(root, "not_preloaded")
    assert result["alpha"] == published.ALPHA
