"""Accounts, keys and the audit log: all SQL statements, and their execution on both databases."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import sqlalchemy as sa

from schemas.errors import AlphaResultsError, StorageUnavailable
from schemas.instants import instant, utc_text
from serve.auth.allow_list import LISTS, AllowList
from serve.auth.limits.counts import RateLimit, rate_limit
from serve.auth.store.tables import VERSION_TABLE, KeyStatus, Role, accounts, audit, keys
from serve.auth.tokens import could_be_id

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

P = ParamSpec("P")
T = TypeVar("T")

ANSWER_WAIT_SECONDS: Final = 5.0
"""Seconds to wait for a connection and an answer before PostgreSQL counts as unavailable."""


class KeyRecord(NamedTuple):
    """One key with its account, as stored; lists and limits are the stored texts."""

    id: str
    name: str
    digest: bytes
    pepper_id: str
    status: str
    endpoints: str
    alphas: str
    runs: str
    expose_raw: bool
    limits: str
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

    def __repr__(self) -> str:
        """Leave the digest out."""
        return f"KeyRecord(id={self.id!r})"

    @property
    def rate(self) -> RateLimit:
        """The parsed limits."""
        return rate_limit(self.limits)


class Account(NamedTuple):
    """An account as stored; the fields are the table's columns, in their order."""

    id: str
    email: str
    role: str
    active: bool
    ceiling_endpoints: str
    ceiling_alphas: str
    ceiling_runs: str
    created_at: int

    @property
    def is_admin(self) -> bool:
        """Whether the role allows administrative endpoints."""
        return self.role == Role.ADMIN

    def to_json(self) -> dict[str, Any]:
        """Return the account for programs."""
        return {
            "user_id": self.id,
            "email": self.email,
            "role": self.role,
            "active": self.active,
            "ceiling": {name: AllowList.loads(getattr(self, f"ceiling_{name}")).to_json() for name in LISTS},
            "created_at": utc_text(instant(self.created_at)),
        }


_COLUMNS: Final = {
    **dict(accounts.c.items()),
    **dict(keys.c.items()),
    "account_active": accounts.c.active,
}
_KEYS: Final = sa.select(*(_COLUMNS[name].label(name) for name in KeyRecord._fields)).join_from(
    keys, accounts, keys.c.account_id == accounts.c.id
)
_KEY: Final = _KEYS.where(keys.c.id == sa.bindparam("wanted"))
_others: Final = keys.alias()
_KEY_OR_ANOTHER: Final = _KEYS.where(
    keys.c.id
    == sa.func.coalesce(
        sa.select(_others.c.id).where(_others.c.id == sa.bindparam("wanted")).scalar_subquery(),
        sa.select(sa.func.min(_others.c.id)).scalar_subquery(),
    )
)
_ACCOUNTS: Final = sa.select(accounts)
_VERSION: Final = sa.table(VERSION_TABLE, sa.column("version_num"))


