"""Access of agents: every tool with every kind of key, compared with ``/v1``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.contract_app import ABSENT, FULL, HIDDEN, PLAIN, READING, REFUSED, ContractApp

CALLS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "find": ({}, ("/v1/screen",)),
    "describe": ({"alpha": "?"}, ("/v1/alphas/{}/audit", "/v1/alphas/{}", "/v1/alphas/{}/snapshots")),
    "judge": ({"alpha": "?"}, ("/v1/alphas/{}/audit", "/v1/alphas/{}/metrics", "/v1/alphas/{}/luck")),
    "explain_week": (
        {"alpha": "?", "date": "2022-01-14"},
        ("/v1/alphas/{}/rebalances?from=2022-01-14&to=2022-01-14", "/v1/alphas/{}/rebalances/2022-01-14"),
    ),
    "positions": (
        {"alpha": "?", "date": "2022-01-14"},
        (
            "/v1/alphas/{}/portfolio?book=long_short&limit=1",
            "/v1/alphas/{}/positions?book=long_short&limit=1",
        ),
    ),
    "performance": ({"alpha": "?"}, ("/v1/alphas/{}/equity-curve?book=long_short&limit=1",)),
    "luck": ({"alpha": "?"}, ("/v1/alphas/{}/luck",)),
    "changes": ({}, ("/v1/changes",)),
    "table_link": ({"alpha": "?", "table": "decisions"}, ("/v1/alphas/{}/tables/decisions/download",)),
}


def message(api: ContractApp, key: str | None, method: str, params: dict[str, Any], **more: str) -> Any:
    """Send one message without a session, as a stateless client does behind a proxy."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {**api.headers(key), "accept": "application/json, text/event-stream", **more}
    return api.client.wait(api.client.client.post("/mcp", headers=headers, json=body))


@pytest.mark.parametrize("key", READING)
@pytest.mark.parametrize("tool", CALLS)
def test_tools_have_the_rights_of_v1_and_name_no_hidden_alpha(api: ContractApp, tool: str, key: str) -> None:
    arguments, paths = CALLS[tool]
    for alpha in (FULL, PLAIN, HIDDEN, ABSENT) if "alpha" in arguments else ("",):
        given = {**arguments, **({"alpha": alpha} if alpha else {})}
        answer = message(api, key, "tools/call", {"name": tool, "arguments": given})
        assert answer.status_code == 200
        result = answer.json()["result"]
        text = result["content"][0]["text"]
        expected = [api.client.get(path.format(alpha), api.keys[key]) for path in paths]
        assert result["isError"] == all(one.status_code != 200 for one in expected), text
        codes = {one.json()["error"]["code"] for one in expected if one.status_code != 200}
        for code in codes:
            assert code in text
        if key != "raw":
            assert "raw_" not in json.dumps(text).replace("raw_signal", "") or key == "administrator"
        if key in {"testing", "defaults"} and alpha not in {HIDDEN, ABSENT}:
            assert HIDDEN not in text


@pytest.mark.parametrize("key", REFUSED)
def test_messages_without_a_valid_key_are_refused(api: ContractApp, key: str | None) -> None:
    for method, params in [
        ("tools/list", {}),
        ("prompts/list", {}),
        ("tools/call", {"name": "find", "arguments": {}}),
        ("initialize", {}),
    ]:
        answer = message(api, key, method, params)
        expected = api.client.get("/v1/me", None if key is None else api.keys[key])
        assert answer.status_code == expected.status_code != 200
        assert answer.json()["error"]["code"] == expected.json()["error"]["code"]


def test_a_message_and_each_inner_call_are_counted(api: ContractApp) -> None:
    def used() -> int:
        return int(api.ok("meta.me", key="counted")["data"]["usage"]["day"])

    before = used()
    message(api, "counted", "tools/list", {})
    assert used() == before + 2
    message(api, "counted", "tools/call", {"name": "judge", "arguments": {"alpha": FULL}})
    assert used() == before + 2 + 4 + 1


def test_an_exhausted_limit_is_reported_in_the_tools_answer(api: ContractApp) -> None:
    answers = [message(api, "minute", "tools/call", {"name": "find", "arguments": {}}) for _ in range(2)]
    assert answers[0].json()["result"]["isError"]
    assert "rate_limit" in answers[0].json()["result"]["content"][0]["text"]
    assert answers[1].status_code == 429
    assert int(answers[1].headers["retry-after"]) >= 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_the_server_offers_neither_stream_nor_session(api: ContractApp, method: str) -> None:
    answer = api.client.wait(api.client.client.request(method, "/mcp", headers=api.headers("reader")))
    assert answer.status_code == 405


def test_a_body_beyond_the_bound_is_refused(api: ContractApp) -> None:
    headers = {**api.headers("reader"), "content-type": "application/json", "accept": "application/json"}
    sent = api.client.client.post("/mcp", headers=headers, content=b" " * (2**16 + 1))
    assert api.client.wait(sent).status_code == 413


def test_a_link_uses_the_proxys_address(api: ContractApp) -> None:
    call = {"name": "table_link", "arguments": {"alpha": FULL, "table": "decisions"}}
    named = {"host": "alphas.example.org", "x-forwarded-proto": "https"}
    answer = message(api, "reader", "tools/call", call, **named)
    url = json.loads(answer.json()["result"]["content"][0]["text"])["table"]["data"]["url"]
    assert url.startswith("https://alphas.example.org/")
