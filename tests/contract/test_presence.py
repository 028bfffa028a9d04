"""Empty pages, nulls, omitted columns, and fields hidden without raw access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.tables.books import BOOK_KINDS
from tests.contract.cases import CASES, OF_A_RUN, arguments_of, every, pending_week, traded_week
from tests.support.contract_app import BARE, EMPTY, FULL, LEFT_OUT, NOWHERE, PLAIN, UNDECIDED, ContractApp


def keys_of(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield key
            yield from keys_of(child)
    elif isinstance(node, list):
        for child in node:
            yield from keys_of(child)


def texts_of(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from texts_of(child)
    elif isinstance(node, str):
        yield node


@pytest.mark.parametrize("alpha", [EMPTY, BARE])
@every(e for e in OF_A_RUN if e.shape is Shape.COLLECTION)
def test_a_missing_kind_is_an_empty_page_with_a_warning(
    api: ContractApp, endpoint: Endpoint, alpha: str
) -> None:
    body = api.ok(
        endpoint, {**CASES[endpoint.id].query, **_book(endpoint)}, **arguments_of(api, endpoint, alpha=alpha)
    )
    assert body["data"] == []
    assert body["pagination"]["total"] == 0
    assert body["pagination"]["has_more"] is False
    warnings = body["meta"]["warnings"]
    assert {warning["code"] for warning in warnings} == {"kind_missing"}
    missing = set(BOOK_KINDS) if endpoint.id == "portfolio.books" else {endpoint.datasets[0]}
    assert {warning["kind"] for warning in warnings} == missing
    assert all(warning["message"] for warning in warnings)


def _book(endpoint: Endpoint) -> dict[str, str]:
    return {"book": "long_short"} if "book" in {p.name for p in endpoint.query} else {}


def test_metrics_of_a_run_without_data_withhold_every_figure_with_a_reason(api: ContractApp) -> None:
    for query in ({}, {"panel": "1", "doc": "1", "granularity": "monthly"}):
        body = api.ok("performance.metrics", query, alpha=EMPTY)
        data = body["data"]
        for name, entry in data["core"].items():
            if name != "tenure":
                assert entry["status"] == "not_measurable"
                assert entry["value"] is None
                assert entry["withheld_reason"]
        assert data["core"]["tenure"] is None
        assert data["ic_deciles"] is None
        assert set(data["nwt"].values()) == {None}
        assert body["meta"]["warnings"]


def test_a_run_without_cross_sections_still_lists_its_weeks(api: ContractApp) -> None:
    rows = api.rows("signals.rebalances.list", alpha=UNDECIDED)
    assert rows
    assert {frozenset(row) for row in rows} == {frozenset({"date", "week_status"})}
    week = next(row for row in rows if row["week_status"] == "traded")
    body = api.ok("signals.rebalances.get", alpha=UNDECIDED, date=week["date"])
    assert body["data"] == []
    assert body["meta"]["week_status"] == "traded"
    assert [x["kind"] for x in body["meta"]["warnings"]] == ["decisions"]
    error = api.refused("signals.rebalances.get", alpha=UNDECIDED, date="2020-01-01")
    assert error["code"] == "rebalance_not_found"


def test_unrecorded_columns_are_omitted_from_a_cross_section(api: ContractApp) -> None:
    rows = api.rows("signals.rebalances.list", alpha=PLAIN)
    week = next(row["date"] for row in rows if row["week_status"] == "traded")
    plain = api.rows("signals.rebalances.get", alpha=PLAIN, date=week)
    full = api.rows("signals.rebalances.get", alpha=FULL, date=traded_week(api))
    assert plain
    assert full
    for row in plain:
        assert not set(LEFT_OUT) & set(row)
        assert not [name for name in row if name.startswith("raw_")]
        assert {"fill_at", "unavailability_reason", "average_rank"} <= set(row)
    for row in full:
        assert set(LEFT_OUT) <= set(row)


@pytest.mark.parametrize("fields", ["core", "all"])
def test_an_unrecorded_forward_return_is_null_in_the_panel(api: ContractApp, fields: str) -> None:
    rows = api.rows("signals.scores", {"fields": fields}, alpha=PLAIN)
    assert {row["forward_return"] for row in rows} == {None}
    for row in rows:
        assert not set(LEFT_OUT) - {"forward_return"} & set(row)


def test_a_pending_week_has_nulls(api: ContractApp) -> None:
    body = api.ok("signals.rebalances.get", alpha=FULL, date=pending_week(api))
    assert body["meta"]["week_status"] == "pending"
    assert body["data"]
    for row in body["data"]:
        assert row["fill_at"] is None
        assert row["forward_return"] is None


def test_a_description_has_every_documented_key_and_may_be_missing(api: ContractApp) -> None:
    # Every answer is checked against the document, which requires every key.
    body = api.ok("catalog.alphas.get", alpha=FULL)
    assert body["data"]["algo_id"] == body["data"]["alpha_id"] == FULL
    assert body["meta"]["alpha_id"] == FULL
    assert [paper["role"] for paper in body["data"]["source_papers"]].count("seed") == 1
    assert body["data"]["thesis"]["falsification_criteria"] == []
    error = api.refused("catalog.alphas.get", alpha=PLAIN)
    assert error["code"] == "alpha_description_not_found"
    assert api.refused("catalog.alphas.get", alpha=NOWHERE)["code"] == "alpha_not_found"


def variants(endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Yield requests that together show every part of an endpoint's answer."""
    base = dict(CASES[endpoint.id].query)
    names = {p.name for p in endpoint.query}
    limit = {"limit": 5000} if "limit" in names else {}
    yield {**base, **limit}
    if "fields" in names:
        yield {**base, **limit, "fields": "all"}
    if "panel" in names:
        yield {"panel": 1, "doc": 1, "granularity": "yearly"}
        yield {"panel": 1, "granularity": "monthly"}
    if "book" in names:
        yield {**base, "book": "nothing"}
        yield {**base, "book": "raw_long_short"}
        yield {"limit": 0}
        yield {}


