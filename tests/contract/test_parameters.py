"""Each parameter at and beyond its declared bounds; all invalid ones are reported together."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.parameters import (
    BENCHMARK,
    BENCHMARKS,
    FROM_SNAPSHOT,
    MAX_COMPARED,
    SNAPSHOT,
    TO_SNAPSHOT,
    Parameter,
    ParameterKind,
)
from serve.pages.changes import START, Cursor
from tests.contract.cases import CASES, WINDOWED, arguments_of, every
from tests.support.contract_app import FULL, ContractApp

NO_DAYS = (
    "2020-02-30",
    "2021-02-29",
    "2020-2-1",
    "20200201",
    "2020-02-01T00:00:00",
    "0000-01-01",
    "01-02-2020",
    "today",
)
"""Texts that are not valid dates."""
LISTS = {
    ParameterKind.SYMBOLS: (
        "SIM001",
        "SIM001,SIM002",
        "SIM001,SIM001",
        "NOBODY",
        "SIM001, SIM002",
        " SIM001\t",
        "SIM001\n",
    ),
    ParameterKind.ALPHAS: (
        "Test_plain,Test_undecided",
        " Test_plain , Test_undecided\n",
        "Test_plain,Test_plain",
    ),
    ParameterKind.WEIGHTS: ("equal", "volatility", "1,2,3", "0,1.,.5"),
    ParameterKind.CURSOR: (START.encode(), Cursor(1, 2, (3, 4, 5)).encode()),
}
"""Texts of lists."""
OF_WHAT_IS_THERE = {SNAPSHOT: (), FROM_SNAPSHOT: (), TO_SNAPSHOT: (), BENCHMARK: ("SPY",)}
"""Names that have to exist; tests/contract/test_snapshots.py covers snapshots."""
TAKING_PARAMETERS = tuple(e for e in ENDPOINTS.values() if e.query)


def valid(parameter: Parameter) -> tuple[str, ...]:
    """Return boundary values of a parameter."""
    match parameter.kind:
        case ParameterKind.INTEGER:
            values = (parameter.minimum, parameter.maximum, parameter.default)
            return tuple(f"{value:.0f}" for value in values if isinstance(value, int | float))
        case ParameterKind.NUMBER:
            least = () if parameter.minimum is None else (f"{parameter.minimum:g}",)
            return (*least, "0.5", ".5", "1.", "1e-3", "1E+2", "100000000000000000000000")
        case ParameterKind.DATE:
            return ("0001-01-01", "2020-02-29", "9999-12-31")
        case ParameterKind.BOOLEAN:
            return ("1", "true", "0", "false", "True", "FALSE")
        case ParameterKind.CHOICE | ParameterKind.NAMES:
            words = parameter.choices
            return (
                words
                if parameter.kind is ParameterKind.CHOICE
                else (words[0], ",".join(words), f"{words[0]},{words[0]}")
            )
        case ParameterKind.SYMBOLS | ParameterKind.ALPHAS | ParameterKind.CURSOR | ParameterKind.WEIGHTS:
            return ("SPY", "SPY,SPY", " SPY\t") if parameter is BENCHMARKS else LISTS[parameter.kind]
        case ParameterKind.TEXT:
            texts = ("", "a", "%", "_", "'", '"', "\\", "é", "\x00", "a" * 2000)
            return OF_WHAT_IS_THERE.get(parameter, texts[1:] if parameter.minimum else texts)
        case ParameterKind.BOOK:
            return ("long_short", "long_only")
        case ParameterKind.FORBIDDEN:
            return ()


def invalid(parameter: Parameter) -> tuple[str, ...]:
    """Return invalid values of a parameter."""
    match parameter.kind:
        case ParameterKind.INTEGER:
            assert parameter.minimum is not None
            assert parameter.maximum is not None
            beyond = (f"{parameter.minimum - 1:.0f}", f"{int(parameter.maximum) + 1}")
            return (*beyond, "", "a", "1.0", "1e2", "+1", " 1", "0x1", "1_0", "٣", "9" * 400)
        case ParameterKind.NUMBER:
            below = () if parameter.minimum is None else (f"{parameter.minimum - 0.001:g}",)
            return (*below, "", "a", "nan", "inf", "Infinity", "1e999", "1,5", "0x1", "1_0", "٣")
        case ParameterKind.DATE:
            return (*NO_DAYS, "", "\uff12\uff10\uff12\uff10-01-01")
        case ParameterKind.BOOLEAN:
            return ("", "2", "yes", "t", "TRUE ", "none")
        case ParameterKind.CHOICE | ParameterKind.NAMES:
            name = parameter.choices[0]
            return ("", "nonsense", f"{name}x", f"{name},", f"{name} {name}", f",{name}")
        case ParameterKind.SYMBOLS:
            return (
                "",
                ",",
                "SIM001,",
                ",SIM001",
                "SIM001,,SIM002",
                " ",
                "SIM001, ",
                "SIM 001",
                "SIM001 SIM002",
                "SIM\u2003001",
            )
        case ParameterKind.ALPHAS:
            too_many = ",".join(["Test_plain"] * (MAX_COMPARED + 1))
            return ("", ",", "Test_plain,", "Test_plain,,Test_full", " ", "Test plain,Test_full", too_many)
        case ParameterKind.FORBIDDEN | ParameterKind.CURSOR | ParameterKind.WEIGHTS:
            return ("SIM001", "", "EQUAL", "1,-1,1", "1,,2", "nan,1,1", "1e3,1,1", "1, 2,3")
        case ParameterKind.TEXT | ParameterKind.BOOK:
            return ("",) if parameter.minimum else ()


OF_EACH = pytest.mark.parametrize(
    ("endpoint", "parameter"),
    [pytest.param(e, p, id=f"{e.id}-{p.name}") for e in TAKING_PARAMETERS for p in e.query],
)


def with_required(endpoint: Endpoint, **query: str) -> dict[str, Any]:
    return {**CASES[endpoint.id].query, **query}


@OF_EACH
def test_boundary_values_are_accepted(api: ContractApp, endpoint: Endpoint, parameter: Parameter) -> None:
    for text in valid(parameter):
        query = with_required(endpoint, **{parameter.name: text})
        response = api.get(endpoint, query, **arguments_of(api, endpoint))
        assert response.status_code == 200, (text, response.text)
        body = response.json()
        if parameter.name in ("limit", "offset"):
            assert body["pagination"][parameter.name] == int(text)
        if parameter.name in ("book", "fields") and parameter.kind is not ParameterKind.NAMES:
            result = body["meta"] if endpoint.shape is Shape.COLLECTION else body["data"]
            assert result[parameter.name] == text


@OF_EACH
def test_a_value_out_of_range_is_a_400_with_the_parameter_and_its_rule(
    api: ContractApp, endpoint: Endpoint, parameter: Parameter
) -> None:
    for text in invalid(parameter):
        query = with_required(endpoint, **{parameter.name: text})
        error = api.refused(endpoint, query, **arguments_of(api, endpoint))
        assert error["code"] == "bad_request", text
        named = [{"name": parameter.name, "constraint": parameter.constraint}]
        assert error["details"]["parameters"] == named, text
        assert parameter.name in error["message"]


@every(e for e in TAKING_PARAMETERS if any(invalid(p) for p in e.query))
def test_every_broken_parameter_is_reported_at_once(api: ContractApp, endpoint: Endpoint) -> None:
    broken = {p.name: invalid(p)[0] for p in endpoint.query if invalid(p)}
    arguments = arguments_of(api, endpoint)
    if "date" in CASES[endpoint.id].path:
        arguments["date"] = "no-day"
    error = api.refused(endpoint, with_required(endpoint, **broken), **arguments)
    reported = [entry["name"] for entry in error["details"]["parameters"]]
    expected = [p.name for p in endpoint.parameters if p.name in broken or (p.in_path and p.name == "date")]
    assert reported == expected


@every(TAKING_PARAMETERS)
def test_a_parameter_given_twice_is_refused(api: ContractApp, endpoint: Endpoint) -> None:
    for parameter in endpoint.query:
        text = valid(parameter)[0] if valid(parameter) else "SIM001"
        query = [*CASES[endpoint.id].query.items(), (parameter.name, text), (parameter.name, text)]
        error = api.refused(endpoint, query, **arguments_of(api, endpoint))
        assert error["code"] == "bad_request"
        assert [entry["name"] for entry in error["details"]["parameters"]] == [parameter.name]


@every(ENDPOINTS.values())
def test_an_unknown_parameter_is_refused_by_name(api: ContractApp, endpoint: Endpoint) -> None:
    query, arguments = CASES[endpoint.id].query, arguments_of(api, endpoint)
    for strange in ("nonsense", "Limit", "limit ", "", "é", "fields[]"):
        error = api.refused(endpoint, {**query, strange: "1"}, **arguments)
        assert error["code"] == "bad_request"
        (entry,) = error["details"]["parameters"]
        assert entry["name"] == strange
        assert "not a parameter of this endpoint" in entry["constraint"]


@every(TAKING_PARAMETERS)
def test_the_name_nearest_to_a_misspelt_one_is_reported(api: ContractApp, endpoint: Endpoint) -> None:
    arguments = arguments_of(api, endpoint)
    for parameter in endpoint.query:
        if parameter.kind is ParameterKind.FORBIDDEN:
            continue
        for misspelt in (f"{parameter.name}s", parameter.name.upper(), parameter.name[1] + parameter.name[0]):
            near = misspelt if len(misspelt) > 2 else misspelt + parameter.name[2:]
            if near in {p.name for p in endpoint.query}:
                continue
            error = api.refused(endpoint, {**CASES[endpoint.id].query, near: "1"}, **arguments)
            (entry,) = error["details"]["parameters"]
            # two letters resemble too many names
            if len(parameter.name) > 2 or near == parameter.name.upper():
                assert entry["nearest"] == parameter.name, near
                assert f"`{parameter.name}`" in entry["constraint"]


def test_a_misspelt_window_or_symbol_is_refused_not_ignored(api: ContractApp) -> None:
    error = api.refused(
        "signals.scores", [("form", "2020-01-01"), ("symbols", "A"), ("limit", "0")], alpha=FULL
    )
    result = [(entry["name"], entry.get("nearest")) for entry in error["details"]["parameters"]]
    assert result == [("limit", None), ("form", "from"), ("symbols", "symbol")]


def test_the_report_of_unknown_parameters_is_bounded(api: ContractApp) -> None:
    token = api.keys["reader"]
    error = api.refused("signals.scores", {token: "1"}, alpha=FULL)
    assert token.partition(".")[2][:8] not in str(error), (
        "whoever puts a key there must not find it in the answer"
    )
    error = api.refused("signals.scores", [(f"q{n}", "1") for n in range(500)], alpha=FULL)
    assert len(error["details"]["parameters"]) == 16
    assert "484 more" in error["details"]["parameters"][-1]["constraint"]


def test_white_space_around_symbols_is_ignored(api: ContractApp) -> None:
    plain = api.get("signals.scores", {"symbol": "SIM001,SIM002"}, alpha=FULL)
    spaced = api.get("signals.scores", {"symbol": " SIM002 , SIM001"}, alpha=FULL)
    assert spaced.content == plain.content
    assert spaced.headers["etag"] == plain.headers["etag"]
    assert {row["symbol"] for row in spaced.json()["data"]} == {"SIM001", "SIM002"}


@every(WINDOWED)
def test_a_window_that_ends_before_it_begins_is_refused(api: ContractApp, endpoint: Endpoint) -> None:
    query = with_required(endpoint, **{"from": "2020-05-02", "to": "2020-05-01"})
    error = api.refused(endpoint, query, **arguments_of(api, endpoint))
    assert error["code"] == "bad_request"
    assert {entry["name"] for entry in error["details"]["parameters"]} <= {"from", "to"}
    assert error["details"]["parameters"]


@pytest.mark.parametrize("text", NO_DAYS)
def test_an_invalid_week_is_a_bad_request_not_a_missing_week(api: ContractApp, text: str) -> None:
    error = api.refused("signals.rebalances.get", alpha=FULL, date=text)
    assert error["code"] == "bad_request"
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["date"]


def test_a_benchmark_that_is_not_available_is_reported_beside_the_others(api: ContractApp) -> None:
    error = api.refused("benchmarks.daily", {"limit": "0", "from": "x"}, symbol="QQQ")
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["symbol", "from", "limit"]
    assert error["details"]["available"] == ["SPY"]
    for name, parameter in (("research.regimes", BENCHMARK), ("research.exposures", BENCHMARKS)):
        error = api.refused(name, {parameter.name: "QQQ", "from": "x"}, alpha=FULL)
        assert [entry["name"] for entry in error["details"]["parameters"]] == [parameter.name, "from"]
        assert error["details"]["available"] == ["SPY"]
        error = api.refused(name, {parameter.name: "SPY", "from": "x"}, alpha=FULL)
        assert [entry["name"] for entry in error["details"]["parameters"]] == ["from"]
    error = api.refused("benchmarks.daily", {"limit": "0"}, symbol="SPY")
    assert [entry["name"] for entry in error["details"]["parameters"]] == ["limit"]
    assert "available" not in error["details"]


def test_a_missing_required_parameter_is_reported_beside_the_others(api: ContractApp) -> None:
    error = api.refused("portfolio.trades", {"limit": "0", "from": "x"}, alpha=FULL)
    assert {entry["name"] for entry in error["details"]["parameters"]} == {"book", "limit", "from"}
    assert "long_short" in error["details"]["available"]


def test_parameters_are_checked_before_the_alpha_is_looked_up(api: ContractApp) -> None:
    error = api.refused("signals.scores", {"limit": "0"}, alpha="Test_nowhere")
    assert error["code"] == "bad_request"


def test_the_alpha_is_looked_up_before_its_books_and_weeks(api: ContractApp) -> None:
    book = api.refused("portfolio.ledger", {"book": "none"}, alpha="Test_nowhere")
    week = api.refused("signals.rebalances.get", alpha="Test_nowhere", date="2020-01-04")
    assert (book["code"], week["code"]) == ("run_not_found", "run_not_found")
