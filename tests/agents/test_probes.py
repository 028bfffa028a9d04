"""Probes of `/mcp`: malformed messages, wrong types, unknown names, other keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serve.agents.answer import MAX_BYTES
from tests.support.contract_app import ABSENT, FULL, HIDDEN, ContractApp

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def post(api: ContractApp, content: bytes, key: str | None = "testing", **headers: str) -> Any:
    sent = api.client.client.post("/mcp", headers={**api.headers(key), **JSON, **headers}, content=content)
    return api.client.wait(sent)


def call(api: ContractApp, tool: str, arguments: Any, key: str = "testing") -> dict[str, Any]:
    """Call a tool and return its answer, which is a result or an error of the protocol."""
    params = {"name": tool, "arguments": arguments}
    answer = post(
        api, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(), key
    )
    assert answer.status_code < 500, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"7",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "none"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        b"[" * 60_000,
    ],
)
def test_a_malformed_message_is_a_protocol_error(api: ContractApp, content: bytes) -> None:
    answer = post(api, content)
    assert answer.status_code < 500, answer.text
    assert answer.status_code == 202 or "error" in answer.json()  # 202, as for a notification
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("none", {}),
        ("__init__", {}),
        ("find", {"limit": 10**30}),
        ("find", {"limit": -1}),
        ("find", {"min_icir": 1.0}),
        ("performance", {"alpha": FULL, "from": "2022-01-01"}),
        ("find", {"sort": "raw_score"}),
        ("find", {"sort": "-" * 1000}),
        ("find", {"minimum": {"icir": "x"}}),
        ("find", {"minimum": {"no_such": 1.0}}),
        ("find", {"minimum": {"&alphas": 1.0}}),
        ("find", {"search": "x" * 20_000}),
        ("describe", {}),
        ("describe", {"alpha": None}),
        ("describe", {"alpha": ""}),
        ("describe", {"alpha": "../admin/keys"}),
        ("describe", {"alpha": "Test_full/audit?x="}),
        ("describe", {"alpha": "\ud83d\ude00"}),
        ("judge", {"alpha": ["Test_full"]}),
        ("compare", {"alphas": []}),
        ("compare", {"alphas": [FULL] * 50}),
        ("compare", {"alphas": [FULL, "a,b"]}),
        ("compare", {"alphas": [FULL, FULL], "by": "raw"}),
        ("explain_week", {"alpha": FULL, "date": "../../admin"}),
        ("explain_week", {"alpha": FULL, "date": "9999-99-99"}),
        ("positions", {"alpha": FULL, "date": "2022-01-14", "book": "raw_long_short"}),
        ("positions", {"alpha": FULL, "date": "2022-01-14&book=raw_long_short"}),
        ("luck", {"alpha": FULL, "trials": 10**40}),
        ("luck", {"alpha": FULL, "trials": 1.5}),
        ("changes", {"since": "' OR 1=1 --"}),
        ("table_link", {"alpha": FULL, "table": "../secrets"}),
        ("table_link", {"alpha": FULL, "table": "portfolio", "book": "raw_long_short"}),
    ],
)
def test_invalid_arguments_are_refused_in_the_tools_answer(
    api: ContractApp, tool: str, arguments: dict[str, Any]
) -> None:
    body = call(api, tool, arguments)
    text = json.dumps(body)
    assert "error" in body or body["result"]["isError"], text
    assert len(text.encode()) <= 2 * MAX_BYTES
    assert "Traceback" not in text
    assert "internal_error" not in text


@pytest.mark.parametrize("tool", ["describe", "judge", "performance", "luck", "risk", "costs", "exposures"])
def test_answers_about_a_hidden_and_a_missing_alpha_differ_only_in_the_name(
    api: ContractApp, tool: str
) -> None:
    hidden, absent = (call(api, tool, {"alpha": alpha})["result"] for alpha in (HIDDEN, ABSENT))
    assert hidden["isError"]
    assert json.dumps(hidden).replace(HIDDEN, "") == json.dumps(absent).replace(ABSENT, "")


@pytest.mark.parametrize("hidden", [HIDDEN, ABSENT])
def test_a_hidden_alpha_can_be_neither_compared_nor_listed(api: ContractApp, hidden: str) -> None:
    assert call(api, "compare", {"alphas": [FULL, hidden]})["result"]["isError"]
    text = json.dumps(call(api, "find", {"search": "momentum", "limit": 50}))
    assert hidden not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "text/html"},
        {"content-type": "text/plain"},
        {"mcp-protocol-version": "1066-10-14"},
        {"mcp-session-id": "forged"},
        {"last-event-id": "1"},
        {"origin": "https://evil.example.org"},
        {"host": "evil.example.org"},
    ],
)
def test_no_origin_host_or_session_replaces_a_key(api: ContractApp, headers: dict[str, str]) -> None:
    message = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert post(api, message, **headers).status_code < 500
    refused = post(api, message, None, **headers)
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "missing_api_key"
