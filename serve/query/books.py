"""Queries over the datasets that are kept by book."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from schemas.rows import ROWS, RowModel
from schemas.table import Table
from schemas.tables import TABLES
from schemas.tables.books import BOOK_KINDS
from serve.query import filters
from serve.query.sql import (
    Paged,
    Statement,
    order_of,
    paged,
    projection,
    quoted,
    selected,
    source,
    stored_order,
    stretch,
)

_BOOKS: Final = TABLES["books"]
_LEDGER: Final = TABLES["portfolio"]


def day_column(table: Table) -> str:
    """Name the column a window of days acts on: the day where there is one, else the instant."""
    return "date" if "date" in table else "timestamp"


def rows_of_book(
    model: RowModel,
    file: str,
    present: Collection[str],
    values: Mapping[str, Any],
    *,
    raw: bool,
    book: str,
    rows: int,
) -> Paged:
    """Return the query of a page of one book's rows.

    Parameters
    ----------
    model
        A row of a table that is kept by book.
    file
        The book's file, which has no column for the book.
    rows
        How many the file holds.
    """
    table = model.table
    assert table is not None
    columns, stored, order = (
        projection(model, present, raw=raw, constants={"book": book}),
        source(file),
        stored_order(table),
    )
    conditions = filters.window(table[day_column(table)], values["from"], values["to"])
    if "symbol" in table:
        conditions += filters.tickers(table["symbol"], values["symbol"])
    page = {"limit": values["limit"], "offset": values["offset"]}
    if not conditions:
        return stretch(columns, stored, order, first=0, total=rows, **page)
    return paged(columns, stored, conditions, order, **page)


def summary(
    file: str, present: Collection[str], values: Mapping[str, Any], *, raw: bool, books: Sequence[str]
) -> Paged:
    """Return the query of a page of the list of books.

    Parameters
    ----------
    books
        Those the key can see, in the order they are listed.
    """
    return paged(
        projection(ROWS["book"], present, raw=raw),
        source(file),
        filters.tickers(_BOOKS["book"], books),
        f"list_position(?, {quoted('book')}), list_position(?, {quoted('kind')})",
        limit=values["limit"],
        offset=values["offset"],
        order_binds=(list(books), list(BOOK_KINDS)),
    )


def names_of(file: str) -> Statement:
    """Return the query of the distinct names of a file that has any."""
    stored, column = source(file), quoted("symbol")
    sql = f"SELECT DISTINCT {column} FROM {stored.sql} WHERE {column} IS NOT NULL"  # noqa: S608 - declared names only
    return Statement(sql, stored.binds)


def ledger_window(
    file: str, columns: Sequence[str], first: dt.date | None, last: dt.date | None
) -> Statement:
    """Return the query of a book's whole window of ledger columns, in order of sessions."""
    chosen = Statement(", ".join(quoted(name) for name in columns))
    return selected(
        chosen, source(file), filters.window(_LEDGER["date"], first, last), order_of(("date", False))
    )
