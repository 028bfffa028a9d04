"""The store in an SQLite file, read in the event loop.

A read by primary key takes a few dozen microseconds, less than handing it to a thread would.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql.expression import ClauseElement

from schemas.errors import SettingsError, StorageUnavailable
from serve.access.database import SILENT, DuplicateRow, Prepared, Session, type_row

_DIALECT: Final = pysqlite.dialect()
READ_WAIT_S: Final = 0.25
"""How long a call waits for a locked file; readers are only ever locked out while the file is recovered."""
WRITE_WAIT_S: Final = 10.0
"""How long an operator's command waits for another one to finish."""


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


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
            raise DuplicateRow from error
        raise
    except sqlite3.OperationalError as error:
        raise StorageUnavailable(SILENT) from error


class SqliteDatabase:
    """A connection to the file; see :class:`serve.access.database.Database`.

    Parameters
    ----------
    path
        The file, at the current schema.
    writable
        False for serving, which then cannot change a row by mistake.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        wait = WRITE_WAIT_S if writable else READ_WAIT_S
        with _failures():
            # Autocommit: a transaction is only what `transaction` begins.
            self._connection = sqlite3.connect(
                path, timeout=wait, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA synchronous = FULL")
            if not writable:
                self._connection.execute("PRAGMA query_only = ON")
        self._one_writer = asyncio.Lock()
        self._version = self._connection.cursor()

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement."""
        return Prepared(statement, _DIALECT)

    async def fetch(self, prepared: Prepared, **values: Any) -> list[type_row]:
        """Run a query and return its rows."""
        with _failures():
            return self._connection.execute(prepared.text, prepared.values(values)).fetchall()

    async def fetch_one(self, prepared: Prepared, **values: Any) -> type_row | None:
        """Run a query and return its first row, None when there is none."""
        # Spelled out instead of `_failures`: every call to the service comes through here.
        try:
            row: type_row | None = self._connection.execute(prepared.text, prepared.values(values)).fetchone()
        except sqlite3.OperationalError as error:
            raise StorageUnavailable(SILENT) from error
        return row

    def version(self) -> int | None:
        """Return the file's version as this connection sees it: another one after every commit of anybody else.

        SQLite answers from the head of the write-ahead log's index, under its own lock. Never look there past it: the
        system drops all locks that a process has on a file when the process closes any descriptor of it.
        """
        try:
            (found,) = self._version.execute("PRAGMA data_version").fetchone()
        except sqlite3.OperationalError as error:
            raise StorageUnavailable(SILENT) from error
        return int(found)

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows."""
        prepared = self.prepare(statement)
        with _failures():
            self._connection.execute(prepared.text, prepared.values({}))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Begin a transaction, holding the file's write lock from the start."""
        async with self._one_writer:
            with _failures():
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            with _failures():
                self._connection.execute("COMMIT")

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()
