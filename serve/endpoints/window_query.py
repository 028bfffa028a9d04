"""The query of a page of the rows of some days, of some symbols where the endpoint takes them."""

from __future__ import annotations

from schemas.parameters import SYMBOL
from serve.http.request import Request
from serve.pages.query import PageQuery

_SYMBOL = SYMBOL.name


def window_query(request: Request, table: str, row: str, book: str | None = None) -> PageQuery:
    """Return the query of a request, in the order of the file.

    Parameters
    ----------
    table, row
        Names of the published table, and of the row model.
    book
        Whose rows; None for a table that is not partitioned by book.
    """
    snapshot, values = request.snapshot, request.values
    return PageQuery(
        snapshot.key,
        snapshot.published_at,
        table,
        row,
        request.raw,
        book,
        values["from"],
        values["to"],
        values.get(_SYMBOL),
        limit=values["limit"],
        offset=values["offset"],
    )
