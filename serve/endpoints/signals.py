"""The weekly signal: index, one week's cross-section, the panel of all weeks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.endpoints import ENDPOINTS
from schemas.parameters import BOOK, SIDES, SYMBOL
from serve.http.handler import EndpointFunction, PageEndpoint
from serve.http.request import Request
from serve.pages.query import PageQuery, weight_column

_SORT_COLUMNS: Final = {"score": "score", "rank": "average_rank", "symbol": "symbol"}
_DESCENDING: Final = frozenset({"score", "weight"})
"""Columns that sort descending by default."""


def stored_rows(request: Request) -> PageQuery:
    """Query the rows that the endpoint declares, in file order; without `from` and `to`, of all days."""
    endpoint, snapshot, values = ENDPOINTS[request.endpoint or ""], request.snapshot, request.values
    return PageQuery(
        snapshot.key,
        snapshot.published_at,
        endpoint.datasets[-1],  # that of a cross-section also reads the index of weeks
        endpoint.payload.name,
        request.raw,
        values.get(BOOK.name),
        values.get("from"),
        values.get("to"),
        values.get(SYMBOL.name),
        limit=values["limit"],
        offset=values["offset"],
    )


def cross_section(request: Request) -> PageQuery:
    """Query the cross-section of one week."""
    values, sort = request.values, request.values["sort"]
    return stored_rows(request)._replace(
        first=values["date"],
        last=values["date"],
        direction=SIDES.get(values["direction"]),
        min_abs_weight=values["min_abs_weight"],
        sort=weight_column(values["book"]) if sort == "weight" else _SORT_COLUMNS[sort],
        descending=sort in _DESCENDING if values["order"] is None else values["order"] == "desc",
    )


def scores(request: Request) -> PageQuery:
    """Query the panel, one row per symbol per week."""
    query = stored_rows(request)
    return query if request.values["fields"] == "core" else query._replace(row="score_all")


def _panel_meta(request: Request, _: PageQuery) -> Mapping[str, Any]:
    return {"fields": request.values["fields"]}


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "signals.rebalances.list": PageEndpoint(stored_rows),
    "signals.rebalances.get": PageEndpoint(cross_section),
    "signals.scores": PageEndpoint(scores, _panel_meta),
}
