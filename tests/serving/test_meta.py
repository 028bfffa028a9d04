from __future__ import annotations

import re

from schemas.endpoints import registry_version
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
