from __future__ import annotations

from schemas.kinds import KINDS, REQUIRED_KINDS
from tests.support.client import ApiClient


def test_administrators_list_every_alpha(api: ApiClient) -> None:
    token = api.key(admin=True, alphas="list:none", runs="list:none")
    body = api.json("/v1/admin/alphas", token)
    (row,) = body["data"]
    assert row["alpha_id"] == "Test_hand"
    assert row["complete"] is False
    assert row["missing_kinds"] == ["metrics"]
    assert len(row["snapshot"]) == 20
    assert row["started_at"] == "2026-01-05T06:00:00Z"
    assert row["published_at"].endswith("Z")


def test_readiness_lists_each_kind(api: ApiClient) -> None:
    token = api.key(admin=True)
    body = api.json("/v1/admin/alphas/Test_hand/readiness", token)
    kinds = {row["kind"]: row for row in body["data"]["kinds"]}
    assert list(kinds) == list(KINDS)
    assert {kind for kind, row in kinds.items() if row["required"]} == set(REQUIRED_KINDS)
    assert kinds["decisions"] == {
        "kind": "decisions",
        "required": True,
        "present": True,
        "rows": 39,
        "first_date": "2020-01-03",
        "last_date": "2020-01-24",
    }
    assert kinds["portfolio"]["rows"] == 48
    assert kinds["trades"]["last_date"] == "2020-01-20"
    assert kinds["metrics"]["present"] is False
    assert kinds["metrics"]["rows"] is None
    assert (body["data"]["complete"], body["data"]["missing_kinds"]) == (False, ["metrics"])
    assert body["data"]["description"] is True
    assert body["data"]["source_status"] is None
    assert body["data"]["warnings"] == []
    missing = api.get("/v1/admin/alphas/absent/readiness", token)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "alpha_not_found")
