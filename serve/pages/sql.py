"""A page query as SQL: fragments of SQL that carry their bound values.

SQL is put together from the declared names and the words in these modules alone; a value is always a question
mark, so the linter's warning about built SQL is answered here once.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from datasets.snapshot import Snapshot
from schemas.rows import ROWS, RowModel
from schemas.table import Column, Table
from schemas.tables import TABLES
from schemas.tables.books import BOOK_KINDS
from schemas.units import Type
from serve.pages.query import PageQuery

_GLOB: Final = re.compile(r"([*?\[])")
_SQL_TYPES: Final[dict[Type, str]] = {
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMPTZ",
    Type.F64: "DOUBLE",
    Type.I64: "BIGINT",
    Type.BOOL: "BOOLEAN",
    Type.STR: "VARCHAR",
}
"""The engine's name of each type."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A text of SQL, or a part of one, with the values of its question marks in order."""

    sql: str
    binds: tuple[object, ...] = ()


class PublishedFile(NamedTuple):
    """A published file: its address, the table's columns that it holds, and its number of rows."""

    address: str
    columns: Collection[str]
    rows: int


@dataclass(frozen=True, slots=True)
class PageStatements:
    """The query of one page, and the query of how many rows all pages hold.

    Attributes
    ----------
    total
        A statement that counts; a number when it is known without one.
    limit, offset
        The page, as `rows` applies it.
    """

    rows: Statement
    total: Statement | int
    limit: int
    offset: int


def quoted(name: str) -> str:
    """Quote a declared name."""
    return '"' + name.replace('"', '""') + '"'


def projection(
    model: RowModel,
    present: Collection[str],
    *,
    raw: bool,
    constants: Mapping[str, str] | None = None,
) -> Statement:
    """Choose what a row shows.

    Parameters
    ----------
    model
        The declared row.
    present
        Published columns the snapshot holds. A declared one that is not among them is left out, or null
        where the model says so.
    raw
        Whether the key sees the columns of the unconditioned signal.
    constants
        Columns that stand in the path of the file: name -> value.

    Returns
    -------
    Statement
        The select list.
    """
    parts: list[str] = []
    binds: list[object] = []
    for column in model.columns if raw else model.conditioned:
        name = quoted(column.name)
        if constants and column.name in constants:
            parts.append(f"?::VARCHAR AS {name}")
            binds.append(constants[column.name])
        elif column.name in present:
            parts.append(name)
        elif column.name in model.null_when_absent:
            parts.append(f"NULL::{_SQL_TYPES[column.type]} AS {name}")
    return Statement(", ".join(parts), tuple(binds))


def source(file: str) -> Statement:
    """Return the table expression of one published file.

    The address is a pattern to the engine, so the characters that would make it match other files are
    escaped; and the folders named ``column=value`` above the file must not become columns.
    """
    return Statement(
        "read_parquet(?, hive_partitioning = false, file_row_number = true)", (_GLOB.sub(r"[\1]", file),)
    )


def paged(
    columns: Statement,
    table: Statement,
    conditions: Sequence[Statement],
    order: str,
    *,
    limit: int,
    offset: int,
    order_binds: tuple[object, ...] = (),
) -> PageStatements:
    """Put the two queries of a filtered or sorted page together; `order_binds` are the values of the question marks in `order`."""
    where = _where(conditions)
    rows = Statement(
        f"SELECT {columns.sql} FROM {table.sql}{where.sql} ORDER BY {order} LIMIT ? OFFSET ?",  # noqa: S608 - see module
        (*columns.binds, *table.binds, *where.binds, *order_binds, limit, offset),
    )
    counting = f"SELECT count(*) FROM {table.sql}{where.sql}"  # noqa: S608 - see module
    return PageStatements(rows, Statement(counting, (*table.binds, *where.binds)), limit, offset)


