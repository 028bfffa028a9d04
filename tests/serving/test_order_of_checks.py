"""Order of checks: a request that fails several gets the first error."""

from __future__ import annotations

import pytest

from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"


def code(api: ApiClient, path: str, token: str | None) -> str:
    return str(api.get(path, token).json()["error"]["code"])


def test_the_key_is_checked_before_anything_else_in_the_request(api: ApiClient) -> None:
    assert code(api, f"{RUN}/scores?limit=0", None) == "missing_api_key"
    assert code(api, f"{RUN}/scores?limit=0", "nonsense") == "malformed_api_key"
    assert code(api, "/v1/alphas/none/scores", f"ar_live_{'0' * 16}.{'A' * 43}") == "invalid_api_key"


def test_the_endpoint_list_comes_before_parameters(api: ApiClient) -> None:
    token = api.key(endpoints="meta.me", runs="list:other")
    result = api.get(f"{RUN}/scores?limit=0", token)
    assert result.status_code == 403
    assert result.json()["error"]["code"] == "endpoint_not_allowed"
    assert result.json()["error"]["details"] == {"endpoint": "signals.scores"}


def test_the_run_list_comes_before_parameters(api: ApiClient) -> None:
    token = api.key(runs="list:other")
    for query in ("", "?limit=0", "?form=x", "?symbol="):
        assert code(api, f"{RUN}/scores{query}", token) == "run_not_allowed"
    assert code(api, f"{RUN}/rebalances/no-day", token) == "run_not_allowed"
    assert code(api, f"{RUN}/trades", token) == "run_not_allowed"


def test_parameters_come_before_the_look_up(api: ApiClient, plain: str) -> None:
    for query in ("?limit=0", "?form=x", "?symbol="):
        assert code(api, f"/v1/alphas/absent/scores{query}", plain) == "bad_request"


def test_the_run_list_comes_before_the_look_up(api: ApiClient) -> None:
    token = api.key(runs="list:other", alphas="list:other")
    for path in ("scores", "rebalances", "portfolio?book=none", "rebalances/2020-01-04"):
        there = api.get(f"{RUN}/{path}", token)
        absent = api.get(f"/v1/alphas/absent/{path}", token)
        assert there.status_code == absent.status_code == 403
        assert {**there.json()["error"], "request_id": ""} == {**absent.json()["error"], "request_id": ""}
    assert code(api, RUN, token) == "alpha_not_allowed"
    assert code(api, "/v1/alphas/absent", token) == "alpha_not_allowed"


def test_the_look_up_comes_before_books_and_dates(api: ApiClient, plain: str) -> None:
    for path in ("portfolio?book=none", "rebalances/2020-01-04", "scores"):
        result = api.get(f"/v1/alphas/absent/{path}", plain)
        assert (result.status_code, result.json()["error"]["code"]) == (404, "run_not_found")
    assert code(api, "/v1/alphas/absent", plain) == "alpha_not_found"


def test_each_list_guards_its_own_routes(api: ApiClient) -> None:
    reads_runs = api.key(alphas="list:other", runs="all")
    assert code(api, RUN, reads_runs) == "alpha_not_allowed"
    assert api.get(f"{RUN}/scores", reads_runs).status_code == 200
    reads_alphas = api.key(alphas="all", runs="list:other")
    assert api.get(RUN, reads_alphas).status_code == 200
    assert code(api, f"{RUN}/scores", reads_alphas) == "run_not_allowed"


def test_refused_calls_have_rate_limit_headers(api: ApiClient) -> None:
    token = api.key(runs="list:other")
    for path in (f"{RUN}/scores", f"{RUN}/scores?limit=0", "/v1/alphas/absent", "/v1/admin/alphas"):
        headers = api.get(path, token).headers
        assert int(headers["x-ratelimit-remaining-minute"]) < int(headers["x-ratelimit-limit-minute"])


def test_errors_of_the_caller_are_charged_too(api: ApiClient) -> None:
    token = api.key()
    for path in (f"{RUN}/scores?limit=0", "/v1/alphas/absent", f"{RUN}/portfolio?book=none"):
        assert api.get(path, token).status_code >= 400
    assert api.json("/v1/me", token)["data"]["usage"]["month"] == 4


def test_limits_come_before_the_endpoint_list_and_give_retry_after(api: ApiClient) -> None:
    token = api.key(endpoints="meta.me", rate="per_second=100,per_minute=2,per_day=100,monthly=100")
    assert [api.get("/v1/me", token).status_code for _ in range(2)] == [200, 200]
    refused = api.get(f"{RUN}/scores?limit=0", token)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_minute")
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "path", ["/v1/admin/alphas", "/v1/admin/alphas/x/readiness", "/v1/admin/keys/x/usage"]
)
def test_administration_is_closed_to_everyone_else(api: ApiClient, plain: str, path: str) -> None:
    assert code(api, path, plain) == "endpoint_not_allowed"
