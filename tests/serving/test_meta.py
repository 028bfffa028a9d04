from __future__ import annotations

import re

from schemas.endpoints import ENDPOINTS, registry_version
from schemas.project import NAME, project_version
from tests.support.client import ApiClient

INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z\Z")


def test_health_needs_no_key_and_reveals_nothing(api: ApiClient) -> None:
    result = api.get("/v1/health")
    body = result.json()
    assert list(body) == ["status", "service", "environment", "version", "registry_version", "time"]
    assert body["status"] == "ok"
    assert body["environment"] == "live"
    assert (body["service"], body["version"]) == (NAME, project_version())
    assert body["registry_version"] == registry_version()
    assert INSTANT.match(body["time"])
    assert not [name for name in result.headers if name.startswith("x-ratelimit")]


def test_health_is_never_charged_even_with_a_key(api: ApiClient) -> None:
    token = api.key()
    for _ in range(3):
        assert api.get("/v1/health", token).status_code == 200
    assert api.get("/v1/health", "nonsense").status_code == 200
    assert api.json("/v1/me", token)["data"]["usage"]["day"] == 1


def test_me_shows_effective_grants(api: ApiClient) -> None:
    token = api.key(
        account="me@example.org",
        endpoints="meta.me,signals.scores",
        alphas="prefix:Test_",
        runs="list:a,b",
        rate="per_second=7,per_minute=8,per_day=9,monthly=10",
        raw=True,
    )
    body = api.json("/v1/me", token)
    data = body["data"]
    assert data["key_id"] == token.split("_")[2].split(".")[0]
    assert (data["email"], data["is_admin"], data["key_name"]) == ("me@example.org", False, "a key")
    assert data["allow"]["alphas"] == {"mode": "prefix", "prefixes": ["Test_"]}
    assert data["allow"]["runs"] == {"mode": "list", "ids": ["a", "b"]}
    assert data["field_policy"] == {"expose_raw_book": True}
    assert data["rate_limit"] == {
        "per_second": 7,
        "per_minute": 8,
        "per_day": 9,
        "monthly_requests": 10,
    }
    assert data["usage"]["month"] == 1
    assert data["usage"]["remaining_month"] == 9
    assert data["callable_endpoints"] == ["meta.me", "signals.scores"]
    assert data["registry_version"] == registry_version()
    assert data["ip"] == "127.0.0.1"
    assert set(body["meta"]) == {"request_id", "generated_at", "source"}
    assert INSTANT.match(body["meta"]["generated_at"])


def test_callable_endpoints_are_those_that_answer(api: ApiClient, plain: str) -> None:
    result = api.json("/v1/me", plain)["data"]["callable_endpoints"]
    assert result == [name for name, entry in ENDPOINTS.items() if not entry.admin]


def test_keys_of_the_account_newest_first(api: ApiClient) -> None:
    tokens = [
        api.key(account="many@example.org", rate="per_second=50,per_minute=50,per_day=50,monthly=null")
        for _ in range(3)
    ]
    api.key(account="other@example.org")
    ids = [token.split("_")[2].split(".")[0] for token in tokens]
    body = api.json("/v1/me/keys", tokens[0])
    assert [row["key_id"] for row in body["data"]] == ids[::-1]
    assert body["meta"] == {"key_id": ids[0]}
    assert body["pagination"]["total"] == 3
    row = body["data"][0]
    assert row["status"] == "active"
    assert row["expires_at"] is None
    assert INSTANT.match(row["created_at"])
    assert row["display_prefix"] != tokens[2]
    secrets = [token.split(".")[1] for token in tokens]
    text = api.get("/v1/me/keys", tokens[0]).text
    assert not [secret for secret in secrets if secret in text]
    second = api.json("/v1/me/keys?limit=1&offset=1", tokens[0])
    assert [row["key_id"] for row in second["data"]] == [ids[1]]
    assert second["pagination"] == {"limit": 1, "offset": 1, "returned": 1, "total": 3, "has_more": True}
