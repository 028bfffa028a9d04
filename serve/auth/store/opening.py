"""Opens the store at this program's revision, migrates it with Alembic, and loads the peppers of its keys."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from functools import partial
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from datasets.disk import reading
from schemas.errors import SettingsError
from schemas.extras import extra
from serve.auth.settings import AccessSettings, StoreLocation
from serve.auth.store import sqlite
from serve.auth.store.repository import ANSWER_WAIT_SECONDS, KeyStore, Repository
from serve.auth.store.tables import REVISION, metadata
from serve.auth.tokens import NO_PEPPER, Digests

_MIGRATION_SECONDS: Final = 600.0
"""Seconds to wait for another migration that is running."""
_LOCK: Final = 0x616C7068615F72
"""Number of the advisory lock; any constant that is unique in the database."""
_MAX_NAMED: Final = 5
"""Number of keys that a message names; the rest are counted."""


def store_at(location: StoreLocation, *, writable: bool, wait_s: float = ANSWER_WAIT_SECONDS) -> KeyStore:
    """Return a store of any revision; it connects on first use."""
    if location.path is not None:
        engine = sqlite.make_engine(location.path, writable=writable)
        return KeyStore(engine, partial(sqlite.failure, location.path))
    with extra("postgres", "an access store in PostgreSQL"):
        from serve.auth.store import postgres  # noqa: PLC0415 - only for PostgreSQL stores

    return KeyStore(
        postgres.make_engine(location, writable=writable), partial(postgres.failure, location), wait_s
    )


async def revision(location: StoreLocation) -> str | None:
    """Return the revision of a store, None for an empty or missing one; raises StorageUnavailable if it does not answer."""
    if location.path is not None and not _is_there(location.path):
        return None
    store = store_at(location, writable=False)
    try:
        return await store.run(Repository.revision)
    finally:
        await store.close()


def _is_there(path: Path) -> bool:
    """Whether the file exists; raises StorageUnavailable without permission to look, SettingsError for a folder."""
    with reading(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISDIR(path.stat().st_mode):
            raise SettingsError(f"the access store {path} is a folder; name a file in it with --access")
        return True
    return False


async def open_store(settings: AccessSettings, *, writable: bool, create: bool = True) -> KeyStore:
    """Open the store at the schema revision of this program; an empty or missing one is set up if `create` is true.

    Raises
    ------
    SettingsError
        If there is no store and `create` is false, or the store is at another revision than this program's; the message
        names the command that migrates it.
    StorageUnavailable
        If it does not answer.
    """
    location = settings.location
    current = await revision(location)
    if current is None and not create:
        raise SettingsError(
            f"there is no access store in {location.shown}: `accounts create` makes it; --access or ALPHA_RESULTS_ACCESS names another"
        )
    if current is None:
        await upgrade(location)
    elif current != REVISION:
        raise SettingsError(
            f"the access store {location.shown} is at revision {current} and this program works with {REVISION}:"
            " run `alpha-results serve access upgrade`, or the program that made it"
        )
    return store_at(location, writable=writable)


async def upgrade(location: StoreLocation) -> None:
    """Upgrade a store to the newest revision, creating a missing SQLite file; an empty store gets the declared tables.

    It runs in one transaction: under the write lock of an SQLite file, or under an advisory lock of PostgreSQL, so that any
    number of workers may start on an empty database at once.

    Raises
    ------
    SettingsError
        If this program does not know the store's revision.
    StorageUnavailable
        If the database does not answer.
    """
    if location.path is not None:
        sqlite.create_file(location.path)
    # Alembic takes a third of a second to import, and most starts do not migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util.exc import CommandError  # noqa: PLC0415

    def migrate(rows: Repository) -> None:
        if rows.connection.dialect.name == "postgresql":
            rows.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        config.attributes["connection"] = rows.connection
        try:
            if rows.revision() is None:
                metadata.create_all(rows.connection, checkfirst=False)
                command.stamp(config, "head")
            else:
                command.upgrade(config, "head")
        except CommandError as error:
            raise SettingsError(
                f"the access store {location.shown} cannot be upgraded ({error}): run the program that made the store"
            ) from error

    store = store_at(location, writable=True, wait_s=_MIGRATION_SECONDS)
    try:
        await store.run(migrate)
    finally:
        await store.close()


def load_digests(rows: Repository, settings: AccessSettings, now_us: int) -> Digests:
    """Return the digests of a deployment, with the peppers of its settings and of the file next to its store, if any.

    Peppers of the settings come first, so that new keys use them while older keys still verify with the file's. If there is
    neither, the file is created.

    Raises
    ------
    SettingsError
        If the file can be neither read nor created, is empty, or the pepper of a key in use is missing: the key would be
        answered 401, and a new pepper would hide that its own is lost.
    """
    store = settings.location.path
    path = None if store is None else store.with_name(store.name + ".pepper")
    digests = Digests((*settings.pepper, *_read_pepper(path)))
    lost = rows.keys_without_pepper(digests.known, now_us)
    if lost:
        restore = "" if path is None else f"restore {path} from its backup, or "
        more = f" and {len(lost) - _MAX_NAMED} more" if len(lost) > _MAX_NAMED else ""
        raise SettingsError(
            f"{settings.location.shown} has keys whose pepper is missing: {', '.join(lost[:_MAX_NAMED])}{more}; {restore}add to"
            " ALPHA_RESULTS_PEPPER the pepper they were issued with. If it is lost, `keys revoke` ends each of them"
        )
    if path is not None and digests.newest == NO_PEPPER:
        digests = Digests(_read_pepper(path, create=True))
    return digests


def _read_pepper(path: Path | None, *, create: bool = False) -> tuple[bytes, ...]:
    """Return the pepper in a file; empty if there is no file."""
    if path is None:
        return ()
    try:
        if create:
            _create_pepper(path)
        own = (path.read_bytes().strip(),) if path.exists() else ()
    except OSError as error:
        raise SettingsError(
            f"the pepper file {path} can be neither read nor created ({error.strerror}): restore it, or set ALPHA_RESULTS_PEPPER"
        ) from error
    if own == (b"",):
        raise SettingsError(
            f"the pepper file {path} is empty: restore it from a backup, without it no key verifies"
        )
    return own


def _create_pepper(path: Path) -> None:
    """Write a new pepper under a temporary name and link it, so that a process that starts meanwhile never reads a part of it."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
