"""Bringing a store to a revision of its schema with Alembic, up or down, on either database.

The migrations run in one transaction: under the write lock of an SQLite file, or under an advisory lock of PostgreSQL, so
that any number of workers may start on an empty database at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError

from schemas.errors import SettingsError
from serve.auth.settings import StoreLocation
from serve.auth.store.opening import store_at
from serve.auth.store.repository import Repository
from serve.auth.store.sqlite import create_file

HEAD: Final = "head"
BASE: Final = "base"
_WAIT_SECONDS: Final = 600.0
"""Longer than any migration; another one that is at work is waited for."""
_LOCK: Final = 0x616C7068615F72
"""Number of the advisory lock; any constant that nothing else in the database uses."""


async def upgrade(location: StoreLocation, target: str = HEAD) -> None:
    """Bring a store up to a revision, creating an SQLite file that is not there.

    Raises
    ------
    SettingsError
        When the target, or the revision the store is at, is not one of this program's.
    StorageUnavailable
        When the database does not answer.
    """
    if location.path is not None:
        create_file(location.path)
    await _migrate(location, command.upgrade, target)


async def downgrade(location: StoreLocation, target: str) -> None:
    """Bring a store down to a revision, or to ``base`` (nothing at all); raises as :func:`upgrade`."""
    await _migrate(location, command.downgrade, target)


async def _migrate(location: StoreLocation, run: Callable[[Config, str], None], target: str) -> None:
    def act(rows: Repository) -> None:
        if rows.connection.dialect.name == "postgresql":
            rows.connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        config = _config()
        config.attributes["connection"] = rows.connection
        try:
            run(config, target)
        except CommandError as error:
            known = ", ".join([BASE, *reversed([each.revision for each in _scripts().walk_revisions()])])
            raise SettingsError(
                f"the access store {location.shown} cannot be brought to {target!r} ({error}): give one of {known}, or run the"
                " program that made the store"
            ) from error

    store = store_at(location, writable=True, wait_s=_WAIT_SECONDS)
    try:
        await store.run(act)
    finally:
        await store.close()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
