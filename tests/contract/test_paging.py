"""Paging: pages cover the rows once, in order, with correct totals."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.tables.books import BOOK_KINDS, book_order
from tests.contract.cases import CASES, COLLECTIONS, arguments_of, every
from tests.support.contract_app import FULL, ContractApp

COUNTING = {"meta.keys"}
"""Rows that show how many calls were made differ from one call to the next."""


def still(endpoint: Endpoint, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if endpoint.id not in COUNTING or k != "usage"} for row in rows]


NARROWED = [
    ("signals.rebalances.get", {"sort": "weight", "direction": "long"}),
    ("signals.scores", {"symbol": "SIM001,SIM002,SIM003", "from": "2020-01-04", "fields": "all"}),
    ("portfolio.pnl", {"symbol": "SIM001"}),
    ("research.screen", {"sort": "-icir"}),
]


@pytest.mark.parametrize(
    ("endpoint", "narrowed"),
    [(e, {}) for e in COLLECTIONS] + [(ENDPOINTS[name], query) for name, query in NARROWED],
    ids=lambda value: value.id if isinstance(value, Endpoint) else None,
)
def test_pages_cover_every_row_once_in_order(
    api: ContractApp, endpoint: Endpoint, narrowed: dict[str, str]
) -> None:
    arguments, query = arguments_of(api, endpoint), {**CASES[endpoint.id].query, **narrowed}
    everything = still(endpoint, api.rows(endpoint, query, **arguments))
    total = len(everything)
    for limit in sorted({1, 7, total - 1, total, total + 1, 97} - {0}):
        if total / limit > 120:
            continue
        gathered: list[dict[str, Any]] = []
        more = True
        while more:
            page = api.ok(endpoint, {**query, "limit": limit, "offset": len(gathered)}, **arguments)
            place = page["pagination"]
            assert place["limit"] == limit
            assert place["offset"] == len(gathered)
            assert place["returned"] == len(page["data"])
            assert place["total"] == total
            assert place["has_more"] == (place["offset"] + place["returned"] < total)
            assert place["returned"] == limit or not place["has_more"]
            gathered += still(endpoint, page["data"])
            more = place["has_more"]
            assert page["data"] or not more
        assert gathered == everything


@every(COLLECTIONS)
def test_a_page_past_the_end_is_empty_with_the_total(api: ContractApp, endpoint: Endpoint) -> None:
    arguments, query = arguments_of(api, endpoint), CASES[endpoint.id].query
    total = api.ok(endpoint, query, **arguments)["pagination"]["total"]
    for offset in (total, total + 1, 2**53 - 1):
        page = api.ok(endpoint, {**query, "offset": offset}, **arguments)
        assert page["data"] == []
        assert page["pagination"] == {
            "limit": page["pagination"]["limit"],
            "offset": offset,
            "returned": 0,
            "total": total,
            "has_more": False,
        }
        assert "warnings" not in page["meta"], "rows are there, only not on this page"


# The meta of changes holds the cursor of the page's end.
@every(e for e in COLLECTIONS if e.id != "research.changes")
def test_meta_is_the_same_on_every_page(api: ContractApp, endpoint: Endpoint) -> None:
    arguments, query = arguments_of(api, endpoint), CASES[endpoint.id].query
    first = api.ok(endpoint, {**query, "limit": 1}, **arguments)
    second = api.ok(endpoint, {**query, "limit": 2, "offset": 1}, **arguments)
    assert first["meta"] == second["meta"]


@every(e for e in COLLECTIONS if CASES[e.id].order)
def test_rows_are_in_the_documented_order(api: ContractApp, endpoint: Endpoint) -> None:
    rows = api.rows(endpoint, CASES[endpoint.id].query, **arguments_of(api, endpoint))
    keys = [tuple(row[name] for name in CASES[endpoint.id].order) for row in rows]
    assert keys == sorted(keys)
    assert len(set(keys)) > 1


def test_books_are_in_canonical_order(api: ContractApp) -> None:
    rows = api.rows("portfolio.books", alpha=FULL)
    keys = [(book_order(row["book"]), BOOK_KINDS.index(row["kind"])) for row in rows]
    assert keys == sorted(keys)
    assert len(rows) == 24
    assert [row["raw"] for row in rows] == [False] * 12 + [True] * 12


def test_keys_are_sorted_newest_first(api: ContractApp) -> None:
    created = [row["created_at"] for row in api.rows("meta.keys")]
    assert created == sorted(created, reverse=True)