def row_range(
    columns: Statement, table: Statement, order: str, *, limit: int, offset: int, total: int
) -> PageStatements:
    """Return the queries of a page of a file that is stored in this order.

    Its rows are selected by their numbers: the engine then reads only the part of the file that holds them.
    """
    rows = Statement(
        f"SELECT {columns.sql} FROM {table.sql}"  # noqa: S608 - see module
        f" WHERE file_row_number >= ? AND file_row_number < ? ORDER BY {order}",
        (*columns.binds, *table.binds, offset, min(offset + limit, total)),
    )
    return PageStatements(rows, total, limit, offset)


def select_symbols(stored: Statement) -> Statement:
    """Return the query of the distinct symbols of a table expression that has any."""
    column = quoted("symbol")
    sql = f"SELECT DISTINCT {column} FROM {stored.sql} WHERE {column} IS NOT NULL"  # noqa: S608 - see module
    return Statement(sql, stored.binds)


def _where(conditions: Sequence[Statement]) -> Statement:
    if not conditions:
        return Statement("")
    return Statement(
        " WHERE " + " AND ".join(x.sql for x in conditions),
        tuple(value for x in conditions for value in x.binds),
    )


def make_order_by(*terms: tuple[str, bool]) -> str:
    """Return an ORDER BY of declared names, each with whether it descends; nulls last either way."""
    return ", ".join(
        f"{quoted(name)} {'DESC' if descending else 'ASC'} NULLS LAST" for name, descending in terms
    )


def stored_order(table: Table) -> str:
    """Return the ORDER BY a published file of the table is stored in, less what stands in its path."""
    return make_order_by(*((name, False) for name in table.sort if name not in table.partition))


DAY_COLUMNS: Final = {
    name: table["date" if "date" in table else "timestamp"]
    for name, table in TABLES.items()
    if "date" in table or "timestamp" in table
}
"""Table -> the column a window of days acts on: the day where there is one, else the instant."""


def compile_page(query: PageQuery, file: PublishedFile, week_rows: int | None = None) -> PageStatements:
    """Return the SQL of a page of a stored table.

    Parameters
    ----------
    file
        Holds the rows of the table, of one book where it is partitioned by book.
    week_rows
        Rows of the week of a cross-section, which need no counting if no filter leaves any out.
    """
    table = TABLES[query.table]
    constants = {"book": query.book or ""} if table.partition else None
    columns = projection(ROWS[query.row], file.columns, raw=query.raw, constants=constants)
    stored, limit, offset = source(file.address), query.limit, query.offset
    filters = _filters(query)
    conditions = [*window(DAY_COLUMNS[query.table], query.first, query.last), *filters]
    order = stored_order(table)
    if query.sort is not None:
        terms = [(query.sort, query.descending), ("symbol", False)]
        order = make_order_by(*(terms[:1] if query.sort == "symbol" else terms))
    elif not conditions:
        return row_range(columns, stored, order, limit=limit, offset=offset, total=file.rows)
    page = paged(columns, stored, conditions, order, limit=limit, offset=offset)
    return page if filters or week_rows is None else replace(page, total=week_rows)


def compile_books(query: PageQuery, snapshot: Snapshot, books: Sequence[str]) -> PageStatements:
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


def _filters(query: PageQuery) -> list[Statement]:
    """Return the conditions that leave out rows of the days."""
    filters = []
    if query.symbols is not None:
        filters.append(_is_in("symbol", query.symbols))
    if query.direction is not None:
        filters.append(Statement(f"{quoted('direction')} = ?", (query.direction,)))
    if query.min_abs_weight is not None:
        filters.append(Statement(f"abs({quoted(query.weight)}) >= ?", (query.min_abs_weight,)))
    return filters


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
    conditions = []
    if first is not None:
        conditions.append(Statement(f"{name} >= ?", (_midnight(first),)))
    if last is not None and last < dt.date.max:  # no day follows the last one, and no row either
        conditions.append(Statement(f"{name} < ?", (_midnight(last + dt.timedelta(days=1)),)))
    return conditions


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)


def _is_in(name: str, values: Sequence[str]) -> Statement:
    return Statement(f"{quoted(name)} IN ({', '.join('?' * len(values))})", tuple(values))
