"""The list of publications, replacements, rollbacks and withdrawals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasets.publication.history import recorded_changes
from datasets.publication.pointers import served
from datasets.storage import open_storage
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.pipeline_command import run_pipeline
from tests.support.waiting import eventually

ALPHA = "Test_a"
Kind = tuple[str, str, str | None, str | None]


def publish(root: Path, alpha: str = ALPHA, mark: str = "") -> str:
    week = {"rebalances": published.rebalances()}
    sealed = f"2026-01-{5 + len(mark):02d}T07:30:00Z"
    return published.publish(root, week, alpha_id=alpha, mark=mark, sealed_at=sealed).snapshot


def remembered(root: Path, alpha: str = ALPHA) -> list[Kind]:
    pointer = served(open_storage(root), alpha)
    assert pointer is not None
    return [(x.alpha_id, x.change, x.snapshot, x.previous) for x in recorded_changes(pointer)]


def listed(api: ApiClient, token: str, query: str = "") -> list[Kind]:
    rows = api.json(f"/v1/changes?{query}", token)["data"]
    return [(x["alpha_id"], x["change"], x["snapshot"], x["previous_snapshot"]) for x in rows]


def test_a_pointer_records_every_move_in_order(tmp_path: Path) -> None:
    first = publish(tmp_path)
    assert remembered(tmp_path) == [(ALPHA, "published", first, None)]
    second = publish(tmp_path, mark="x")
    log: list[Kind] = [(ALPHA, "published", first, None), (ALPHA, "replaced", second, first)]
    assert remembered(tmp_path) == log
    third = publish(tmp_path, mark="xx")
    log.append((ALPHA, "replaced", third, second))
    assert remembered(tmp_path) == log
    assert run_pipeline("rollback", tmp_path, ALPHA, "--to", second).exit_code == 0
    assert remembered(tmp_path)[-1] == (ALPHA, "rolled_back", second, third)
    assert run_pipeline("withdraw", tmp_path, ALPHA).exit_code == 0
    assert remembered(tmp_path)[-1] == (ALPHA, "withdrawn", None, second)
    assert run_pipeline("restore", tmp_path, ALPHA).exit_code == 0
    assert remembered(tmp_path)[-1] == (ALPHA, "published", second, None)
    fourth = publish(tmp_path, mark="xxx")
    moves = remembered(tmp_path)
    assert moves[-1] == (ALPHA, "replaced", fourth, second)
    assert [move[1] for move in moves] == [
        *("published", "replaced", "replaced", "rolled_back", "withdrawn", "published", "replaced")
    ]
    assert all(None not in move[2:] or move[1] in ("published", "withdrawn", "replaced") for move in moves)


def test_a_build_after_a_rollback_is_a_replacement(tmp_path: Path) -> None:
    first = publish(tmp_path)
    publish(tmp_path, mark="x")
    assert run_pipeline("rollback", tmp_path, ALPHA).exit_code == 0
    third = publish(tmp_path, mark="xx")
    assert remembered(tmp_path)[-1] == (ALPHA, "replaced", third, first)


def test_an_alpha_that_was_withdrawn_twice_is_listed_as_published_once_it_is_back(tmp_path: Path) -> None:
    first = publish(tmp_path)
    for _ in range(2):
        assert run_pipeline("withdraw", tmp_path, ALPHA).exit_code == 0
        assert remembered(tmp_path)[-1][1:3] == ("withdrawn", None)
        assert run_pipeline("restore", tmp_path, ALPHA).exit_code == 0
        assert remembered(tmp_path)[-1] == (ALPHA, "published", first, None)


def test_a_build_is_listed_when_gc_forgot_that_the_alpha_was_withdrawn(tmp_path: Path) -> None:
    first = publish(tmp_path)
    for command in (["withdraw", ALPHA], ["restore", ALPHA], ["gc", "--keep", "1", "--grace", "0s"]):
        assert run_pipeline(command[0], tmp_path, *command[1:]).exit_code == 0
    second = publish(tmp_path, mark="x")
    assert remembered(tmp_path)[-1] == (ALPHA, "replaced", second, first)


def test_a_rollback_stays_one_when_gc_removed_the_snapshot_that_was_rolled_back(tmp_path: Path) -> None:
    first = publish(tmp_path)
    publish(tmp_path, mark="x")
    assert run_pipeline("rollback", tmp_path, ALPHA).exit_code == 0
    assert run_pipeline("gc", tmp_path, "--keep", "1", "--grace", "0s").exit_code == 0
    log: list[Kind] = [(ALPHA, "published", first, None), (ALPHA, "rolled_back", first, None)]
    assert remembered(tmp_path) == log
    third = publish(tmp_path, mark="xx")
    assert run_pipeline("gc", tmp_path, "--keep", "1", "--grace", "0s").exit_code == 0
    assert remembered(tmp_path) == [(ALPHA, "replaced", third, None)], "no build becomes a rollback"


def test_the_oldest_change_that_gc_kept_is_no_first_publication(tmp_path: Path) -> None:
    publish(tmp_path)
    second = publish(tmp_path, mark="x")
    assert run_pipeline("gc", tmp_path, "--keep", "1", "--grace", "0s").exit_code == 0
    assert remembered(tmp_path) == [(ALPHA, "replaced", second, None)]
    third = publish(tmp_path, mark="xx")
    assert remembered(tmp_path) == [(ALPHA, "replaced", second, None), (ALPHA, "replaced", third, second)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for alpha in (ALPHA, "Test_b", "prod_c"):
        publish(tmp_path, alpha)
    return tmp_path


@pytest.fixture
def api(root: Path) -> Iterator[ApiClient]:
    with running(root) as api:
        yield api


def test_a_reader_gets_each_change_once_and_may_continue_at_any_node(root: Path, api: ApiClient) -> None:
    token = api.key()
    body = api.json("/v1/changes", token)
    assert [row["alpha_id"] for row in body["data"]] == [ALPHA, "Test_b", "prod_c"]
    assert {row["change"] for row in body["data"]} == {"published"}
    cursor = body["meta"]["next"]
    assert cursor == body["data"][-1]["cursor"]
    assert listed(api, token, f"since={cursor}") == []
    before = body["data"][0]["snapshot"]
    after = publish(root, mark="x")
    assert run_pipeline("withdraw", root, "Test_b").exit_code == 0
    eventually(lambda: len(listed(api, token, f"since={cursor}")) == 2)
    new = listed(api, token, f"since={cursor}")
    assert new == [
        (ALPHA, "replaced", after, before),
        ("Test_b", "withdrawn", None, before_of(body, "Test_b")),
    ]
    with running(root, counts=root.parent / "counts", store=str(root.parent / "keys")) as another:
        assert listed(another, another.key(), f"since={cursor}") == new, (
            "the same at a node that was just started"
        )


def before_of(body: Any, alpha: str) -> str:
    result: str = next(row["snapshot"] for row in body["data"] if row["alpha_id"] == alpha)
    return result


def test_cursor_pages_cover_every_change_once(api: ApiClient) -> None:
    token = api.key()
    full = listed(api, token)
    gathered: list[Kind] = []
    cursor = ""
    for _ in range(len(full) + 1):
        body = api.json(f"/v1/changes?limit=1{cursor}", token)
        gathered += [
            (x["alpha_id"], x["change"], x["snapshot"], x["previous_snapshot"]) for x in body["data"]
        ]
        cursor = f"&since={body['meta']['next']}"
    assert gathered == full


def test_changes_of_forbidden_alphas_are_not_listed(api: ApiClient) -> None:
    for token in (api.key(alphas="prefix:Test_"), api.key(runs="prefix:Test_")):
        body = api.json("/v1/changes", token)
        assert {row["alpha_id"] for row in body["data"]} == {ALPHA, "Test_b"}
        assert body["pagination"]["total"] == 2


def test_changes_of_forbidden_alphas_do_not_move_the_cursor(root: Path, api: ApiClient) -> None:
    everything, narrow = api.key(), api.key(alphas="list:Test_b")
    before = api.json("/v1/changes", narrow)
    publish(root, mark="x")
    eventually(lambda: len(listed(api, everything)) == 4)
    assert api.json("/v1/changes", narrow) == before


def test_an_unknown_cursor_is_refused_with_the_advice_to_restart(api: ApiClient) -> None:
    error = api.json(f"/v1/changes?since={'a' * 48}", api.key(), 410)["error"]
    assert error["code"] == "cursor_not_known"
    assert api.json("/v1/changes?since=a", api.key(), 400)["error"]["code"] == "bad_request"


def test_the_time_of_a_change_is_that_of_its_publication(api: ApiClient) -> None:
    listed = {row["alpha_id"]: row["published_at"] for row in api.json("/v1/screen", api.key())["data"]}
    changes = api.json("/v1/changes", api.key())["data"]
    assert {row["alpha_id"] for row in changes} == set(listed)
    assert {row["alpha_id"]: row["at"] for row in changes} == listed
