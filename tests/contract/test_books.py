"""Books: which exist, and hidden ones look missing."""

from __future__ import annotations

import pytest

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.parameters import ParameterKind
from schemas.tables.books import BOOK_KINDS, CONDITIONED_BOOKS, TRADE_ONLY_SUFFIXES
from tests.contract.cases import CASES, arguments_of, every
from tests.support.contract_app import FULL, PLAIN, ContractApp

TAKING_A_BOOK = tuple(e for e in ENDPOINTS.values() if any(p.kind is ParameterKind.BOOK for p in e.query))
BY_BOOK = tuple(e for e in TAKING_A_BOOK if e.shape is Shape.COLLECTION)
PLAIN_BOOKS = [
    *CONDITIONED_BOOKS,
    *(f"{book}{suffix}" for book in CONDITIONED_BOOKS for suffix in TRADE_ONLY_SUFFIXES),
]
RAW_BOOKS = [f"raw_{book}" for book in PLAIN_BOOKS]
NO_BOOKS = (
    "",
    "nothing",
    "LONG_SHORT",
    "long_short ",
    "long_short\x00",
    "'",
    "../long_short",
    "raw_",
    "é",
    "a" * 500,
)


@every(TAKING_A_BOOK)
def test_an_unknown_book_is_refused_with_the_available_ones(api: ContractApp, endpoint: Endpoint) -> None:
    for book in NO_BOOKS:
        query = {**CASES[endpoint.id].query, "book": book}
        error = api.refused(endpoint, query, **{**arguments_of(api, endpoint), "key": "reader"})
        assert error["code"] == "unknown_book", book
        assert error["details"] == {"available": PLAIN_BOOKS}
        error = api.refused(endpoint, query, **arguments_of(api, endpoint))
        assert error["details"] == {"available": PLAIN_BOOKS + RAW_BOOKS}


@every(TAKING_A_BOOK)
def test_a_book_the_key_may_not_see_is_indistinguishable_from_a_missing_one(
    api: ContractApp, endpoint: Endpoint
) -> None:
    own_id = {"x-request-id": "the-same"}
    arguments = {**arguments_of(api, endpoint), "key": "reader", "headers": own_id}
    query = CASES[endpoint.id].query
    none = api.get(endpoint, {**query, "book": "raw_nothing"}, **arguments)
    assert none.status_code == 400
    for book in RAW_BOOKS:
        hidden = api.get(endpoint, {**query, "book": book}, **arguments)
        assert hidden.content == none.content
        assert set(hidden.headers) == set(none.headers)
        # A key with raw-book access gets this book, so it exists and is hidden from others.
        shown = api.get(endpoint, {**query, "book": book}, **arguments_of(api, endpoint))
        assert shown.status_code == 200


@every(BY_BOOK)
def test_a_trade_only_book_has_only_trades(api: ContractApp, endpoint: Endpoint) -> None:
    book = PLAIN_BOOKS[-1]
    body = api.ok(endpoint, {"book": book}, **arguments_of(api, endpoint))
    if endpoint.id == "portfolio.trades":
        assert "warnings" not in body["meta"]
        assert {row["book"] for row in body["data"]} <= {book}
    else:
        assert body["data"] == []
        (warning,) = body["meta"]["warnings"]
        assert (warning["code"], warning["kind"]) == ("kind_missing", endpoint.datasets[0])


@every(BY_BOOK)
def test_every_book_is_served_separately(api: ContractApp, endpoint: Endpoint) -> None:
    for book in (*CONDITIONED_BOOKS, *(f"raw_{book}" for book in CONDITIONED_BOOKS)):
        body = api.ok(endpoint, {"book": book}, **arguments_of(api, endpoint))
        assert body["meta"]["book"] == book
        assert body["data"]
        assert {row.get("book", book) for row in body["data"]} == {book}


@pytest.mark.parametrize(("key", "expected"), [("reader", PLAIN_BOOKS), ("raw", PLAIN_BOOKS + RAW_BOOKS)])
def test_the_list_of_books_has_a_row_for_each_dataset(
    api: ContractApp, key: str, expected: list[str]
) -> None:
    rows = api.rows("portfolio.books", key=key, alpha=FULL)
    pairs = [(row["book"], row["kind"]) for row in rows]
    assert len(pairs) == {"reader": 12, "raw": 24}[key]
    assert list(dict.fromkeys(book for book, _ in pairs)) == expected
    for book, kind in pairs:
        assert kind == "trades" if book.endswith(TRADE_ONLY_SUFFIXES) else kind in BOOK_KINDS
    for row in rows:
        listed = {"portfolio": "portfolio.ledger"}.get(row["kind"], f"portfolio.{row['kind']}")
        served = api.rows(listed, {"book": row["book"]}, alpha=FULL)
        assert len(served) == row["rows"]
        days = sorted({(x["date"] if "date" in x else x["timestamp"])[:10] for x in served})
        assert len(days) == row["sessions"]
        assert (row["from"], row["to"]) == ((days[0], days[-1]) if days else (None, None))


def test_a_run_without_the_unsmoothed_signal_has_no_raw_books(api: ContractApp) -> None:
    rows = api.rows("portfolio.books", alpha=PLAIN)
    assert not [row for row in rows if row["raw"]]
    error = api.refused("portfolio.ledger", {"book": "raw_long_short"}, alpha=PLAIN)
    assert error["code"] == "unknown_book"


def test_trades_without_a_book_list_the_books_of_the_key(api: ContractApp) -> None:
    for key, expected in (("reader", PLAIN_BOOKS), ("raw", PLAIN_BOOKS + RAW_BOOKS)):
        error = api.refused("portfolio.trades", key=key, alpha=FULL)
        assert error["code"] == "bad_request"
        assert [entry["name"] for entry in error["details"]["parameters"]] == ["book"]
        assert error["details"]["available"] == expected


@pytest.mark.parametrize("alpha", ["Prod_hidden", "Prod_absent"])
def test_trades_without_a_book_list_no_book_of_a_forbidden_alpha(api: ContractApp, alpha: str) -> None:
    error = api.refused("portfolio.trades", key="testing", alpha=alpha)
    assert (error["code"], error["details"]) == ("run_not_allowed", None)


@every(tuple(e for e in TAKING_A_BOOK if e.shape is Shape.OBJECT and e.id.startswith("research.")))
def test_a_trade_only_book_has_its_figures_withheld_with_reasons(
    api: ContractApp, endpoint: Endpoint
) -> None:
    data = api.ok(
        endpoint, {**CASES[endpoint.id].query, "book": PLAIN_BOOKS[-1]}, **arguments_of(api, endpoint)
    )["data"]
    assert data["withheld"]
    assert all("portfolio" in reason for reason in data["withheld"].values())
