"""A page query as SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Final

from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.table import Column
from schemas.tables import TABLES
from schemas.tables.books import BOOK_KINDS
from schemas.units import Type
from serve.pages.page_query import PageQuery
from serve.pages.rebalances import RebalanceIndex
from serve.pages.sql import (
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

DAY_COLUMNS: Final = {
    name: table["date" if "date" in table else "timestamp"]
    for name, table in TABLES.items()
    if "date" in table or "timestamp" in table
}
"""Table -> the column a window of days acts on: the day where there is one, else the instant."""


def compile_page(
    query: PageQuery, book: str | None, snapshot: Snapshot, index: RebalanceIndex | None = None
) -> Paged:
    """Return the SQL of a page of a stored table.

    Parameters
    ----------
    book
        The one whose file holds the rows; None where one file holds all.
    snapshot
        The one the query names; it has the table, and rows of it.
    index
        Its rebalance index where it is known: of decisions it gives the row range of the days in the file.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When the file is gone or is not what was published.
    """
    table, model = TABLES[query.table], ROWS[query.row]
    filters = _filters(query)
    present, file, n_rows = (
        snapshot.columns(query.table),
        snapshot.file(query.table, book),
        snapshot.entry(query.table, book).rows,
    )
    columns = projection(
        model,
        present,
        raw=query.raw,
        constants=None if book is None else {"book": book},
    )
    stored = source(file)
    if query.sort is None:
        order = stored_order(table)
    else:
        terms = [(query.sort, query.descending), ("symbol", False)]
        order = make_order_by(*(terms[:1] if query.sort == "symbol" else terms))
    span = None if filters else _find_row_range(query, n_rows, index)
    if span is not None and query.sort is None:
        first, total = span
        return row_range(
            columns,
            stored,
            order,
            first=first,
            total=total,
            limit=query.limit,
            offset=query.offset,
        )
    total_known = None if span is None else span[1]
    return paged(
        columns,
        stored,
        [*window(DAY_COLUMNS[query.table], query.first, query.last), *filters],
        order,
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
        [_is_in("book", books)],
        f"list_position(?, {quoted('book')}), list_position(?, {quoted('kind')})",
        limit=query.limit,
        offset=query.offset,
        order_binds=(list(books), list(BOOK_KINDS)),
    )


def _find_row_range(query: PageQuery, rows: int, index: RebalanceIndex | None) -> tuple[int, int] | None:
    """Return the first row of the query's days in a file of so many rows, and their number, where that is known."""
    if query.first is None and query.last is None:
        return 0, rows
    if query.table != "decisions" or index is None or index.rows != rows:
        return None
    return index.rows_between(query.first, query.last)


def _filters(query: PageQuery) -> list[Statement]:
    """Return the conditions that leave out rows of the days."""
    found = []
    if query.symbols is not None:
        found.append(_is_in("symbol", query.symbols))
    if query.direction is not None:
        found.append(Statement(f"{quoted('direction')} = ?", (query.direction,)))
    if query.min_abs_weight is not None:
        found.append(Statement(f"abs({quoted(query.weight)}) >= ?", (query.min_abs_weight,)))
    return found


def window(column: Column, first: dt.date | None, last: dt.date | None) -> list[Statement]:
    """Return the conditions that keep rows from one day to another, both inclusive.

    Parameters
    ----------
    column
        A day, or an instant, of which the day in UTC counts.
    first, last
        None leaves that end open.
    """
    name = quoted(column.name)
    if column.type is not Type.TIMESTAMP:
        ends = ((">=", first), ("<=", last))
        return [Statement(f"{name} {sign} ?", (day,)) for sign, day in ends if day is not None]
    found = []
    if first is not None:
        found.append(Statement(f"{name} >= ?", (_midnight(first),)))
    if last is not None and last < dt.date.max:  # no day follows the last one, and no row either
        found.append(Statement(f"{name} < ?", (_midnight(last + dt.timedelta(days=1)),)))
    return found


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)


def _is_in(name: str, values: Sequence[str]) -> Statement:
    return Statement(f"{quoted(name)} IN ({', '.join('?' * len(values))})", tuple(values))
