"""Bringing a store to a revision of its schema, up or down, on either database.

SQLite is migrated on a live connection under the file's write lock. For PostgreSQL the same migrations are
rendered to a script that runs in one transaction under an advisory lock, so that any number of workers may
start on an empty database at once.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError

from schemas.errors import SettingsError, StorageUnavailable
from schemas.extras import extra
from serve.auth.location import StoreLocation
from serve.auth.store.sqlite import WRITE_WAIT_SECONDS, create_file, reading
from serve.auth.store.tables import VERSION_TABLE

HEAD: Final = "head"
BASE: Final = "base"
_LOCK: Final = 0x616C7068615F72
"""Number of the advisory lock; any constant that nothing else in the database uses."""

_version = sa.table(VERSION_TABLE, sa.column("version_num"))


def _config(**attributes: Any) -> Config:
    config = Config(output_buffer=StringIO(), stdout=StringIO(), attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    return config


def head() -> str:
    """Return the revision this program works with."""
    found = ScriptDirectory.from_config(_config()).get_current_head()
    assert found is not None
    return found


def _steps(current: str | None, target: str) -> bool | None:
    """Whether `target` lies above `current` (True), below (False) or there already (None)."""
    scripts = ScriptDirectory.from_config(_config())
    known = [script.revision for script in scripts.walk_revisions()][::-1]
    if current is not None and current not in known:
        raise SettingsError(
            f"the access store is at revision {current}, which this program does not know: run the program that made it"
        )
    wanted = {HEAD: known[-1], BASE: None}.get(target, target)
    if wanted is not None and wanted not in known:
        raise SettingsError(
            f"{target!r} is not a revision of the access store: give {BASE}, {HEAD} or one of {known}"
        )
    places = [None, *known]
    distance = places.index(wanted) - places.index(current)
    return None if distance == 0 else distance > 0


async def migrate(location: StoreLocation, target: str = HEAD, *, only_if_empty: bool = False) -> str | None:
    """Bring a store to a revision, creating an SQLite file that is not there.

    Parameters
    ----------
    location
        The store.
    target
        A revision, ``head`` or ``base`` (nothing at all).
    only_if_empty
        Leave a store alone that has any revision.

    Returns
    -------
    The revision found before, None for an empty store.

    Raises
    ------
    SettingsError
        When the target or the revision found is not one of this program's.
    StorageUnavailable
        When the database does not answer.
    """
    if location.path is not None:
        return _migrate_file(location.path, target, only_if_empty=only_if_empty)
    async with _connected(location) as connection, connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        current = await _postgres_revision(connection)
        script = None if only_if_empty and current else _script(current, target)
        if script:
            await connection.execute(script)
    return current


@asynccontextmanager
async def _connected(location: StoreLocation) -> AsyncIterator[Any]:
    """Connect to PostgreSQL for a moment; whatever the driver raises meanwhile is StorageUnavailable."""
    with extra("postgres", "an access store in PostgreSQL"):
        import asyncpg  # noqa: PLC0415 - only for stores that lie there

        from serve.auth.store.postgres import (  # noqa: PLC0415 - as above
            ANSWER_WAIT_SECONDS,
            connecting,
            failures,
        )

    with connecting(location):
        connection = await asyncpg.connect(location.dsn, timeout=ANSWER_WAIT_SECONDS)
    with failures():
        try:
            yield connection
        finally:
            with contextlib.suppress(Exception):  # of a server that died, nothing is left to close
                await connection.close(timeout=ANSWER_WAIT_SECONDS)


async def revision(location: StoreLocation) -> str | None:
    """Return the revision a store is at, None for an empty one or a file that is not there."""
    if location.path is not None:
        return _revision_of_file(location.path)
    async with _connected(location) as connection:
        return await _postgres_revision(connection)


def _revision_of_file(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with reading(path) as connection:
            tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSION_TABLE,))
            found = connection.execute(str(sa.select(_version.c.version_num))) if tables.fetchone() else None
            row = found.fetchone() if found else None
            return str(row[0]) if row else None
    except sqlite3.Error as error:
        raise StorageUnavailable(f"{path} cannot be read as a store of accounts and keys: {error}") from error


async def _postgres_revision(connection: Any) -> str | None:
    if await connection.fetchval("SELECT to_regclass($1)::text", VERSION_TABLE) is None:
        return None
    found: str | None = await connection.fetchval(str(sa.select(_version.c.version_num)))
    return found


def _script(current: str | None, target: str) -> str:
    upwards = _steps(current, target)
    if upwards is None:
        return ""
    config = _config()
    run = command.upgrade if upwards else command.downgrade
    run(config, f"{current or BASE}:{target}", sql=True)
    assert isinstance(config.output_buffer, StringIO)
    script = config.output_buffer.getvalue()
    # Rendered, the way back to nothing leaves an empty table that the way up would then make again.
    return f"{script}DROP TABLE {VERSION_TABLE};" if target == BASE else script


def _engine(path: Path) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        poolclass=sa.NullPool,
        connect_args={"timeout": WRITE_WAIT_SECONDS},
    )

    # The driver's own notion of transactions leaves schema changes outside of them.
    @sa.event.listens_for(engine, "connect")
    def _no_implicit_transactions(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _lock_at_once(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _sqlite_revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.execute(sa.select(_version.c.version_num)).scalar()
    return found


def _migrate_file(path: Path, target: str, *, only_if_empty: bool) -> str | None:
    create_file(path)
    try:
        # Readers then never wait for an operator's command.
        with sqlite3.connect(path, timeout=WRITE_WAIT_SECONDS, isolation_level=None) as plain:
            plain.execute("PRAGMA journal_mode = WAL")
        plain.close()
        with _engine(path).begin() as connection:
            current = _sqlite_revision(connection)
            upwards = None if only_if_empty and current else _steps(current, target)
            if upwards is not None:
                run = command.upgrade if upwards else command.downgrade
                run(_config(connection=connection), target)
    except (sqlite3.DatabaseError, sa.exc.DatabaseError, CommandError) as error:
        raise StorageUnavailable(f"{path} cannot be opened as a store of accounts and keys") from error
    return current
