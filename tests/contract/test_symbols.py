"""A `symbol` unknown to the run matches no row and causes a notice."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.parameters import SYMBOL
from tests.contract.cases import CASES, arguments_of, every
from tests.support.contract_app import BARE, EMPTY, FULL, PLAIN, UNDECIDED, ContractApp

BY_SYMBOL = tuple(e for e in ENDPOINTS.values() if SYMBOL in e.parameters)


def notices(api: ContractApp, endpoint: Endpoint, symbol: str, **changes: str) -> list[dict[str, Any]]:
    query = {**CASES[endpoint.id].query, "symbol": symbol}
    result: list[dict[str, Any]] = api.ok(endpoint, query, **arguments_of(api, endpoint, **changes))[
        "meta"
    ].get("notices", [])
    return result


@every(BY_SYMBOL)
def test_a_symbol_in_another_case_is_noticed_with_the_runs_spelling(
    api: ContractApp, endpoint: Endpoint
) -> None:
    (notice,) = notices(api, endpoint, "sim001,SIM002,NOBODY")
    assert notice["code"] == "unknown_symbol"
    assert "sim001 (did you mean SIM001?)" in notice["message"]
    assert "NOBODY" in notice["message"]
    assert "SIM002" not in notice["message"]


@every(BY_SYMBOL)
def test_a_known_symbol_without_rows_causes_no_notice(api: ContractApp, endpoint: Endpoint) -> None:
    names = {row["symbol"] for row in api.rows("signals.scores", alpha=FULL)}
    assert notices(api, endpoint, ",".join(sorted(names))) == []
    page = {**CASES[endpoint.id].query, "symbol": "SIM001", "offset": 100000}
    assert "notices" not in api.ok(endpoint, page, **arguments_of(api, endpoint))["meta"]


@every(BY_SYMBOL)
def test_the_notice_is_on_all_pages_cached_or_not(api: ContractApp, endpoint: Endpoint) -> None:
    query = {**CASES[endpoint.id].query, "symbol": "SIM001,sim001", "limit": 3}
    bodies = {api.get(endpoint, query, **arguments_of(api, endpoint)).content for _ in range(40)}
    assert len(bodies) == 1
    assert b"unknown_symbol" in bodies.pop()


def test_the_notice_is_bounded(api: ContractApp) -> None:
    many = ",".join(f"X{n}" for n in range(300))
    (notice,) = notices(api, ENDPOINTS["signals.scores"], many)
    assert "290 more" in notice["message"]


@pytest.mark.parametrize("name", ["portfolio.positions", "portfolio.pnl", "portfolio.trades"])
def test_the_names_of_a_run_without_cross_sections_are_those_it_traded(api: ContractApp, name: str) -> None:
    endpoint = ENDPOINTS[name]
    assert [x["code"] for x in notices(api, endpoint, "NOBODY", alpha=UNDECIDED)] == ["unknown_symbol"]
    traded = api.rows("portfolio.positions", alpha=UNDECIDED)[0]["symbol"]
    assert notices(api, endpoint, traded, alpha=UNDECIDED) == []


@every(BY_SYMBOL)
def test_a_missing_kind_is_reported_instead_of_unknown_symbols(api: ContractApp, endpoint: Endpoint) -> None:
    for alpha in (EMPTY, BARE):
        query = {**CASES[endpoint.id].query, "symbol": "NOBODY"}
        response = api.get(endpoint, query, **arguments_of(api, endpoint, alpha=alpha))
        if response.status_code == 200:
            meta = response.json()["meta"]
            codes = [x["code"] for name in ("warnings", "notices") for x in meta.get(name, [])]
            assert "kind_missing" in codes or codes == ["unknown_symbol"]


def test_names_in_hidden_books_count_as_unknown(api: ContractApp) -> None:
    for key in ("reader", "raw"):
        body = api.ok("signals.scores", {"symbol": "NOBODY"}, alpha=PLAIN, key=key)
        assert [x["code"] for x in body["meta"]["notices"]] == ["unknown_symbol"]


def test_a_symbol_that_is_too_long_is_refused(api: ContractApp) -> None:
    endpoint = ENDPOINTS["signals.scores"]
    assert api.get(endpoint, {"symbol": "A" * 64}, alpha=FULL).status_code == 200
    response = api.get(endpoint, {"symbol": "A" * 65}, alpha=FULL)
    (broken,) = response.json()["error"]["details"]["parameters"]
    assert (response.status_code, broken["name"]) == (400, "symbol")
    assert "1 to 64 characters" in broken["constraint"]
