"""A page query as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.table import Table
from schemas.tables import TABLES
from schemas.tables.books import BOOK_KINDS
from serve.query import filters
from serve.query.page_query import PageQuery
from serve.query.rebalances import RebalanceIndex
from serve.query.sql import (
    Paged,
    Statement,
    make_order_by,
    paged,
    projection,
    quoted,
    row_range,
    source,
    stored_order,
)

_BOOKS: Final = TABLES["books"]


def compile_page(query: PageQuery, snapshot: Snapshot, index: RebalanceIndex | None = None) -> Paged:
    """Return the SQL of a page of a stored table.

    Parameters
    ----------
    snapshot
        The one the query names; it has the table, and rows of it.
    index
        Its rebalance index where it is known: of decisions it tells where the days lie in the file, and their number.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When the file is gone or is not what was published.
    """
    table, model = TABLES[query.table], ROWS[query.row]
    book = query.partition
    columns = projection(
        model,
        snapshot.columns(query.table),
        raw=query.raw,
        constants=None if book is None else {"book": book},
    )
    stored = source(snapshot.file(query.table, book))
    lies = None if query.filters_rows else _place(query, snapshot, index)
    if lies is not None and query.sort is None:
        first, total = lies
        return row_range(
            columns,
            stored,
            stored_order(table),
            first=first,
            total=total,
            limit=query.limit,
            offset=query.offset,
        )
    total_known = None if lies is None else lies[1]
    return paged(
        columns,
        stored,
        _conditions(query, table),
        _order(query, table),
        limit=query.limit,
        offset=query.offset,
        total=total_known,
    )


def compile_books(query: PageQuery, snapshot: Snapshot, books: Sequence[str]) -> Paged:
    """Return the SQL of a page of the list of books.

    Parameters
    ----------
    books
        Those the key can see, in the order they are listed.
    """
    return paged(
        projection(ROWS[query.row], snapshot.columns(query.table), raw=query.raw),
        source(snapshot.file(query.table)),
        filters.tickers(_BOOKS["book"], books),
        f"list_position(?, {quoted('book')}), list_position(?, {quoted('kind')})",
        limit=query.limit,
        offset=query.offset,
        order_binds=(list(books), list(BOOK_KINDS)),
    )


def _place(query: PageQuery, snapshot: Snapshot, index: RebalanceIndex | None) -> tuple[int, int] | None:
    """Return the number of the first row of the query's days in the file, and how many rows they have, where that is known."""
    rows = snapshot.entry(query.table, query.partition).rows
    if query.first is None and query.last is None:
        return 0, rows
    if query.table != "decisions" or index is None or index.rows != rows:
        return None
    return index.rows_between(query.first, query.last)


def _conditions(query: PageQuery, table: Table) -> list[Statement]:
    found = filters.window(table[day_column(table)], query.first, query.last)
    if query.symbols is not None:
        found += filters.tickers(table["symbol"], query.symbols)
    if query.direction is not None:
        found += filters.equals(table["direction"], query.direction)
    if query.min_abs_weight is not None:
        found += filters.at_least_in_size(table[query.weight], query.min_abs_weight)
    return found


def _order(query: PageQuery, table: Table) -> str:
    if query.sort is None:
        return stored_order(table)
    terms = [(query.sort, query.descending), ("symbol", False)]
    return make_order_by(*(terms[:1] if query.sort == "symbol" else terms))


def day_column(table: Table) -> str:
    """Name the column a window of days acts on: the day where there is one, else the instant."""
    return "date" if "date" in table else "timestamp"
