"""Probes of the protocol: bodies, hints, versions, tokens and names that no client sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sharing.protocol_requests import OPERATIONS, files, operation, send
from tests.support.contract_app import ABSENT, FULL, HIDDEN, ContractApp

NESTED = {"op": "not", "children": []}
DEEP = '{"op":"not","children":[' * 400 + "1" + "]}" * 400
HINTS: dict[str, Any] = {
    "empty": {},
    "null": None,
    "number": 7,
    "text": "book",
    "no_children": {"op": "and"},
    "null_children": {"op": "and", "children": None},
    "text_children": {"op": "or", "children": "book"},
    "mixed_children": {"op": "or", "children": [1, None, "x", {}, []]},
    "not_of_none": NESTED,
    "not_of_two": {"op": "not", "children": [{}, {}]},
    "op_is_list": {"op": ["equal"], "children": [{"op": "column", "name": "book"}, {"op": "literal", "value": "x"}]},
    "op_is_object": {"op": {"equal": 1}, "children": [1, 2]},
    "literal_is_number": {"op": "equal", "children": [{"op": "column", "name": "book"}, {"op": "literal", "value": 7}]},
    "literal_is_null": {"op": "equal", "children": [{"op": "column", "name": "book"}, {"op": "literal", "value": None}]},
    "raw_column": {"op": "equal", "children": [{"op": "column", "name": "raw_score"}, {"op": "literal", "value": "1"}]},
    "unknown_op": {"op": "cast", "children": [{"op": "column", "name": "book"}]},
}  # fmt: skip


@pytest.mark.parametrize("hint", HINTS.values(), ids=HINTS)
def test_invalid_hints_keep_every_file(api: ContractApp, hint: Any) -> None:
    every = files(operation(api, "query", share=FULL, table="portfolio"))
    body = {"jsonPredicateHints": json.dumps(hint), "predicateHints": ["book =", "' OR 1=1 --", ""]}
    assert len(files(operation(api, "query", share=FULL, table="portfolio", body=body))) == len(every)


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b"\x00",
        b'{"limitHint": 1e400}',
        b'{"limitHint": 1.5}',
        b'{"limitHint": 99999999999999999999999999}',
        b'{"version": 99999999999999999999999999}',
        b'{"version": -99999999999999999999}',
        b'{"version": -1}',
        b'{"version": true}',
        b'{"version": []}',
        b'{"timestamp": 7}',
        b'{"timestamp": ""}',
        b'{"timestamp": "0000-00-00T00:00:00Z"}',
        b'{"timestamp": "0001-01-01T00:00:00+14:00"}',
        b'{"timestamp": "2026-01-01T00:00:00Z\\u0000"}',
        b'{"predicateHints": "x"}',
        b'{"jsonPredicateHints": {}}',
        b'{"startingVersion": 0, "endingVersion": 1}',
        b'{"endingVersion": 1}',
        b'{"version": 1, "timestamp": "2026-01-01T00:00:00Z"}',
        b"[" * 60_000,
    ],
)
def test_a_broken_body_is_refused_in_the_form_of_the_protocol(api: ContractApp, body: bytes) -> None:
    answer = operation(api, "query", share=FULL, table="portfolio", body=body)
    assert answer.status_code in {400, 404}, answer.text
    assert answer.json().keys() == {"errorCode", "message"}


def test_deep_and_huge_values_are_answered(api: ContractApp) -> None:
    for body in (
        {"timestamp": "9999-12-31T23:59:59-14:00"},  # the version served now
        {"jsonPredicateHints": DEEP},
        {"predicateHints": ["x"] * 10_000},
        {"limitHint": 2**53},
        {"limitHint": 2**63 - 1},
    ):
        answer = operation(api, "query", share=FULL, table="portfolio", body=body)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "query",
    [
        "version=-1",
        "version=1e3",
        "version=%EF%BC%91",
        "version=999999999999999999999999",
        "version=1",
        "version=",
        "timestamp=",
        "timestamp=now",
        "timestamp=0001-01-01T00:00:00%2B14:00",
        "timestamp=2001-01-01T00:00:00Z",
        "version=1&timestamp=2026-01-01T00:00:00Z",
    ],
)
def test_an_unknown_version_is_refused_in_the_form_of_the_protocol(api: ContractApp, query: str) -> None:
    answer = send(api, f"/shares/{FULL}/schemas/run/tables/portfolio/metadata?{query}")
    assert answer.status_code in {400, 404}, answer.text
    assert answer.json().keys() == {"errorCode", "message"}


@pytest.mark.parametrize(
    "query",
    ["startingTimestamp=x", "startingTimestamp=9999-12-31T23:59:59-14:00", "startingTimestamp=2999-01-01T00:00:00Z"],
)  # fmt: skip
def test_an_invalid_starting_timestamp_is_refused(api: ContractApp, query: str) -> None:
    answer = send(api, f"/shares/{FULL}/schemas/run/tables/portfolio/version?{query}")
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize(
    "token",
    ["", "x", "%00", "../..", "=" * 300, "Zm9v", "UHJvZF9oaWRkZW4=", "UHJvZF9hYnNlbnQ=", "_w==", "%F0%9F%92%A9"],
)  # fmt: skip
def test_a_forged_page_token_opens_nothing_hidden(api: ContractApp, token: str) -> None:
    answer = send(api, f"/shares?maxResults=1&pageToken={token}", "testing")
    assert answer.status_code in {200, 400}, answer.text
    assert HIDDEN not in answer.text
    assert "Prod_" not in answer.text


@pytest.mark.parametrize(
    "share",
    ["%2e%2e%2e", "%00", "Test_full%00", "test_full", "Test_full%20", "*", "%F0%9F%92%A9", "x" * 3000],
)  # fmt: skip
def test_invalid_names_are_not_found_in_the_form_of_the_protocol(api: ContractApp, share: str) -> None:
    for name in OPERATIONS:
        answer = operation(api, name, "reader", share, "portfolio")
        assert answer.status_code in {403, 404}, (name, answer.text)
        assert answer.json().keys() == {"errorCode", "message"}


def test_answers_about_a_hidden_and_a_missing_share_are_identical(api: ContractApp) -> None:
    for name in OPERATIONS:
        for body in ({}, {"version": 1}, {"limitHint": -1}, {"timestamp": "x"}):
            more = {"body": body} if name == "query" else {}
            hidden, absent = (
                operation(api, name, "testing", x, "decisions", **more) for x in (HIDDEN, ABSENT)
            )
            assert hidden.content.replace(HIDDEN.encode(), b"") == absent.content.replace(
                ABSENT.encode(), b""
            )
            assert hidden.status_code == absent.status_code


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_another_method_is_refused_in_the_form_of_the_protocol(api: ContractApp, method: str) -> None:
    for path in ("/shares", f"/shares/{FULL}/schemas/run/tables/portfolio/query"):
        answer = send(api, path, method=method)
        assert 400 <= answer.status_code < 500, answer.text
        assert method == "HEAD" or answer.json().keys() == {"errorCode", "message"}
