"""Opening the store at the revision of this program, and its migrations by Alembic."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from schemas.errors import SettingsError, StorageUnavailable
from schemas.extras import extra
from serve.auth.settings import AccessSettings, StoreLocation
from serve.auth.store import sqlite
from serve.auth.store.repository import ANSWER_WAIT_SECONDS, KeyStore, Repository
from serve.auth.store.tables import REVISION

_MIGRATION_SECONDS: Final = 600.0
"""Seconds to wait for another migration that is running."""
_LOCK: Final = 0x616C7068615F72
"""Number of the advisory lock; any constant that is unique in the database."""


def store_at(location: StoreLocation, *, writable: bool, wait_s: float = ANSWER_WAIT_SECONDS) -> KeyStore:
    """Return a store of any revision; it connects on first use."""
    if location.path is not None:
        engine = sqlite.make_engine(location.path, writable=writable)
        return KeyStore(engine, partial(sqlite.reason, location.path))
    with extra("postgres", "an access store in PostgreSQL"):
        from serve.auth.store import postgres  # noqa: PLC0415 - only for PostgreSQL stores

    return KeyStore(
        postgres.make_engine(location, writable=writable), partial(postgres.reason, location), wait_s
    )


async def revision(location: StoreLocation, store: KeyStore | None = None) -> str | None:
    """Return the revision of a store; None for an empty or missing one.

    Raises
    ------
    SettingsError
        When a server was reached and refuses what the address says.
    StorageUnavailable
        When it does not answer.
    """
    if location.path is not None and not location.path.exists():
        return None
    opened = store or store_at(location, writable=False)
    try:
        return await opened.run(Repository.revision)
    except StorageUnavailable as error:
        if location.path is None:
            from serve.auth.store.postgres import is_refusal  # noqa: PLC0415 - as above

            if is_refusal(error.__cause__):
                raise SettingsError(str(error)) from error.__cause__
        raise
    finally:
        if store is None:
            await opened.close()


async def open_store(settings: AccessSettings, *, writable: bool, create: bool = True) -> KeyStore:
    """Open the store at the schema revision of this program.

    An empty store is set up; one at another revision is refused with the command that migrates it.

    Parameters
    ----------
    settings
        Of the deployment.
    writable
        False to read only.
    create
        False to refuse where there is no store yet.

    Raises
    ------
    SettingsError
        When there is no store and none is to be made, or it is at another revision than this program's.
    StorageUnavailable
        When it does not answer.
    """
    location = settings.location
    store = store_at(location, writable=writable)
    try:
        current = await revision(location, store)
        if current is None and create:
            await upgrade(location)
        else:
            _require_current(location, current)
    except BaseException:
        await store.close()
        raise
    return store


def _require_current(location: StoreLocation, current: str | None) -> None:
    if current is None:
        raise SettingsError(
            f"there is no access store in {location.shown}: `accounts create` makes it; --access or ALPHA_RESULTS_ACCESS names another"
        )
    if current != REVISION:
        raise SettingsError(
            f"the access store {location.shown} is at revision {current} and this program works with {REVISION}:"
            " run `alpha-results serve access upgrade`, or the program that made it"
        )


async def upgrade(location: StoreLocation) -> None:
    """Upgrade a store to the newest revision, creating a missing SQLite file.

    It runs in one transaction: under the write lock of an SQLite file, or under an advisory lock of PostgreSQL, so that any
    number of workers may start on an empty database at once.

    Raises
    ------
    SettingsError
        When the revision the store is at is not one of this program's.
    StorageUnavailable
        When the database does not answer.
    """
    if location.path is not None:
        sqlite.create_file(location.path)
    # Alembic takes a third of a second to import, and most starts do not migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))

    def act(rows: Repository) -> None:
        if rows.connection.dialect.name == "postgresql":
            rows.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        config.attributes["connection"] = rows.connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise SettingsError(
                f"the access store {location.shown} cannot be upgraded ({error}): run the program that made the store"
            ) from error

    store = store_at(location, writable=True, wait_s=_MIGRATION_SECONDS)
    try:
        await store.run(act)
    finally:
        await store.close()
