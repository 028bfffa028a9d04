"""An endpoint is found by the router and by the application, and answers alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qsl

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.endpoints import ENDPOINTS
from serve.http.params import query_pairs
from serve.http.router import Router
from tests.support import published
from tests.support.client import ApiClient

OF_EACH_CALL = {"x-request-id"} | {
    f"x-ratelimit-{part}-{window}"
    for part in ("remaining", "reset")
    for window in ("second", "minute", "day", "month")
}
FILLED = {
    "alpha": published.ALPHA,
    "symbol": "SPY",
    "date": "2020-01-10",
    "key_id": "0" * 16,
    "table": "decisions",
}


def seen(answer: httpx.Response) -> tuple[int, dict[str, str], Any]:
    headers = {name: value for name, value in answer.headers.items() if name not in OF_EACH_CALL}
    body = answer.json()
    for part in ("meta", "error"):
        for name in ("request_id", "generated_at"):
            body.get(part, {}).pop(name, None)
    for name in ("time", "usage", "url", "expires_at"):  # a link is signed for the second it was asked for
        body.pop(name, None)
        body.get("data", {}).pop(name, None) if isinstance(body.get("data"), dict) else None
    return answer.status_code, headers, body


# The rows of the inventory tell what was used, and that is more with every call.
@pytest.mark.parametrize("name", [name for name in ENDPOINTS if name != "meta.keys"])
@pytest.mark.parametrize(
    "query", ["", "?limit=3&offset=1&book=long_only", "?limit=0&from=x", "?form=x&symbols=A"]
)
def test_router_and_application_answer_alike(api: ApiClient, name: str, query: str) -> None:
    token = api.key(admin=True)
    path = ENDPOINTS[name].path.format(**FILLED)
    direct = api.get(f"{path}{query}", token)
    routed = api.get(f"{path.replace('/v1/', '/%76%31/')}{query}", token)
    assert seen(direct) == seen(routed)
    assert set(direct.headers) == set(routed.headers)


@pytest.fixture(scope="module")
def router() -> Router:
    return Router([cast(Any, SimpleNamespace(endpoint=endpoint)) for endpoint in ENDPOINTS.values()])


@pytest.mark.parametrize("name", list(ENDPOINTS))
def test_every_endpoint_is_found_with_its_parameters(router: Router, name: str) -> None:
    path = ENDPOINTS[name].path
    found = router.find(path.format(**FILLED).encode())
    assert found is not None
    assert found.handler.endpoint.id == name
    assert found.path == {key: value for key, value in FILLED.items() if f"{{{key}}}" in path}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/m%65",
        "/v1/alphas/\u00e9",
        "/v1/alphas//scores",
        "/v1/me/",
        "/v1",
        "/",
        "",
        "/v1/alphas/a/none",
        "/v1/alphas/a/scores/more",
        "/V1/me",
    ],
)
def test_what_is_not_plain_is_left_to_the_application(router: Router, path: str) -> None:
    assert router.find(path.encode()) is None


@given(st.text("ab=&+%20;\u00e9\x00", max_size=20))
def test_a_query_string_is_split_as_the_standard_library_does(query: str) -> None:
    raw = query.encode("latin-1")
    assert query_pairs(raw) == parse_qsl(query, keep_blank_values=True, errors="replace")
