"""Answers about a run name their snapshot, and calls may pin one while it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasets.publication.retention import Policy, collect
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.parameters import SNAPSHOT
from serve.endpoints import snapshots
from serve.pages.compare import compare
from tests.contract.cases import CASES, arguments_of, every
from tests.support import contract_app
from tests.support.contract_app import FULL, HIDDEN, NOWHERE, PLAIN, UNDECIDED, ContractApp, Keys
from tests.support.seals import make_seal
from tests.support.waiting import eventually

PINNED = tuple(e for e in ENDPOINTS.values() if SNAPSHOT in e.parameters)
SERVED = tuple(e for e in PINNED if e.id != "catalog.alphas.source.download")
"""Those that answer here: this deployment signs no address."""
NO_SNAPSHOTS = ("0" * 20, "current", "0" * 19, "A" * 20, "../manifest", "é", "0" * 400)


@dataclass(frozen=True)
class Moved:
    """A run published twice, and the answers from its first snapshot."""

    api: ContractApp
    first: str
    before: dict[str, httpx.Response]


def send(api: ContractApp, endpoint: Endpoint, *, key: str | None = None, **query: str) -> httpx.Response:
    arguments = arguments_of(api, endpoint)
    return api.get(
        endpoint, {**CASES[endpoint.id].query, **query}, **{**arguments, "key": key or arguments["key"]}
    )


def listed(api: ContractApp) -> str:
    return next(str(row["snapshot"]) for row in api.rows("research.screen") if row["alpha_id"] == FULL)


@pytest.fixture(scope="module")
def moved(
    tmp_path_factory: pytest.TempPathFactory, prices: Path, keys: Keys, folder: Path
) -> Iterator[Moved]:
    place = tmp_path_factory.mktemp("moved")
    root = place / "published"
    build_seal(str(make_seal(place / "one", alpha_id=FULL)), root)
    # the alphas that it is compared with, which do not change
    for number, other in enumerate((PLAIN, UNDECIDED)):
        build_seal(str(make_seal(place / other, alpha_id=other, seed=number + 3)), root)
    program = replace(contract_app.settings(root, prices), refresh_seconds=0.1)
    with contract_app.opened(program, contract_app.access_settings(folder, "limits-moved"), keys) as api:
        first = listed(api)
        before = {e.id: send(api, e) for e in SERVED}
        before |= {f"{e.id} pinned": send(api, e, snapshot=first) for e in SERVED}
        again = make_seal(place / "two", alpha_id=FULL, seed=2, sealed_at="2026-01-06T07:30:00Z")
        build_seal(str(again), root)
        eventually(lambda: listed(api) != first)
        yield Moved(api, first, before)


def shown(response: httpx.Response) -> Any:
    """Return an answer without its request id and counts."""
    body = response.json()
    for name in ("request_id", "generated_at"):
        body["meta"].pop(name, None)
    if "expires_at" in body["data"]:  # part of an address signed for this call
        del body["data"]["url"], body["data"]["expires_at"]
    return body


def test_every_endpoint_of_a_run_takes_a_snapshot() -> None:
    about_all = {"research.snapshots.list", "research.snapshots.compare"}
    assert {e.id for e in ENDPOINTS.values() if "{alpha}" in e.path} - about_all == {e.id for e in PINNED}


@every(SERVED)
def test_an_answer_about_a_run_names_its_snapshot(api: ContractApp, endpoint: Endpoint) -> None:
    meta = send(api, endpoint).json()["meta"]
    if endpoint.shared:
        assert "snapshot" not in meta, "it is about no run"
        return
    pointer = json.loads((api.root / "catalog" / f"{FULL}.json").read_text())
    assert (meta["snapshot"], meta["published_at"]) == (pointer["snapshot"], pointer["published_at"])


def test_the_screen_of_alphas_names_the_snapshot_of_each(api: ContractApp) -> None:
    rows = api.rows("research.screen")
    assert rows
    for row in rows:
        pointer = json.loads((api.root / "catalog" / f"{row['alpha_id']}.json").read_text())
        assert (row["snapshot"], row["published_at"]) == (pointer["snapshot"], pointer["published_at"])


@every(SERVED)
def test_a_named_snapshot_answers_the_same_bytes_after_another_is_served(
    moved: Moved, endpoint: Endpoint
) -> None:
    after = send(moved.api, endpoint, snapshot=moved.first)
    for before in (moved.before[endpoint.id], moved.before[f"{endpoint.id} pinned"]):
        assert shown(after) == shown(before)
        if endpoint.shape is Shape.COLLECTION:
            assert after.content == before.content
            assert after.headers["etag"] == before.headers["etag"]
    unnamed = send(moved.api, endpoint)
    assert (shown(unnamed) == shown(after)) == endpoint.shared, "the newer one is served"


@every(SERVED)
def test_naming_the_snapshot_that_is_served_changes_nothing(moved: Moved, endpoint: Endpoint) -> None:
    plain, named = send(moved.api, endpoint), send(moved.api, endpoint, snapshot=listed(moved.api))
    assert shown(named) == shown(plain)
    assert named.headers.get("etag") == plain.headers.get("etag")


@every(SERVED)
def test_an_unchanged_page_of_an_old_snapshot_is_answered_with_304(moved: Moved, endpoint: Endpoint) -> None:
    tag = moved.before[endpoint.id].headers.get("etag")
    if tag is None:
        return
    arguments = arguments_of(moved.api, endpoint)
    query = {**CASES[endpoint.id].query, "snapshot": moved.first}
    again = moved.api.get(endpoint, query, **arguments, headers={"if-none-match": tag})
    assert again.status_code == 304


@every(PINNED)
def test_a_removed_snapshot_is_not_found_and_the_current_one_named(moved: Moved, endpoint: Endpoint) -> None:
    for name in NO_SNAPSHOTS:
        response = send(moved.api, endpoint, snapshot=name)
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (404, "snapshot_not_found")
        assert error["details"] == {"current": listed(moved.api)}


@every(PINNED)
def test_an_empty_snapshot_is_an_invalid_parameter(moved: Moved, endpoint: Endpoint) -> None:
    response = send(moved.api, endpoint, snapshot="")
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "bad_request")
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["snapshot"]


@every(e for e in SERVED if not e.admin and not e.shared)
def test_raw_access_is_enforced_for_old_snapshots(moved: Moved, endpoint: Endpoint) -> None:
    response = send(moved.api, endpoint, key="reader", snapshot=moved.first)
    assert response.status_code == 200
    if endpoint.id != "performance.metrics":
        assert '"raw_' not in response.text


@every(e for e in PINNED if not e.admin)
def test_a_snapshot_opens_no_alpha_that_is_forbidden_or_missing(moved: Moved, endpoint: Endpoint) -> None:
    arguments = arguments_of(moved.api, endpoint)
    for snapshot in (moved.first, "0" * 20):
        query = {**CASES[endpoint.id].query, "snapshot": snapshot}
        forbidden = moved.api.refused(endpoint, query, **{**arguments, "key": "testing", "alpha": HIDDEN})
        assert forbidden["code"] in ("alpha_not_allowed", "run_not_allowed")
        absent = moved.api.refused(endpoint, query, **{**arguments, "alpha": NOWHERE})
        assert absent["code"] in ("alpha_not_found", "run_not_found")


def test_a_snapshot_removed_by_gc_is_not_found_before_the_next_refresh(
    moved: Moved, prices: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare_after_gc(*arguments: Any, **options: Any) -> Any:
        later = datetime.now(UTC) + timedelta(days=400)
        policy = Policy(keep=1, grace=timedelta(0))
        collect(open_storage(moved.api.root), FULL, policy, needed_since=None, now=later)
        return compare(*arguments, **options)

    blind = replace(
        contract_app.settings(moved.api.root, prices), refresh_seconds=3600.0, memory_bytes=1, rows_bytes=0
    )
    pinned = {"snapshot": moved.first, "limit": "7"}
    between = {"from_snapshot": moved.first}
    with contract_app.opened(
        blind, contract_app.access_settings(folder, "limits-blind"), moved.api.keys
    ) as other:
        assert send(other, ENDPOINTS["signals.scores"], snapshot=moved.first).status_code == 200
        monkeypatch.setattr(snapshots, "compare", compare_after_gc)
        for endpoint, query in (("research.snapshots.compare", between), ("signals.scores", pinned)):
            error = other.refused(endpoint, query, alpha=FULL)
            assert error["code"] == "snapshot_not_found"
            assert error["details"] == {"current": listed(other)}
    # A server with the rows in memory answers from them until it refreshes the catalogue.
    eventually(
        lambda: moved.api.get("signals.scores", pinned, alpha=FULL).status_code != 200,
        "the end of a removed snapshot",
    )
    error = moved.api.refused("signals.scores", pinned, alpha=FULL)
    assert error["code"] == "snapshot_not_found"
    assert error["details"] == {"current": listed(moved.api)}
