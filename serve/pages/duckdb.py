"""Runs queries over published files and writes their rows as JSON; the only module of the package that uses DuckDB."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Final

import duckdb
import polars as pl
from polars.exceptions import PanicException

from schemas.errors import SnapshotUnreadable, StorageUnavailable
from serve.pages.query import Rows
from serve.pages.sql import PageStatements, Statement

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


class Engine:
    """Answers statements over Parquet files. Safe to share between threads.

    Each thread has its own cursor on one in-memory database: a shared connection silently mixes up the results of
    concurrent queries.
    """

    def __init__(self) -> None:
        self._database = _opened()
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
            self._forget(error)
            raise _translated(error) from error
        assert isinstance(frame, pl.DataFrame)
        return frame

    def page(self, query: PageStatements) -> Rows:
        """Run the queries of a page; its rows are encoded without creating Python objects.

        Raises
        ------
        SnapshotUnreadable, StorageUnavailable
            As :meth:`frame`.
        """
        frame = self.frame(query.rows)
        returned = frame.height
        if isinstance(query.total, int):
            total = query.total
        elif returned < query.limit and (returned or not query.offset):
            total = query.offset + returned  # the end of the last page is the total
        else:
            total = int(self.frame(query.total).item())
        return frame_rows(frame, total)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        database, cursor = getattr(self._local, "cursor", (None, None))
        if cursor is None or database is not self._database:
            with self._opening:
                cursor = self._database.cursor()
                self._local.cursor = self._database, cursor
        own: duckdb.DuckDBPyConnection = cursor
        return own

    def _forget(self, error: BaseException) -> None:
        """Drop this thread's cursor: a failed query may have left an open result that blocks the next query.

        An internal error of the engine may leave the database unusable, so later queries get a new one.
        """
        database, cursor = getattr(self._local, "cursor", (None, None))
        self._local.cursor = None, None
        if cursor is not None:
            with contextlib.suppress(duckdb.Error):
                cursor.close()
        if isinstance(error, _FATAL_ERRORS):
            with self._opening:
                if database is None or database is self._database:
                    self._database = _opened()


def engine_version() -> str:
    """Return the release of the engine."""
    return duckdb.__version__


def _opened() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config=_CONFIG)
    database.execute("SET lock_configuration = true").fetchall()
    # The engine's first query is many times slower than the next, so run it before any request.
    database.sql("SELECT 1").to_arrow_table()
    return database


def _translated(error: BaseException) -> BaseException:
    """Translate an error of the engine. A statement contains only declared names, so other errors are the file's fault."""
    if isinstance(error, _STATEMENT_ERRORS):
        return error
    if isinstance(error, duckdb.OutOfMemoryException):
        return StorageUnavailable(f"there is no memory left for a query: {error}")
    return _unreadable(error)


def _unreadable(error: BaseException) -> SnapshotUnreadable:
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
