from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.parameters import SIDES
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


def test_a_repeated_parameter_is_refused_with_the_way_to_give_several_values() -> None:
    constraint = broken("symbol=A&symbol=B")["symbol"]
    assert constraint.startswith("must be given only once: one or more tickers, separated by commas")
    assert (
        broken("limit=1&limit=1")["limit"]
        == "must be given only once: a plain decimal integer from 1 to 5000"
    )


@pytest.mark.parametrize(
    ("text", "side"),
    [("1", 1), ("LONG", 1), ("Short", -1), ("-1", -1), ("0", 0), ("flat", 0), ("Neutral", 0)],
)
def test_directions_ignore_case_and_have_aliases(text: str, side: int) -> None:
    assert SIDES[read(f"direction={text}")["direction"]] == side


def test_a_parameter_without_a_name_is_described() -> None:
    with pytest.raises(ApiError, match=r"^Invalid parameters: limit, one without a name\.$") as caught:
        read("=1&limit=0")
    assert caught.value.details is not None
    assert [entry["name"] for entry in caught.value.details["parameters"]] == ["limit", ""]


def test_suggestions_exclude_refused_parameters() -> None:
    assert "takes book" in broken("symbols=A", "portfolio.ledger")["symbols"]


@given(st.binary(max_size=60))
def test_any_query_string_is_parsed_or_refused_by_name(query: bytes) -> None:
    refusals: list[ApiError] = []
    try:
        assert 1 <= parse(WEEK, WEEK_PATH, query)["limit"] <= 5000
    except ApiError as error:
        refusals.append(error)
    assert all((error.details or {})["parameters"] for error in refusals)
