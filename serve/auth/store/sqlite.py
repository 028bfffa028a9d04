"""The engine of a store in an SQLite file, and what its failures mean."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from schemas.errors import SettingsError

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


def make_engine(path: Path, *, writable: bool) -> sa.Engine:
    """Return an engine of one connection, opened when it is first used; the file has to be there.

    A writer holds the file's write lock from the start of its transaction. A reader is in autocommit mode: it sees every
    commit at its next query.
    """
    options: dict[str, Any] = {
        "poolclass": sa.StaticPool,
        "pool_reset_on_return": None,
        "hide_parameters": True,
    }
    if not writable:

        def connect() -> sqlite3.Connection:
            connection = _reader(path)
            if isinstance(connection, _Immutable) and not sa.event.contains(reader, "checkout", _reconnect):
                sa.event.listen(reader, "checkout", _reconnect)
            return connection

        reader = sa.create_engine(
            "sqlite://",
            creator=connect,
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
            **options,
        )
        return reader
    writer = sa.create_engine("sqlite://", creator=partial(_writer, path), **options)

    # The driver's own notion of transactions leaves schema changes outside of them.
    @sa.event.listens_for(writer, "begin")
    def _lock_at_once(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return writer


def reason(path: Path, error: BaseException) -> str:
    """Return what a failure of an engine means."""
    cause = getattr(error, "orig", error)
    known = _REASONS.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, str(cause))
    return f"the access store {path} cannot be used: {known}"


class _Immutable(sqlite3.Connection):
    """Reads a file as if nobody could change it, for one look-up."""

    is_used = False


def _reconnect(connection: sqlite3.Connection, _record: object, _proxy: object) -> None:
    """Open the file again for each look-up that reads it as immutable."""
    if isinstance(connection, _Immutable):
        if connection.is_used:
            raise sa.exc.DisconnectionError
        connection.is_used = True


def _connect(path: Path, wait_s: float, options: str, **more: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
        **more,
    )
    return connection


def _opened(path: Path, wait_s: float, *pragmas: str) -> sqlite3.Connection:
    """Open a file that is there, and have SQLite make what it needs beside it."""
    connection = _connect(path, wait_s, "mode=rw")
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _writer(path: Path) -> sqlite3.Connection:
    # With a write-ahead log readers never wait for an operator's command.
    return _opened(path, WRITE_WAIT_SECONDS, "journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL")


def _reader(path: Path) -> sqlite3.Connection:
    """Open a file to read it, also on a disk that is full or read-only.

    To share a file SQLite makes two more beside it. Where it cannot, nobody else can write either, and the file says all
    there is unless a write-ahead log lies beside it. What is read then is read from the disk each time, so that a commit
    is seen as soon as somebody can make one again.
    """
    try:
        return _opened(path, READ_WAIT_SECONDS, "query_only = ON")
    except sqlite3.OperationalError:
        if _has_log(path):
            raise
        return _connect(path, READ_WAIT_SECONDS, "mode=ro&immutable=1", factory=_Immutable)


def _has_log(path: Path) -> bool:
    # Checked by name: opening and closing SQLite's files would drop its locks.
    with contextlib.suppress(FileNotFoundError):
        return os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116 - called for a name that is not a Path
    return False
