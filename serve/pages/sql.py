"""A page query as SQL: SQL fragments with their bound values.

SQL is assembled only from declared names and the literals of these modules; every value is bound to a placeholder.
This answers the linter's warning about assembled SQL for all of them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from schemas.rows import ROWS, RowModel
from schemas.table import Column
from schemas.tables import TABLES
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
    """A SQL statement or fragment, with the values of its placeholders in order."""

    sql: str
    binds: tuple[object, ...] = ()


class PublishedFile(NamedTuple):
    """A published file: its address, its columns of the table, and its number of rows."""

    address: str
    columns: Collection[str]
    rows: int


@dataclass(frozen=True, slots=True)
class PageStatements:
    """The query for one page, and the query for the total number of rows.

    Attributes
    ----------
    total
        Statement that counts the rows; their number if it is known without a query.
    limit, offset
        Limit and offset of `rows`.
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
    """Return the select list of a row.

    Parameters
    ----------
    model
        The declared row.
    present
        Published columns of the snapshot. A declared column that is missing is left out, or null where the
        model says so.
    raw
        Whether the key sees the columns of the unconditioned signal.
    constants
        Columns that are in the file's path, not in the file: name -> value.

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

    The engine reads the address as a pattern, so characters that would match other files are escaped. Folders
    named ``column=value`` in the path must not become columns.
    """
    return Statement(
        "read_parquet(?, hive_partitioning = false, file_row_number = true)", (_GLOB.sub(r"[\1]", file),)
    )


def select_symbols(stored: Statement) -> Statement:
    """Return the query for the distinct symbols of a table expression."""
    column = quoted("symbol")
    sql = f"SELECT DISTINCT {column} FROM {stored.sql} WHERE {column} IS NOT NULL"  # noqa: S608 - see module
    return Statement(sql, stored.binds)


DAY_COLUMNS: Final = {
    name: table["date" if "date" in table else "timestamp"]
    for name, table in TABLES.items()
    if "date" in table or "timestamp" in table
}
"""Table -> the column that a window of days filters: the date if there is one, else the timestamp."""


def compile_page(query: PageQuery, file: PublishedFile, week_rows: int | None = None) -> PageStatements:
    """Return the SQL of a page of a stored table.

    Parameters
    ----------
    file
        The file of the table, or of the query's book if the table is partitioned by book.
    week_rows
        Rows of a cross-section's week, which are the total if no filter applies, and need no counting.
    """
    table = TABLES[query.table]
    constants = {"book": query.book or ""} if table.partition else None
    columns = projection(ROWS[query.row], file.columns, raw=query.raw, constants=constants)
    stored, limit, offset = source(file.address), query.limit, query.offset
    filters = _filters(query)
    conditions = [*window(DAY_COLUMNS[query.table], query.first, query.last), *filters]
    part, total = Statement(" LIMIT ? OFFSET ?", (limit, offset)), None if filters else week_rows
    terms = [(name, False) for name in table.sort if name not in table.partition]
    if query.sort is not None:
        terms = [(query.sort, query.descending)]
        terms += [("symbol", False)] if query.sort != "symbol" else []
    elif not conditions:
        # The file has this order: its rows are selected by number, so the engine reads only the part that holds them.
        numbers = (offset, min(offset + limit, file.rows))
        conditions = [Statement("file_row_number >= ? AND file_row_number < ?", numbers)]
        part, total = Statement(""), file.rows
    where = f" WHERE {' AND '.join(x.sql for x in conditions)}" if conditions else ""
    bound = (*stored.binds, *(value for x in conditions for value in x.binds))
    order = ", ".join(f"{quoted(name)} {'DESC' if falls else 'ASC'} NULLS LAST" for name, falls in terms)
    rows = Statement(
        f"SELECT {columns.sql} FROM {stored.sql}{where} ORDER BY {order}{part.sql}",  # noqa: S608 - see module
        (*columns.binds, *bound, *part.binds),
    )
    counted = Statement(f"SELECT count(*) FROM {stored.sql}{where}", bound)  # noqa: S608 - see module
    return PageStatements(rows, counted if total is None else total, limit, offset)


def _filters(query: PageQuery) -> list[Statement]:
    """Return the conditions of a query other than its window of days."""
    filters = []
    if query.symbols is not None:
        filters.append(_is_in("symbol", query.symbols))
    if query.direction is not None:
        filters.append(Statement(f"{quoted('direction')} = ?", (query.direction,)))
    if query.min_abs_weight is not None:
        filters.append(Statement(f"abs({quoted(query.weight)}) >= ?", (query.min_abs_weight,)))
    return filters


def window(column: Column, first: dt.date | None, last: dt.date | None) -> list[Statement]:
    """Return the conditions for a window of days, both ends inclusive.

    Parameters
    ----------
    column
        A date, or a timestamp, whose day in UTC counts.
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
    if last is not None and last < dt.date.max:  # no day, and so no row, follows it
        conditions.append(Statement(f"{name} < ?", (_midnight(last + dt.timedelta(days=1)),)))
    return conditions


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)


def _is_in(name: str, values: Sequence[str]) -> Statement:
    return Statement(f"{quoted(name)} IN ({', '.join('?' * len(values))})", tuple(values))