class Repository:
    """Reads and writes over one connection to either database, in its current transaction.

    Errors are SQLAlchemy's; a duplicate of a unique value raises ``IntegrityError``.
    """

    __slots__ = ("connection",)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    def revision(self) -> str | None:
        """Return the revision of the store; None for an empty one."""
        if not sa.inspect(self.connection).has_table(VERSION_TABLE):
            return None
        revision: str | None = self.connection.execute(sa.select(_VERSION.c.version_num)).scalar()
        return revision

    def key(self, key_id: str, *, to_change: bool = False) -> KeyRecord | None:
        """Return a key with its account; None if there is no such key.

        With `to_change` both rows are locked until the transaction ends, since the account's role decides what the key
        may be granted.
        """
        if not could_be_id(key_id):
            return None  # PostgreSQL rejects some texts
        query = _KEY.with_for_update(of=[keys, accounts]) if to_change else _KEY
        row = self.connection.execute(query, {"wanted": key_id}).first()
        return None if row is None else KeyRecord._make(row)

    def keys(self, account_id: str | None = None, *, revoked: bool = False) -> list[KeyRecord]:
        """Return keys, newest first: of one account or all, with or without the revoked ones."""
        query = _KEYS.order_by(keys.c.created_at.desc(), keys.c.id)
        if account_id is not None:
            query = query.where(keys.c.account_id == account_id)
        if not revoked:
            query = query.where(keys.c.status != KeyStatus.REVOKED.value)
        return [KeyRecord._make(row) for row in self.connection.execute(query)]

    def keys_without_pepper(self, known: frozenset[str], now_us: int) -> list[str]:
        """Return the ids of keys in use whose digest was made with none of the known peppers, oldest first."""
        query = (
            sa.select(keys.c.id)
            .where(
                keys.c.status != KeyStatus.REVOKED.value,
                sa.or_(keys.c.expires_at.is_(None), keys.c.expires_at > now_us),
                keys.c.pepper_id.not_in(sorted(known)),
            )
            .order_by(keys.c.created_at, keys.c.id)
        )
        return list(self.connection.execute(query).scalars())

    def add(self, table: sa.Table, values: Mapping[str, Any]) -> None:
        """Add a row of the store, given by column."""
        self.connection.execute(sa.insert(table).values(values).inline())

    def change(self, table: sa.Table, row_id: str, values: Mapping[str, Any]) -> None:
        """Set columns of an account or a key."""
        self.connection.execute(sa.update(table).where(table.c.id == row_id).values(values))

    def account(self, email_or_id: str, *, to_change: bool = False) -> Account | None:
        """Return an account, locked until the transaction ends if it is to be changed; None if there is no such account."""
        query = _ACCOUNTS.where(sa.or_(accounts.c.email == email_or_id.lower(), accounts.c.id == email_or_id))
        row = self.connection.execute(query.with_for_update() if to_change else query).first()
        return None if row is None else Account._make(row)

    def accounts(self) -> list[Account]:
        """Return every account, oldest first."""
        query = _ACCOUNTS.order_by(accounts.c.created_at, accounts.c.id)
        return [Account._make(row) for row in self.connection.execute(query)]

    def entries(self, subject: str | None, limit: int) -> list[dict[str, Any]]:
        """Return the newest entries of the audit log, newest first, for one account or key or for all."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
        if subject is not None:
            query = query.where(audit.c.subject == subject)
        return [
            {**row, "at": utc_text(instant(row["at"])), "detail": json.loads(row["detail"])}
            for row in self.connection.execute(query).mappings()
        ]


class KeyStore:
    """An open store; its methods raise StorageUnavailable if the database does not answer in time.

    Parameters
    ----------
    engine
        SQLite is queried in the event loop, since a read by primary key is faster than passing it to a thread; PostgreSQL
        is queried through asyncpg.
    failure
        Returns the error to raise for an exception of the engine or its driver.
    wait_s
        Time limit of an operation on PostgreSQL in seconds, connecting included.
    """

    def __init__(
        self,
        engine: sa.Engine | AsyncEngine,
        failure: Callable[[BaseException], StorageUnavailable],
        wait_s: float = ANSWER_WAIT_SECONDS,
    ) -> None:
        self._engine = engine
        self._failure = failure
        self._wait_s = wait_s
        self._key_or_another = str(_KEY_OR_ANOTHER.compile(dialect=engine.dialect))

    async def key_or_another(self, key_id: str) -> KeyRecord | None:
        """Return the key with this id, or another key if there is none, at the same cost; None for an empty store.

        Every call runs this, so the driver executes the compiled statement directly: going through SQLAlchemy takes six
        times as long as SQLite takes to answer.
        """
        engine, statement = self._engine, self._key_or_another
        reader: Any  # the driver's own connection
        if isinstance(engine, sa.Engine):
            try:
                pooled = engine.raw_connection()
                try:
                    reader = pooled.driver_connection
                    return _record(reader.execute(statement, (key_id,)).fetchone())
                finally:
                    pooled.close()
            except (sa.exc.DBAPIError, sqlite3.Error) as error:
                raise self._failure(error) from error
        async with self._within_wait():
            connection = await engine.connect()
            try:
                reader = (await connection.get_raw_connection()).driver_connection
                return _record(await reader.fetchrow(statement, key_id))
            finally:
                await connection.close()

    async def run(
        self, operation: Callable[Concatenate[Repository, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation in one transaction and return its result; an exception rolls back."""
        engine = self._engine

        def work(connection: sa.Connection) -> T:
            with connection.begin():
                return operation(Repository(connection), *args, **kwargs)

        if isinstance(engine, sa.Engine):
            try:
                with engine.connect() as connection:
                    return work(connection)
            except sa.exc.DBAPIError as error:
                raise self._failure(error) from error
        async with self._within_wait(), engine.connect() as async_connection:
            return await async_connection.run_sync(work)

    @contextlib.asynccontextmanager
    async def _within_wait(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._wait_s):
                yield
        except AlphaResultsError:
            raise
        except Exception as error:
            # When a server dies asyncpg raises nearly any of its errors, internal ones included.
            raise self._failure(error) from error

    async def close(self) -> None:
        """Close every connection; those to a dead server are dropped."""
        if isinstance(self._engine, sa.Engine):
            self._engine.dispose()
            return
        with contextlib.suppress(Exception):  # the connection is dropped whatever the driver raises
            async with asyncio.timeout(self._wait_s):
                await self._engine.dispose()


def _record(row: Sequence[Any] | None) -> KeyRecord | None:
    """Return a row of the driver as a record; SQLite returns booleans as numbers."""
    if row is None:
        return None
    record = KeyRecord(*row)
    return record._replace(expose_raw=bool(record.expose_raw), account_active=bool(record.account_active))
