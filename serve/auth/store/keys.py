"""Opening the store, and what serving reads from it: one joined query a call."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from schemas.errors import SettingsError
from schemas.extras import extra
from schemas.limits import LIMIT_WINDOWS
from serve.auth.limits.policy import RateLimit, rate_limit
from serve.auth.settings import AccessSettings
from serve.auth.store.database import Database, Row
from serve.auth.store.sqlite import SqliteDatabase, reading
from serve.auth.store.tables import REVISION, VERSION_TABLE, KeyStatus, accounts, keys


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One key with its account, as stored; the lists are the stored texts.

    `rate` is read from the columns of the limit windows.
    """

    rate: RateLimit
    id: str
    name: str
    digest: bytes = field(repr=False)
    pepper_id: str
    status: str
    endpoints: str
    alphas: str
    runs: str
    expose_raw: bool
    addresses: str | None
    expires_at: int | None
    created_at: int
    account_id: str
    email: str
    role: str
    account_active: bool
    ceiling_endpoints: str
    ceiling_alphas: str
    ceiling_runs: str

    @classmethod
    def from_row(cls, row: Row) -> KeyRecord:
        """Return a row of `SELECT_KEYS` as a record."""
        return cls(rate_limit(tuple(row[_BEFORE_LIMITS:])), *row[:_BEFORE_LIMITS])


_PLAIN: Final = tuple(entry.name for entry in fields(KeyRecord) if entry.name != "rate")
_BEFORE_LIMITS: Final = len(_PLAIN)
_OF_ACCOUNT: Final = {"account_id": accounts.c.id, "account_active": accounts.c.active}
KEY_COLUMNS: Final = tuple(
    _OF_ACCOUNT[name].label(name) if name in _OF_ACCOUNT else (keys.c if name in keys.c else accounts.c)[name]
    for name in (*_PLAIN, *(window.column for window in LIMIT_WINDOWS))
)
SELECT_KEYS: Final = sa.select(*KEY_COLUMNS).join_from(keys, accounts, keys.c.account_id == accounts.c.id)
"""Every key beside its account; the one query of a call adds the id."""


class Store:
    """What serving reads.

    Parameters
    ----------
    database
        An open, current store.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one = database.prepare(SELECT_KEYS.where(keys.c.id == sa.bindparam("wanted")))
        self._owned = database.prepare(
            SELECT_KEYS.where(
                keys.c.account_id == sa.bindparam("owner"), keys.c.status != "revoked"
            ).order_by(keys.c.created_at.desc(), keys.c.id)
        )

    async def find(self, key_id: str) -> KeyRecord | None:
        """Return a key with its account as they are at this moment; None when there is no such key."""
        row = await self._database.fetch_one(self._one, wanted=key_id)
        return None if row is None else KeyRecord.from_row(row)

    async def owned_by(self, account_id: str) -> list[KeyRecord]:
        """Return the keys of an account that are not revoked, newest first."""
        return [KeyRecord.from_row(row) for row in await self._database.fetch(self._owned, owner=account_id)]

    async def close(self) -> None:
        """Close the database."""
        await self._database.close()


async def keys_without_pepper(database: Database, known: frozenset[str], now_us: int) -> list[str]:
    """Return the ids of keys in use whose digest none of the known peppers verifies, oldest first."""
    in_use = sa.and_(
        keys.c.status != KeyStatus.REVOKED.value,
        sa.or_(keys.c.expires_at.is_(None), keys.c.expires_at > now_us),
    )
    named = await database.fetch(database.prepare(sa.select(keys.c.pepper_id).where(in_use).distinct()))
    strange = [str(row[0]) for row in named if row[0] not in known]
    if not strange:
        return []
    query = sa.select(keys.c.id, keys.c.pepper_id).where(in_use).order_by(keys.c.created_at, keys.c.id)
    return [
        str(key) for key, made_with in await database.fetch(database.prepare(query)) if made_with in strange
    ]


async def open_database(settings: AccessSettings, *, writable: bool, create: bool = True) -> Database:
    """Open the store, at the schema this program works with.

    Only an empty store is set up without asking; one at another revision is refused with the command that migrates it.

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
    if location.path is not None and _is_current(location.path):
        return SqliteDatabase(location.path, writable=writable)

    from serve.auth.store.migrate import migrate, revision  # noqa: PLC0415 - a third of a second that most starts do without

    # An empty file is no store either.
    found = await (migrate(location, only_if_empty=True) if create else revision(location))
    if found is None and not create:
        raise SettingsError(
            f"there is no access store in {location.shown}: `accounts create` makes it; --access or ALPHA_RESULTS_ACCESS names another"
        )
    if found is not None and found != REVISION:
        raise SettingsError(
            f"the access store {location.shown} is at revision {found} and this program works with {REVISION}:"
            " run `alpha-results serve access upgrade`, or the program that made it"
        )
    if location.path is not None:
        return SqliteDatabase(location.path, writable=writable)

    with extra("postgres", "an access store in PostgreSQL"):
        from serve.auth.store.postgres import PostgresDatabase  # noqa: PLC0415 - only for stores that lie there

    return await PostgresDatabase.open(location, writable=writable)


def _is_current(path: Path) -> bool:
    """Whether a file is a store at this program's revision."""
    try:
        with reading(path) as connection:
            return connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(REVISION,)]  # noqa: S608 - both are constants
    except sqlite3.Error:
        return False
