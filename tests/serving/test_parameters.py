from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.parameters import MAX_OFFSET
from serve.http.params import parse

WEEK = ENDPOINTS["signals.rebalances.get"]
WEEK_PATH = {"alpha": "x", "date": "2020-01-03"}


def read(query: str, endpoint: str = "signals.rebalances.get") -> Any:
    path = WEEK_PATH if endpoint == "signals.rebalances.get" else {"alpha": "x"}
    return parse(ENDPOINTS[endpoint], path, query.encode())


def broken(query: str, endpoint: str = "signals.rebalances.get") -> dict[str, str]:
    with pytest.raises(ApiError) as caught:
        read(query, endpoint)
    assert caught.value.code == "bad_request"
    assert caught.value.details is not None
    return {entry["name"]: entry["constraint"] for entry in caught.value.details["parameters"]}


def test_missing_parameters_have_their_defaults() -> None:
    values = read("")
    assert values["limit"] == 100
    assert values["offset"] == 0
    assert values["book"] == "long_short"
    assert values["sort"] == "score"
    assert values["order"] is None
    assert values["symbol"] is None
    assert values["date"] == dt.date(2020, 1, 3)
    assert read("", "portfolio.equity_curve")["limit"] == 500


@pytest.mark.parametrize("text", ["1", "5000", "0005"])
def test_limits_within_the_bounds(text: str) -> None:
    assert read(f"limit={text}")["limit"] == int(text)


@pytest.mark.parametrize(
    "text", ["0", "5001", "-1", "1.0", "1e3", "+5", "%2B5", "%205", "5%20", "1_0", "", "ten", "٣", "9" * 5000]
)
def test_an_invalid_limit_is_refused(text: str) -> None:
    assert broken(f"limit={text}") == {"limit": "a plain decimal integer from 1 to 5000"}


def test_offsets_are_bounded_by_exact_integers() -> None:
    assert read(f"offset={MAX_OFFSET}")["offset"] == MAX_OFFSET
    assert "offset" in broken(f"offset={MAX_OFFSET + 1}")
    assert "offset" in broken("offset=-1")


@pytest.mark.parametrize("text", ["0", "0.5", "1e-3", ".5", "1.", "5E2"])
def test_decimal_numbers(text: str) -> None:
    assert read(f"min_abs_weight={text}")["min_abs_weight"] == float(text)


@pytest.mark.parametrize(
    "text",
    ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-0.1", "%2B1", "+1", "1_0", "%201", "", "0x1", "1e"],
)
def test_an_invalid_number_is_refused(text: str) -> None:
    assert "min_abs_weight" in broken(f"min_abs_weight={text}")


@pytest.mark.parametrize(
    "text",
    [
        "2020-1-03",
        "20200103",
        "2020-02-30",
        "2021-02-29",
        "2020-01-03T00:00:00",
        "0000-01-01",
        "",
        "2020-W01-1",
    ],
)
def test_an_invalid_day_is_refused(text: str) -> None:
    assert broken(f"from={text}", "signals.scores") == {"from": "a real calendar day written YYYY-MM-DD"}
    assert broken(f"to={text}", "signals.scores") == {"to": "a real calendar day written YYYY-MM-DD"}


def test_leap_days_and_the_last_day_are_accepted() -> None:
    values = read("from=2020-02-29&to=9999-12-31", "signals.scores")
    assert (values["from"], values["to"]) == (dt.date(2020, 2, 29), dt.date.max)


def test_a_window_may_be_one_day_but_not_reversed() -> None:
    assert read("from=2020-01-03&to=2020-01-03", "signals.scores")["from"] == dt.date(2020, 1, 3)
    assert "from" in broken("from=2020-01-04&to=2020-01-03", "signals.scores")


def test_symbols_are_a_set() -> None:
    assert read("symbol=B,A,B")["symbol"] == ("A", "B")
    assert read("symbol=BRK.B")["symbol"] == ("BRK.B",)
    assert read("symbol=B,%20A")["symbol"] == read("symbol=+B+,A%0A")["symbol"] == ("A", "B")


@pytest.mark.parametrize("text", ["", ",", "A,", ",A", "A,,B", "%20", "A,%20"])
def test_an_empty_symbol_is_refused(text: str) -> None:
    assert "symbol" in broken(f"symbol={text}")


