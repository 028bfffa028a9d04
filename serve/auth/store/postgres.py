"""The store in PostgreSQL, through asyncpg."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import asyncpg
from sqlalchemy.dialects.postgresql import asyncpg as dialect_of_asyncpg
from sqlalchemy.sql.expression import ClauseElement

from schemas.errors import AlphaResultsError, StorageUnavailable
from serve.auth.store.database import NO_ANSWER, DuplicateRow, Prepared, Row, Session

_DIALECT: Final = dialect_of_asyncpg.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
CONNECTIONS: Final = 8
"""Connections of one process; one query each takes a quarter of a millisecond."""
ANSWER_WAIT_SECONDS: Final = 5.0
"""Seconds to wait for a connection and an answer before the store counts as away."""


@contextmanager
def failures() -> Iterator[None]:
    """Tell whatever the driver raises as what it means here; to be put around calls of the driver.

    When a server dies the driver raises nearly everything it has, faults of its own included: each of them says that
    the store did not answer. Refusals of this project pass.
    """
    try:
        yield
    except AlphaResultsError:
        raise
    except asyncpg.UniqueViolationError as error:
        raise DuplicateRow from error
    except Exception as error:
        raise StorageUnavailable(f"{NO_ANSWER} ({type(error).__name__})") from error


async def _keep_state(_connection: Any) -> None:
    """Replace the reset query between two uses: nothing here sets session state, and it is a round trip."""


class _Statements:
    """Running statements on whatever has asyncpg's `fetch`, `fetchrow` and `execute`."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement."""
        return Prepared(statement, _DIALECT)

    async def fetch(self, prepared: Prepared, **values: Any) -> list[Row]:
        """Run a query and return its rows."""
        given = prepared.values(values)
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                rows: list[Row] = await self._runner.fetch(prepared.text, *given)
                return rows

    async def fetch_one(self, prepared: Prepared, **values: Any) -> Row | None:
        """Run a query and return its first row, None when there is none."""
        given = prepared.values(values)
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                row: Row | None = await self._runner.fetchrow(prepared.text, *given)
                return row

    def version(self) -> int | None:
        """Return None: the server keeps no such number, so every call asks for what it needs."""
        return None

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows."""
        prepared = self.prepare(statement)
        given = prepared.values({})
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                await self._runner.execute(prepared.text, *given)


class PostgresDatabase(_Statements):
    """A pool of connections; see :class:`serve.auth.store.database.Database`."""

    @classmethod
    async def open(cls, dsn: str, *, writable: bool) -> PostgresDatabase:
        """Connect; serving connections are read-only.

        Raises
        ------
        StorageUnavailable
            When the server cannot be reached or refuses the login.
        """
        read_only = {} if writable else {"default_transaction_read_only": "on"}
        with failures():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=ANSWER_WAIT_SECONDS,
                command_timeout=ANSWER_WAIT_SECONDS,
                reset=_keep_state,
                server_settings=read_only,
            )
        return cls(pool)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Begin a transaction; a row it reads FOR UPDATE waits for others that did."""
        with failures():
            connection = await self._runner.acquire(timeout=ANSWER_WAIT_SECONDS)
        try:
            transaction = connection.transaction()
            with failures():
                await transaction.start()
            try:
                yield _Statements(connection)
            except BaseException:
                # Where the connection is gone the server has rolled back; what went wrong first is what is raised.
                with contextlib.suppress(Exception):
                    await transaction.rollback()
                raise
            with failures():
                await transaction.commit()
        finally:
            with contextlib.suppress(Exception):
                await self._runner.release(connection)

    async def close(self) -> None:
        """Close every connection; those that a dead server left are dropped."""
        try:
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                await self._runner.close()
        except Exception:  # noqa: BLE001 - whatever the driver says about it, nothing is to be done any more
            self._runner.terminate()
