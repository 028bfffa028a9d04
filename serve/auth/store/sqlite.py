"""The engine of an SQLite store, and the reasons for its failures."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from schemas.errors import SettingsError, StorageUnavailable

READ_WAIT_SECONDS: Final = 0.25
"""Seconds a call waits for a locked file; readers are locked out only while the file is recovered."""
WRITE_WAIT_SECONDS: Final = 10.0
"""Seconds an operator's command waits for another to finish."""
_REASONS: Final = {
    sqlite3.SQLITE_BUSY: "another command is at work on it; try again",
    sqlite3.SQLITE_READONLY: "it may not be written: its disk is mounted read-only, or the file belongs to another user",
    sqlite3.SQLITE_FULL: "its disk is full; make room",
    sqlite3.SQLITE_IOERR: "its disk is full or reports a fault",
    sqlite3.SQLITE_CANTOPEN: "it is not there, this user may not open it, or its folder may not be written",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "it is not a database; restore it from a backup, or name another with --access",
}


def create_file(path: Path) -> None:
    """Create an empty file only its owner may read, unless it exists; raises SettingsError if its folder cannot hold it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise SettingsError(
            f"the access store {path} cannot be created ({error.strerror}): create its folder, or name another with --access"
        ) from error


def make_engine(path: Path, *, writable: bool) -> sa.Engine:
    """Return an engine with one connection, opened on first use; the file must exist.

    A writer holds the file's write lock from the start of its transaction. A reader is in autocommit mode: it sees every
    commit at its next query.
    """
    if not writable:
        return sa.create_engine(
            "sqlite://",
            creator=partial(_reader, path),
            # An immutable file is opened for each lookup, so that a commit is seen as soon as one is possible again.
            poolclass=sa.StaticPool if _can_share(path) else sa.NullPool,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
            hide_parameters=True,  # digests are among them
        )
    writer = sa.create_engine(
        "sqlite://", creator=partial(_writer, path), poolclass=sa.StaticPool, hide_parameters=True
    )

    # The driver's implicit transactions do not include schema changes.
    @sa.event.listens_for(writer, "begin")
    def _lock_at_once(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return writer


def failure(path: Path, error: BaseException) -> StorageUnavailable:
    """Return the error to raise for a failure of an engine."""
    cause = getattr(error, "orig", error)
    reason = _REASONS.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, str(cause))
    return StorageUnavailable(f"the access store {path} cannot be used: {reason}")


def _connect(path: Path, wait_s: float, options: str, *pragmas: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(
        address, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # creates the files that SQLite needs next to it
    except BaseException:
        connection.close()
        raise
    return connection


def _writer(path: Path) -> sqlite3.Connection:
    # With a write-ahead log readers never wait for an operator's command.
    pragmas = ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL")
    return _connect(path, WRITE_WAIT_SECONDS, "mode=rw", *pragmas)


def _connect_shared(path: Path) -> sqlite3.Connection:
    return _connect(path, READ_WAIT_SECONDS, "mode=rw", "query_only = ON")


def _can_share(path: Path) -> bool:
    try:
        _connect_shared(path).close()
    except sqlite3.Error:
        return False
    return True


def _reader(path: Path) -> sqlite3.Connection:
    """Open a file for reading, even on a disk that is full or read-only.

    SQLite shares a file through two more files next to it. Where it cannot create them, no other process can write either,
    so the file is complete unless there is a write-ahead log next to it.
    """
    try:
        return _connect_shared(path)
    except sqlite3.OperationalError:
        # Checked by name: opening and closing SQLite's files would drop its locks.
        with contextlib.suppress(FileNotFoundError):
            if os.stat(f"{path}-wal").st_size > 0:  # noqa: PTH116 - called for a name that is not a Path
                raise
        return _connect(path, READ_WAIT_SECONDS, "mode=ro&immutable=1")