@pytest.mark.parametrize(
    ("text", "side"),
    [("1", "1"), ("LONG", "1"), ("Short", "-1"), ("-1", "-1"), ("0", "0"), ("flat", "0"), ("Neutral", "0")],
)
def test_directions_ignore_case_and_have_aliases(text: str, side: str) -> None:
    assert read(f"direction={text}")["direction"] == side


@pytest.mark.parametrize(
    "query",
    [
        "direction=up",
        "direction=",
        "sort=Score",
        "sort=weights",
        "order=DESC",
        "order=down",
        "book=raw_long_short",
    ],
)
def test_unknown_words_are_refused_with_the_accepted_ones(query: str) -> None:
    name = query.partition("=")[0]
    constraint = broken(query)[name]
    assert all(word in constraint for word in next(p for p in WEEK.query if p.name == name).choices)


@pytest.mark.parametrize(("text", "value"), [("1", True), ("true", True), ("0", False), ("false", False)])
def test_booleans(text: str, value: bool) -> None:
    result = parse(ENDPOINTS["catalog.alphas.list"], {}, urlencode({"complete_only": text}).encode())
    assert result["complete_only"] is value


@pytest.mark.parametrize("text", ["yes", "True", "", "2", "on"])
def test_an_invalid_boolean_is_refused(text: str) -> None:
    with pytest.raises(ApiError):
        parse(ENDPOINTS["catalog.alphas.list"], {}, urlencode({"complete_only": text}).encode())


def test_every_broken_parameter_is_reported_at_once() -> None:
    result = broken("limit=0&offset=-1&direction=x&sort=y&order=z&min_abs_weight=nan&symbol=&book=b")
    assert list(result) == [
        "symbol",
        "direction",
        "min_abs_weight",
        "book",
        "sort",
        "order",
        "limit",
        "offset",
    ]


def test_a_broken_path_is_reported_with_the_query() -> None:
    with pytest.raises(ApiError) as caught:
        parse(WEEK, {"alpha": "x", "date": "2020-1-3"}, b"limit=0")
    assert caught.value.details is not None
    assert [entry["name"] for entry in caught.value.details["parameters"]] == ["date", "limit"]


def test_a_repeated_parameter_is_refused_even_with_equal_values() -> None:
    assert broken("limit=5&limit=5") == {"limit": "given once at most"}


def test_unknown_names_are_refused_once_each_after_the_declared_ones() -> None:
    result = broken("colour=red&colour=blue&limit=0&symbols=A")
    assert list(result) == ["limit", "colour", "symbols"]
    assert result["symbols"] == "not a parameter of this endpoint; did you mean `symbol`?"
    assert result["colour"].endswith(
        "takes symbol, direction, min_abs_weight, book, sort, order, snapshot, limit, offset"
    )


def test_a_parameter_without_a_name_is_described() -> None:
    with pytest.raises(ApiError, match=r"^Invalid parameters: limit, one without a name\.$") as caught:
        read("=1&limit=0")
    assert caught.value.details is not None
    assert [entry["name"] for entry in caught.value.details["parameters"]] == ["limit", ""]


def test_suggestions_exclude_refused_parameters() -> None:
    assert "takes book" in broken("symbols=A", "portfolio.ledger")["symbols"]


def test_the_ledger_refuses_a_symbol() -> None:
    assert "symbol" in broken("symbol=A", "portfolio.ledger")
    assert "symbol" in broken("symbol=", "portfolio.ledger")


def test_trades_need_a_book() -> None:
    assert broken("", "portfolio.trades") == {"book": "required: the name of a book this key can read"}
    assert read("book=anything", "portfolio.trades")["book"] == "anything"


@given(st.binary(max_size=60))
def test_any_query_string_is_parsed_or_refused_by_name(query: bytes) -> None:
    refused: set[str] = set()
    try:
        values = parse(WEEK, WEEK_PATH, query)
    except ApiError as error:
        refused = {entry["name"] for entry in (error.details or {})["parameters"]}
        assert refused
    else:
        assert 1 <= values["limit"] <= 5000
        assert all(isinstance(name, str) for name in refused)
