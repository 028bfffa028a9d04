"""The books: their list, ledger, positions, profit and loss, trades and equity curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from serve.endpoints.signals import stored_rows
from serve.http.handler import EndpointFunction, PageEndpoint
from serve.http.request import Request
from serve.pages.query import PageQuery


def _list_meta(request: Request, _: PageQuery) -> Mapping[str, Any]:
    snapshot = request.snapshot
    return {"alpha_id": snapshot.alpha_id, "source_alpha_id": snapshot.manifest.source_alpha_id}


def _book_meta(request: Request, query: PageQuery) -> Mapping[str, Any]:
    return {**_list_meta(request, query), "book": query.book}


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "portfolio.books": PageEndpoint(stored_rows, _list_meta, source="books"),
    "portfolio.ledger": PageEndpoint(stored_rows, _book_meta),
    "portfolio.positions": PageEndpoint(stored_rows, _book_meta),
    "portfolio.pnl": PageEndpoint(stored_rows, _book_meta),
    "portfolio.trades": PageEndpoint(stored_rows, _book_meta),
    "portfolio.equity_curve": PageEndpoint(stored_rows, _book_meta, source="curves"),
}
