"""The books: their list, ledger, positions, profit and loss, trades and equity curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.endpoints import ENDPOINTS
from serve.endpoints.signals import window_query
from serve.http.handler import EndpointFunction, PageEndpoint
from serve.http.request import Request
from serve.pages.query import PageQuery, PageResult


def books(request: Request) -> PageQuery:
    """List the books, with the size and span of each of their tables."""
    return window_query(request, "books", "book")


def rows_of_book(request: Request) -> PageQuery:
    """Query rows of one book, from the table that the endpoint declares."""
    endpoint = ENDPOINTS[request.endpoint or ""]
    (table,) = endpoint.datasets
    return window_query(request, table, endpoint.row, request.values["book"])


def equity_curve(request: Request) -> PageQuery:
    """Query the equity curve of one book."""
    return window_query(request, "portfolio", "equity", request.values["book"])


def _list_meta(request: Request, _: PageQuery, __: PageResult) -> Mapping[str, Any]:
    snapshot = request.snapshot
    return {"alpha_id": snapshot.alpha_id, "source_alpha_id": snapshot.manifest.source_alpha_id}


def _book_meta(request: Request, query: PageQuery, page: PageResult) -> Mapping[str, Any]:
    return {**_list_meta(request, query, page), "book": query.book}


def _curve_meta(request: Request, query: PageQuery, page: PageResult) -> Mapping[str, Any]:
    return {**_book_meta(request, query, page), "summary": page.summary}


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "portfolio.books": PageEndpoint(books, _list_meta, source="books"),
    "portfolio.ledger": PageEndpoint(rows_of_book, _book_meta),
    "portfolio.positions": PageEndpoint(rows_of_book, _book_meta),
    "portfolio.pnl": PageEndpoint(rows_of_book, _book_meta),
    "portfolio.trades": PageEndpoint(rows_of_book, _book_meta),
    "portfolio.equity_curve": PageEndpoint(equity_curve, _curve_meta, source="curves"),
}