@every(e for e in ENDPOINTS.values() if not e.public and not e.admin)
def test_no_raw_field_reaches_a_key_without_raw_access(api: ContractApp, endpoint: Endpoint) -> None:
    for query in variants(endpoint):
        response = api.get(endpoint, query, **{**arguments_of(api, endpoint), "key": "reader"})
        body = response.json()
        assert not [key for key in keys_of(body) if key.startswith("raw_")], query
        if endpoint.id not in ("performance.metrics", "performance.metrics.doc"):
            assert not [text for text in texts_of(body) if text.startswith("raw_")], query


@pytest.mark.parametrize(
    ("name", "query", "expected"),
    [
        ("signals.rebalances.get", {}, {"raw_score", "raw_direction", "raw_fill_at", "raw_decision_reason"}),
        ("signals.scores", {}, {"raw_score"}),
        (
            "signals.scores",
            {"fields": "all"},
            {"raw_score", "raw_average_rank", "raw_long_only_target_weight"},
        ),
    ],
)
def test_a_key_with_raw_access_sees_raw_fields(
    api: ContractApp, name: str, query: dict[str, str], expected: set[str]
) -> None:
    endpoint = ENDPOINTS[name]
    with_raw = api.rows(endpoint, query, **arguments_of(api, endpoint))
    without = api.rows(endpoint, query, **{**arguments_of(api, endpoint), "key": "reader"})
    assert expected <= set(with_raw[0])
    hidden = {key for key in with_raw[0] if key.startswith("raw_")}
    assert without == [{k: v for k, v in row.items() if k not in hidden} for row in with_raw]


def test_the_sealed_name_of_the_raw_score_is_never_published(api: ContractApp) -> None:
    for endpoint in ENDPOINTS.values():
        if endpoint.id != "catalog.alphas.source.download":
            for query in variants(endpoint):
                response = api.get(endpoint, query, **arguments_of(api, endpoint))
                assert "unsmoothed_score" not in response.text


def test_raw_figures_are_served_like_others(api: ContractApp) -> None:
    shown = [
        api.ok("performance.metrics", {"panel": 1}, key=key, alpha=FULL)["data"] for key in ("reader", "raw")
    ]
    for without, with_access in (
        (shown[0]["ic_deciles"], shown[1]["ic_deciles"]),
        *((entry, shown[1]["rank_ic"]["raw"][name]) for name, entry in shown[0]["rank_ic"]["raw"].items()),
    ):
        # Everybody may see the figures, but not the names of the column and of the records.
        for name in ("score_field", "source"):
            if name in with_access:
                assert with_access.pop(name).startswith("raw_")
                assert without.pop(name) is None
    # With the half-life the signal could be reconstructed from the scores.
    smoothing, smoothing_with_access = (data.pop("signal_processing") for data in shown)
    assert smoothing_with_access["smoothing_half_life_weeks"] is not None
    assert smoothing == {**smoothing_with_access, "smoothing_half_life_weeks": None, "detail": None}
    # The share proven by fills depends on the books that the key may see.
    proven, proven_by_all = (data["checked"].pop("forward_returns_proven") for data in shown)
    assert 0 < proven <= proven_by_all
    assert shown[0] == shown[1]
    assert shown[0]["ic_deciles"] is not None
    assert shown[0]["nwt"]["ic_score_panel"] is not None
    assert shown[0]["panel"] is not None
