"""The store in an SQLite file, read in the event loop.

A read by primary key takes a few dozen microseconds, less than handing it to a thread would.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql.expression import ClauseElement

from schemas.errors import SettingsError, StorageUnavailable
from serve.auth.store.database import DuplicateRow, Prepared, Row, Session

_DIALECT: Final = pysqlite.dialect(paramstyle="named")
READ_WAIT_SECONDS: Final = 0.25
"""How long a call waits for a locked file; readers are only ever locked out while the file is recovered."""
WRITE_WAIT_SECONDS: Final = 10.0
"""How long an operator's command waits for another one to finish."""
_REASONS: Final = {
    sqlite3.SQLITE_BUSY: "another command is at work on it; try again",
    sqlite3.SQLITE_READONLY: "it may not be written: its disk is mounted read-only, or the file belongs to somebody else",
    sqlite3.SQLITE_FULL: "its disk is full; make room",
    sqlite3.SQLITE_IOERR: "its disk is full or reports a fault",
    sqlite3.SQLITE_CANTOPEN: "it is not there, or its folder may not be written",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "it is not a database; restore it from a backup, or name another with --access",
}


def create_file(path: Path) -> None:
    """Create an empty file only its owner may read, unless it is there already.

    Raises
    ------
    SettingsError
        When its folder does not exist or may not be written.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise SettingsError(
            f"the access store {path} cannot be created ({error.strerror}): create its folder, or name another with --access"
        ) from error


def _connect(path: Path, wait_s: float, options: str) -> sqlite3.Connection:
    # Autocommit: a transaction is only what `transaction` begins.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
    )


def _opened(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open a file that is there, and have SQLite make what it needs beside it."""
    connection = _connect(path, WRITE_WAIT_SECONDS if writable else READ_WAIT_SECONDS, "mode=rw")
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        if not writable:
            connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file for a moment, also on a disk that is full or read-only; raises `sqlite3.Error`.

    To share a file SQLite makes two more beside it. Where it cannot, nobody else can write either, and the file says all
    there is unless a write-ahead log lies beside it. What is read then is read from the disk each time, so that a commit
    is seen as soon as somebody can make one again.
    """
    try:
        connection = _opened(path, writable=False)
    except sqlite3.OperationalError:
        if _has_log(path):
            raise
        connection = _connect(path, READ_WAIT_SECONDS, "mode=ro&immutable=1")
    with contextlib.closing(connection):
        yield connection


def _has_log(path: Path) -> bool:
    # Asked by name: SQLite's own files are never opened here, as closing them drops its locks.
    with contextlib.suppress(FileNotFoundError):
        return os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116 - called for a name that is not a Path
    return False


class SqliteDatabase:
    """A connection to the file; see :class:`serve.auth.store.database.Database`.

    Parameters
    ----------
    path
        The file, at the current schema.
    writable
        False for serving, which then cannot change a row by mistake, and reads from a full or read-only disk too.

    Raises
    ------
    StorageUnavailable
        When it cannot be opened; a file that is only read may also be opened later.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self._path = path
        self._writable = writable
        self._one_writer = asyncio.Lock()
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = _opened(path, writable=writable)
        except sqlite3.DatabaseError as error:
            if writable:
                raise self._failure(error) from error

    def _failure(self, error: sqlite3.DatabaseError) -> Exception:
        """Return what a failure means to the caller."""
        code = getattr(error, "sqlite_errorcode", 0)
        if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
            return DuplicateRow()
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
            return error
        reason = _REASONS.get(code & 0xFF, str(error))
        return StorageUnavailable(f"the access store {self._path} cannot be used: {reason}")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._connection is not None:
                yield self._connection
                return
            with contextlib.suppress(sqlite3.DatabaseError):
                self._connection = _opened(self._path, writable=False)  # there is room again
            with reading(self._path) as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement."""
        return Prepared(statement, _DIALECT)

    async def fetch(self, prepared: Prepared, **values: Any) -> list[Row]:
        """Run a query and return its rows."""
        with self._reader() as connection:
            return connection.execute(prepared.text, prepared.fixed | values).fetchall()

    async def fetch_one(self, prepared: Prepared, **values: Any) -> Row | None:
        """Run a query and return its first row, None when there is none."""
        with self._reader() as connection:
            row: Row | None = connection.execute(prepared.text, prepared.fixed | values).fetchone()
            return row

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows."""
        self._run(statement)

    def _run(self, statement: ClauseElement | str) -> None:
        assert self._connection is not None, "a store opened for writing has its connection"
        try:
            if isinstance(statement, str):
                self._connection.execute(statement)
            else:
                prepared = self.prepare(statement)
                self._connection.execute(prepared.text, prepared.fixed)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Begin a transaction, holding the file's write lock from the start."""
        async with self._one_writer:
            self._run("BEGIN IMMEDIATE")
            try:
                yield self
                self._run("COMMIT")
            except BaseException:
                # A full disk ends a transaction by itself.
                if self._connection is not None and self._connection.in_transaction:
                    self._run("ROLLBACK")
                raise

    async def close(self) -> None:
        """Close the file."""
        if self._connection is None:
            return
        if self._writable:
            # The next commit then begins the write-ahead log anew and takes no more room on the disk.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._connection.close()
