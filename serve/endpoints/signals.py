"""The weekly signal: index, one week's cross-section, the panel of all weeks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from schemas.parameters import SIDES, SYMBOL
from serve.http.handler import EndpointFunction, PageEndpoint
from serve.http.request import Request
from serve.pages.query import DECISION, PageQuery, PageResult, weight_column

_SORT_COLUMNS: Final = {"score": "score", "rank": "average_rank", "symbol": "symbol"}
_DESCENDING: Final = frozenset({"score", "weight"})
"""Columns that sort descending by default."""


def window_query(request: Request, table: str, row: str, book: str | None = None) -> PageQuery:
    """Return the query of a request in file order; without `from` and `to`, of all days.

    Parameters
    ----------
    table, row
        Names of the published table, and of the row model.
    book
        Book whose rows are requested; None for a table that is not partitioned by book.
    """
    snapshot, values = request.snapshot, request.values
    return PageQuery(
        snapshot.key,
        snapshot.published_at,
        table,
        row,
        request.raw,
        book,
        values.get("from"),
        values.get("to"),
        values.get(SYMBOL.name),
        limit=values["limit"],
        offset=values["offset"],
    )


def rebalances(request: Request) -> PageQuery:
    """Query the rebalance weeks."""
    return window_query(request, "rebalances", "rebalance")


def cross_section(request: Request) -> PageQuery:
    """Query the cross-section of one week."""
    values, sort = request.values, request.values["sort"]
    date, book = values["date"], values["book"]
    return window_query(request, "decisions", DECISION, book)._replace(
        first=date,
        last=date,
        direction=SIDES.get(values["direction"]),
        min_abs_weight=values["min_abs_weight"],
        sort=weight_column(book) if sort == "weight" else _SORT_COLUMNS[sort],
        descending=sort in _DESCENDING if values["order"] is None else values["order"] == "desc",
    )


def scores(request: Request) -> PageQuery:
    """Query the panel, one row per symbol per week."""
    return window_query(request, "decisions", "score" if request.values["fields"] == "core" else "score_all")


def _week_meta(_: Request, query: PageQuery, page: PageResult) -> Mapping[str, Any]:
    date, week = query.first, page.week
    assert isinstance(date, dt.date)
    return {
        "book": query.book,
        "date": date.isoformat(),
        "week_status": None if week is None else week.status,
        "n_symbols": 0 if week is None or page.missing else week.symbols,
    }


def _panel_meta(request: Request, _: PageQuery, __: PageResult) -> Mapping[str, Any]:
    return {"fields": request.values["fields"]}


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "signals.rebalances.list": PageEndpoint(rebalances),
    "signals.rebalances.get": PageEndpoint(cross_section, _week_meta),
    "signals.scores": PageEndpoint(scores, _panel_meta),
}
