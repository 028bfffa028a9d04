"""The store in PostgreSQL, through asyncpg."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]  # ships no types
from sqlalchemy.dialects.postgresql import asyncpg as dialect_of_asyncpg
from sqlalchemy.sql.expression import ClauseElement

from schemas.errors import StorageUnavailable
from serve.access.database import SILENT, DuplicateRow, Prepared, Session, type_row

_DIALECT: Final = dialect_of_asyncpg.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
CONNECTIONS: Final = 8
"""Connections of one process; one query each takes a quarter of a millisecond."""
ANSWER_WAIT_S: Final = 5.0
"""Seconds to wait for a connection or an answer before the store counts as away."""

_AWAY: Final = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.CannotConnectNowError,
)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise DuplicateRow from error
    except _AWAY as error:
        raise StorageUnavailable(SILENT) from error


async def _keep_state(_connection: Any) -> None:
    """Replace the reset query between two uses: nothing here sets session state, and it is a round trip."""


class _Statements:
    """Running statements on whatever has asyncpg's `fetch`, `fetchrow` and `execute`."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement."""
        return Prepared(statement, _DIALECT)

    async def fetch(self, prepared: Prepared, **values: Any) -> list[type_row]:
        """Run a query and return its rows."""
        with _failures():
            rows: list[type_row] = await self._runner.fetch(prepared.text, *prepared.values(values))
            return rows

    async def fetch_one(self, prepared: Prepared, **values: Any) -> type_row | None:
        """Run a query and return its first row, None when there is none."""
        with _failures():
            row: type_row | None = await self._runner.fetchrow(prepared.text, *prepared.values(values))
            return row

    def version(self) -> int | None:
        """Return None: the server keeps no such number, so every call asks for what it needs."""
        return None

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows."""
        prepared = self.prepare(statement)
        with _failures():
            await self._runner.execute(prepared.text, *prepared.values({}))


class PostgresDatabase(_Statements):
    """A pool of connections; see :class:`serve.access.database.Database`."""

    @classmethod
    async def open(cls, dsn: str, *, writable: bool) -> PostgresDatabase:
        """Connect; serving connections are read-only.

        Raises
        ------
        StorageUnavailable
            When the server cannot be reached or refuses the login.
        """
        read_only = {} if writable else {"default_transaction_read_only": "on"}
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=ANSWER_WAIT_S,
                command_timeout=ANSWER_WAIT_S,
                reset=_keep_state,
                server_settings=read_only,
            )
        except (*_AWAY, asyncpg.PostgresError) as error:
            raise StorageUnavailable(SILENT) from error
        return cls(pool)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Begin a transaction; a row it reads FOR UPDATE waits for others that did."""
        with _failures():
            connection = await self._runner.acquire()
        try:
            with _failures():
                async with connection.transaction():
                    yield _Statements(connection)
        finally:
            await self._runner.release(connection)

    async def close(self) -> None:
        """Close every connection."""
        await self._runner.close()
