"""Answers of the router: unknown paths and methods, before any key is read."""

from __future__ import annotations

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from tests.contract.cases import CASES, arguments_of, every
from tests.support.conformance import strict
from tests.support.contract_app import FULL, ContractApp, target

METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW")
UNKNOWN = (
    "/",
    "/v1",
    "/v1/",
    "/v2/health",
    "/V1/health",
    "/v1/Health",
    "/v1/health/",
    "//v1/health",
    "/v1//health",
    "/v1/health/more",
    "/v1/health%2f",
    "/v1/me/keys/0123456789abcdef",
    "/v1/alphas/",
    f"/v1/alphas/{FULL}/",
    f"/v1/alphas//{FULL}/books",
    f"/v1/alphas/{FULL}/nothing",
    f"/v1/alphas/{FULL}%2Fbooks",
    f"/v1/alphas/{FULL}%2fbooks",
    f"/v1/alphas/{FULL}/rebalances/",
    f"/v1/alphas/{FULL}/rebalances/2020-01-03/more",
    f"/v1/alphas/{FULL}/metrics/doc",
    "/v1/benchmarks/SPY",
    "/v1/benchmarks/",
    "/v1/admin",
    "/v1/admin/keys",
    "/v1/admin/keys/0123456789abcdef",
    "/docs/",
    "/docs/nothing.js",
    "/docs/%2e%2e/openapi.json",
    "/v1/docs",
    "/v1/openapi.json",
    "/schema",
    "/schema/openapi.json",
    "/favicon.ico",
    "/v1/alphas/%2e%2e/%2e%2e/health",
)
BEARERS = (None, "raw", "revoked", "malformed", "day")
"""The key is not read, whether missing, valid, revoked, malformed or over its limit."""


def calls_made(api: ContractApp, key: str) -> int:
    used = api.ok("meta.me", key=key)["data"]["usage"]["day"]
    assert isinstance(used, int)
    return used


@every(ENDPOINTS.values())
@pytest.mark.parametrize("method", METHODS)
def test_another_method_is_refused_before_the_key_is_read(
    api: ContractApp, endpoint: Endpoint, method: str
) -> None:
    arguments = arguments_of(api, endpoint)
    path = {name: value for name, value in arguments.items() if name != "key"}
    line = target(endpoint, CASES[endpoint.id].query, path)
    for bearer in BEARERS:
        response = api.client.send(method, line, api.headers(bearer))
        assert response.status_code == 404
        assert response.headers["x-request-id"]
        assert not [name for name in response.headers if name.startswith("x-ratelimit")]
        assert "www-authenticate" not in response.headers
        if method != "HEAD":
            error = strict(response.content)["error"]
            assert error == {
                "code": "method_not_allowed",
                "message": error["message"],
                "details": None,
                "request_id": response.headers["x-request-id"],
            }


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
def test_an_unknown_path_is_not_found_before_a_key_is_read(api: ContractApp, method: str, path: str) -> None:
    for bearer in BEARERS:
        response = api.client.send(method, path, api.headers(bearer))
        assert response.status_code == 404, response.text
        assert not [name for name in response.headers if name.startswith("x-ratelimit")]
        if method != "HEAD":
            error = strict(response.content)["error"]
            assert set(error) == {"code", "message", "details", "request_id"}
            assert error["code"] == "not_found"
            assert error["request_id"] == response.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        (f"/v1/alphas/{FULL}/score", "/v1/alphas/{alpha}/scores"),
        (f"/v1/alpha/{FULL}/equity_curve", "/v1/alphas/{alpha}/equity-curve"),
        ("/alphas", "/v1/alphas"),
        ("/v1/alphas/", "/v1/alphas"),
        (f"/v1/alphas/{FULL}/{'scores' * 500}", None),
        ("/v1/admin/alpha", None),  # administrators alone know these paths
        (f"/v1/alphas/{FULL}/nothing", None),
        ("/favicon.ico", None),
    ],
)
def test_an_unknown_path_names_the_nearest_one(api: ContractApp, path: str, nearest: str | None) -> None:
    said = strict(api.client.send("GET", path, {}).content)["error"]["message"]
    assert said == ("No such path." if nearest is None else f"No such path; did you mean {nearest}?")


def test_answers_of_the_router_are_not_counted(api: ContractApp) -> None:
    before = calls_made(api, "counted")
    for method, path in (
        ("POST", "/v1/me"),
        ("GET", "/v1/nothing"),
        ("OPTIONS", "/v1/alphas"),
        ("GET", "/v1/health"),
    ):
        api.client.send(method, path, api.headers("counted"))
    assert calls_made(api, "counted") == before + 1
