"""Access rights, and refusals that reveal nothing."""

from __future__ import annotations

import httpx
import pytest

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ADMIN_IDS, ENDPOINTS, META_IDS
from tests.contract.cases import CASES, OF_AN_ALPHA, arguments_of, every
from tests.support.contract_app import (
    BARE,
    EMPTY,
    FULL,
    HIDDEN,
    NOWHERE,
    PLAIN,
    UNDECIDED,
    ContractApp,
)

PRIVATE = tuple(e for e in ENDPOINTS.values() if not e.public)


def outwardly(response: httpx.Response) -> dict[str, str]:
    """Return the headers that do not count calls."""
    return {name: value for name, value in response.headers.items() if not name.startswith("x-ratelimit")}


@every(OF_AN_ALPHA)
def test_a_missing_alpha_is_not_found(api: ContractApp, endpoint: Endpoint) -> None:
    for key in ("testing", "raw", "administrator"):
        error = api.refused(
            endpoint,
            CASES[endpoint.id].query,
            **{**arguments_of(api, endpoint), "alpha": NOWHERE, "key": key},
        )
        assert error["code"] == (
            "alpha_not_found" if endpoint.allow_list is AllowListScope.ALPHAS else "run_not_found"
        )


@pytest.mark.parametrize(
    "alpha", ["..", ".", "%", "a b", "'", '"', "x" * 1000, "é", "\x00", "Test_full\n", "test_full"]
)
def test_an_invalid_alpha_address_is_not_found(api: ContractApp, alpha: str) -> None:
    for endpoint in OF_AN_ALPHA:
        if alpha not in (".", ".."):  # a client folds those two away before it sends them
            error = api.refused(
                endpoint, CASES[endpoint.id].query, **{**arguments_of(api, endpoint), "alpha": alpha}
            )
            assert error["code"] in ("alpha_not_found", "run_not_found")


@every(PRIVATE)
def test_a_key_is_judged_before_the_parameters(api: ContractApp, endpoint: Endpoint) -> None:
    for key, code in (("suspended", "key_suspended"), ("nothing", "endpoint_not_allowed")):
        arguments = {**arguments_of(api, endpoint), "key": key}
        error = api.refused(endpoint, {**CASES[endpoint.id].query, "limit": "0"}, **arguments)
        assert error["code"] == code


@every(OF_AN_ALPHA)
def test_the_endpoint_list_is_checked_before_the_list_of_alphas(api: ContractApp, endpoint: Endpoint) -> None:
    arguments = {**arguments_of(api, endpoint), "alpha": HIDDEN, "key": "nothing"}
    assert api.refused(endpoint, CASES[endpoint.id].query, **arguments)["code"] == "endpoint_not_allowed"


def test_an_unknown_key_is_indistinguishable_from_a_wrong_secret(api: ContractApp) -> None:
    own_id = {"x-request-id": "the-same"}
    unknown = api.get("meta.me", key="unknown", headers=own_id)
    wrong = api.get("meta.me", key="wrong_secret", headers=own_id)
    assert unknown.content == wrong.content
    assert outwardly(unknown) == outwardly(wrong)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("administrator", list(ENDPOINTS)),
        ("reader", [name for name in ENDPOINTS if name not in ADMIN_IDS]),
        ("defaults", [name for name in ENDPOINTS if name in META_IDS]),
    ],
)
def test_callable_endpoints_are_those_that_answer(api: ContractApp, key: str, expected: list[str]) -> None:
    me = api.ok("meta.me", key=key)["data"]
    assert me["callable_endpoints"] == expected
    for endpoint in PRIVATE:
        response = api.get(endpoint, CASES[endpoint.id].query, **{**arguments_of(api, endpoint), "key": key})
        refused = response.status_code == 403 and response.json()["error"]["code"] == "endpoint_not_allowed"
        assert refused == (endpoint.id not in expected)


def test_a_key_may_be_sent_only_in_the_header(api: ContractApp) -> None:
    for name in ("key", "api_key", "apikey", "token", "access_token", "authorization"):
        error = api.refused("meta.me", {name: api.keys["reader"]}, key=None)
        assert error["code"] == "missing_api_key"


def test_no_answer_contains_a_secret(api: ContractApp) -> None:
    secret = api.keys["raw"].partition(".")[2]
    for endpoint in PRIVATE:
        response = api.get(endpoint, CASES[endpoint.id].query, **arguments_of(api, endpoint))
        assert secret not in response.text
        assert secret not in str(response.headers)


def test_alphas_a_key_may_not_read_are_absent_and_not_counted(api: ContractApp) -> None:
    assert {row["alpha_id"] for row in api.rows("catalog.alphas.list", key="reader")} == {
        FULL,
        PLAIN,
        UNDECIDED,
        EMPTY,
        HIDDEN,
        BARE,
    }
    page = api.ok("catalog.alphas.list", key="testing")
    assert HIDDEN not in {row["alpha_id"] for row in page["data"]}
    assert page["pagination"]["total"] == 5
    assert api.ok("catalog.alphas.list", {"search": "Prod"}, key="testing")["pagination"]["total"] == 0


def test_incomplete_runs_can_be_left_out_and_alphas_are_searched_by_thesis(api: ContractApp) -> None:
    def listed(**query: str) -> list[str]:
        return [row["alpha_id"] for row in api.rows("catalog.alphas.list", query)]

    assert listed(complete_only="true") == listed(complete_only="True") == [FULL, PLAIN, HIDDEN, BARE]
    for no in ("0", "False"):
        assert listed(complete_only=no, search="test") == [FULL, PLAIN, UNDECIDED, EMPTY, BARE]
    by_thesis = listed(search="SIMULATED: NAMES")
    assert FULL in by_thesis
    assert PLAIN not in by_thesis, "it sealed no description, so it has no thesis to search"


def test_the_key_shown_is_the_one_used(api: ContractApp) -> None:
    me = api.ok("meta.me", key="counted")["data"]
    assert me["key_id"] == api.keys.ids["counted"]
    assert me["key_name"] == "counted"
    assert me["ip"] == "203.0.113.9"
    assert me["field_policy"] == {"expose_raw_book": False}
    page = api.ok("meta.keys", {"limit": 5000}, key="counted")
    assert page["meta"] == {"key_id": me["key_id"]}
    shown = {row["key_id"]: row for row in page["data"]}
    ids = api.keys.ids
    assert ids["revoked"] not in shown
    assert ids["administrator"] not in shown, "another account's"
    assert shown[ids["suspended"]]["status"] == "suspended"
    assert shown[ids["expired"]]["status"] == "active", "expiry is given by its date alone"
    assert shown[ids["expired"]]["expires_at"] == "2020-02-01T00:00:00Z"
    assert shown[ids["counted"]]["rate_limit"] == me["rate_limit"]
    assert shown[ids["counted"]]["display_prefix"] == f"ar_live_{ids['counted'][:4]}"


def test_an_administrator_sees_revoked_keys_too(api: ContractApp) -> None:
    for name, status in (("revoked", "revoked"), ("suspended", "suspended"), ("former", "active")):
        body = api.ok("admin.keys.usage", key="administrator", key_id=api.keys.ids[name])
        assert body["data"]["status"] == status
        assert body["data"]["owner"]["active"] == (name != "former")
    for unknown in ("0" * 16, "short", "\x00"):
        error = api.refused("admin.keys.usage", key="administrator", key_id=unknown)
        assert error["code"] == "key_not_found"
