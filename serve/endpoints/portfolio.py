"""The books: their list, ledger, positions, profit and loss, trades and equity curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.parameters import SYMBOL
from schemas.rows import ROWS
from schemas.tables.books import BOOK_KINDS
from serve.endpoints.symbol_warnings import warnings_of_symbols
from serve.http.answer import Answerer, Page, empty
from serve.http.context import Context
from serve.http.envelope import kind_missing
from serve.query import books as query
from serve.query.equity import curve, summary_of_nothing
from serve.query.readable_books import NothingOfKind, choose_book, visible_books
from serve.query.sql import Paged
from serve.query.views import book_view

_BY_SYMBOL: Final = SYMBOL.name


def books(context: Context) -> Page:
    """List the books, with the size and span of each of their datasets."""
    snapshot = context.snapshot
    visible = visible_books(snapshot, raw=context.raw)
    meta = _portfolio_meta(context)
    if not visible or not snapshot.has("books"):
        return empty(meta, *(kind_missing(kind) for kind in BOOK_KINDS))
    rows = context.reader.page(
        query.summary(
            snapshot.file("books"), snapshot.columns("books"), context.values, raw=context.raw, books=visible
        )
    )
    return Page(rows.pieces, rows.returned, rows.total, meta)


def rows_of_book(context: Context) -> Page:
    """Return the rows of one book: the dataset and the row are those the endpoint declares."""
    snapshot, values = context.snapshot, context.values
    (kind,) = context.endpoint.datasets
    meta = {**_portfolio_meta(context), "book": values["book"]}
    chosen = choose_book(snapshot, kind, values["book"], raw=context.raw)
    if isinstance(chosen, NothingOfKind):
        return empty(meta, kind_missing(chosen.kind))
    model, book = ROWS[context.endpoint.row], chosen.name

    def direct() -> Paged:
        return query.rows_of_book(
            model,
            snapshot.file(kind, book),
            snapshot.columns(kind),
            values,
            raw=context.raw,
            book=book,
            rows=snapshot.entry(kind, book).rows,
        )

    asked = book_view(snapshot, context.endpoint.id, book, raw=context.raw)
    warnings = warnings_of_symbols(context) if _BY_SYMBOL in values else ()
    rows = context.service.pages.window(asked, values, direct, hurried=context.hurried)
    return Page(rows.pieces, rows.returned, rows.total, meta, warnings, shared=rows.shared)


def equity_curve(context: Context) -> Page:
    """Return the equity curve of one book, measured over the window before it is paged."""
    snapshot, values = context.snapshot, context.values
    (kind,) = context.endpoint.datasets
    meta = {**_portfolio_meta(context), "book": values["book"]}
    chosen = choose_book(snapshot, kind, values["book"], raw=context.raw)
    if isinstance(chosen, NothingOfKind):
        summary = summary_of_nothing(values["book"])
        return empty({**meta, "summary": summary}, kind_missing(chosen.kind))
    ledger, window = context.service.ledgers.window(
        snapshot, chosen.name, values["from"], values["to"], hurried=context.hurried
    )
    found = curve(ledger, chosen.name, window, offset=values["offset"], limit=values["limit"])
    return Page(found.rows, found.returned, found.total, {**meta, "summary": found.summary})


def _portfolio_meta(context: Context) -> dict[str, Any]:
    snapshot = context.snapshot
    return {**context.named(snapshot.alpha_id), "source_alpha_id": snapshot.manifest.source_alpha_id}


ROUTES: Final[Mapping[str, Answerer]] = {
    "portfolio.books": books,
    "portfolio.ledger": rows_of_book,
    "portfolio.positions": rows_of_book,
    "portfolio.pnl": rows_of_book,
    "portfolio.trades": rows_of_book,
    "portfolio.equity_curve": equity_curve,
}
