"""Page queries as SQL, the engine that runs them over published files, and rows as JSON; only this module uses DuckDB.

SQL is assembled only from declared names and the literals of the package; every value is bound to a placeholder.
That is why the linter's warnings about assembled SQL are suppressed in this module.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

import duckdb
import polars as pl
from polars.exceptions import PanicException

from schemas.errors import SnapshotUnreadable, StorageUnavailable
from schemas.rows import ROWS, RowModel
from schemas.table import Column
from schemas.tables import TABLES
from schemas.units import Type
from serve.pages.query import PageQuery, Rows

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
_SECONDS_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_MICROSECONDS_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    # Requests run in parallel, one thread each; a query on all cores would only wait for the others.
    "threads": 1,
    # The page cache already holds the files; the engine would hold them a second time.
    "cache_local_files": False,
    # No query may fetch code from the network.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_STATEMENT_ERRORS: Final = (
    duckdb.ParserException,
    duckdb.SyntaxException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)
"""Errors of the engine about an invalid statement, whatever the file."""
_FATAL_ERRORS: Final = (duckdb.FatalException, duckdb.InternalException)
"""Errors after which the database may be unusable."""


# Queries


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


def quoted(name: str) -> str:
    """Quote a declared name."""
    return '"' + name.replace('"', '""') + '"'


def projection(
    model: RowModel,
    present: Collection[str],
    *,
    raw: bool,
    book: str | None = None,
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
    book
        The book of the file, whose column is in the file's path and not in the file; None for a table that is not
        partitioned by book.

    Returns
    -------
    Statement
        The select list.
    """
    parts: list[str] = []
    binds: list[object] = []
    for column in model.columns:
        if column.raw and not raw:
            continue
        name = quoted(column.name)
        if book is not None and column.name == "book":
            parts.append(f"?::VARCHAR AS {name}")
            binds.append(book)
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


def compile_page(
    query: PageQuery, file: PublishedFile, week_rows: int | None
) -> tuple[Statement, Statement | int]:
    """Return the query for a page of a stored table, and the query that counts its rows, or their number if it is known.

    Parameters
    ----------
    file
        The file of the table, or of the query's book if the table is partitioned by book.
    week_rows
        Number of rows of a cross-section's week, which is the total if no filter applies, so that no query has to count them.
    """
    table = TABLES[query.table]
    book = query.book if table.partition else None
    columns = projection(ROWS[query.row], file.columns, raw=query.raw, book=book)
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
    return rows, counted if total is None else total


def _filters(query: PageQuery) -> list[Statement]:
    """Return the conditions of a query other than its window of days."""
    filters = []
    if query.symbols is not None:
        places = ", ".join("?" * len(query.symbols))
        filters.append(Statement(f"{quoted('symbol')} IN ({places})", query.symbols))
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


# The engine


class Engine:
    """Answers statements over Parquet files. Safe to share between threads.

    Each thread has its own cursor on one in-memory database: a shared connection silently mixes up the results of
    concurrent queries.
    """

    def __init__(self) -> None:
        self._database = _open_database()
        self._opening = threading.Lock()
        self._local = threading.local()

    def close(self) -> None:
        """Close the database; no statement may be running."""
        self._database.close()

    def frame(self, statement: Statement) -> pl.DataFrame:
        """Run a statement and return all its rows.

        Raises
        ------
        SnapshotUnreadable
            When a file is missing or cannot be decoded.
        StorageUnavailable
            When the query runs out of memory.
        """
        try:
            relation = self._cursor().sql(statement.sql, params=list(statement.binds))
            frame = pl.from_arrow(relation.to_arrow_table())
        except (duckdb.Error, PanicException) as error:
            if isinstance(error, _FATAL_ERRORS):
                self._replace_database()
            raise _translate(error) from error
        assert isinstance(frame, pl.DataFrame)
        return frame

    def page(self, query: PageQuery, file: PublishedFile, week_rows: int | None) -> Rows:
        """Read the page of a query from its file, as :func:`compile_page` describes it.

        Raises
        ------
        SnapshotUnreadable, StorageUnavailable
            As :meth:`frame`.
        """
        rows, total = compile_page(query, file, week_rows)
        frame = self.frame(rows)
        if isinstance(total, Statement):
            # The end of the last page is the total.
            is_last = frame.height < query.limit and (frame.height > 0 or query.offset == 0)
            total = query.offset + frame.height if is_last else int(self.frame(total).item())
        return frame_rows(frame, total)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        database, cursor = getattr(self._local, "cursor", (None, None))
        if cursor is None or database is not self._database:
            with self._opening:
                cursor = self._database.cursor()
                self._local.cursor = self._database, cursor
        own: duckdb.DuckDBPyConnection = cursor
        return own

    def _replace_database(self) -> None:
        """Give later queries a new database, unless another thread has done so since this one's query began."""
        failed, _ = getattr(self._local, "cursor", (self._database, None))
        with self._opening:
            if failed is self._database:
                self._database = _open_database()


def engine_version() -> str:
    """Return the release of the engine."""
    return duckdb.__version__


def _open_database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config=_CONFIG)
    database.execute("SET lock_configuration = true").fetchall()
    # The engine's first query is many times slower than the next, so run it before any request.
    database.sql("SELECT 1").to_arrow_table()
    return database


def _translate(error: BaseException) -> BaseException:
    """Translate an error of the engine. A statement contains only declared names, so other errors are the file's fault."""
    if isinstance(error, _STATEMENT_ERRORS):
        return error
    if isinstance(error, duckdb.OutOfMemoryException):
        return StorageUnavailable(f"there is no memory left for a query: {error}")
    return SnapshotUnreadable(f"a published file cannot be read: {error}")


# Rows as JSON


def frame_rows(frame: pl.DataFrame, total: int) -> Rows:
    """Return the rows of a frame, written as by :func:`to_json`."""
    return Rows(memoryview(to_json(frame))[1:-1], frame.height, total)


def to_json(frame: pl.DataFrame) -> bytes:
    """Write a frame as a JSON array of objects.

    Numbers have the shortest form that reads back as the same double. Days are written as ``2020-01-03``, instants as
    ``2020-01-03T14:30:00Z``, with microseconds only if they are not zero.
    """
    buffer = io.BytesIO()
    writable(frame).write_json(buffer)
    return buffer.getvalue()


def writable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with its instants as text, as they are served."""
    if not any(isinstance(dtype, pl.Datetime) for dtype in frame.dtypes):
        return frame  # a query waits for the threads of Polars, longer than a short page takes to write
    instants = pl.selectors.datetime()
    utc = instants.dt.convert_time_zone("UTC")  # the engine's session has the machine's time zone
    texts = (
        pl.when(instants.dt.microsecond() == 0)
        .then(utc.dt.strftime(_SECONDS_FORMAT))
        .otherwise(utc.dt.strftime(_MICROSECONDS_FORMAT))
    )
    return frame.with_columns(texts)
