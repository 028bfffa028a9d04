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
    assert body["data"]["description"] is True
    assert body["data"]["source_status"] is None
    assert body["data"]["warnings"] == []
    missing = api.get("/v1/admin/alphas/absent/readiness", token)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "alpha_not_found")


def test_administrators_read_usage_of_any_key(api: ApiClient) -> None:
    admin = api.key(admin=True)
    token = api.key(account="used@example.org", rate="per_second=50,per_minute=50,per_day=50,monthly=50")
    key_id = token.split("_")[2].split(".")[0]
    api.json("/v1/me", token)
    body = api.json(f"/v1/admin/keys/{key_id}/usage", admin)
    data = body["data"]
    assert data["key_id"] == key_id
    assert data["owner"]["email"] == "used@example.org"
    assert data["owner"]["active"] is True
    assert data["status"] == "active"
    assert data["usage"]["month"] == 1
    assert data["usage"]["remaining_month"] == 49
    assert data["rate_limit"]["monthly_requests"] == 50
    assert token.split(".")[1] not in api.get(f"/v1/admin/keys/{key_id}/usage", admin).text
    for unknown in ("0" * 16, "short", "%00"):
        result = api.get(f"/v1/admin/keys/{unknown}/usage", admin)
        assert (result.status_code, result.json()["error"]["code"]) == (404, "key_not_found")
