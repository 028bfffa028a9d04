"""The store in PostgreSQL, through asyncpg."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import asyncpg
from sqlalchemy.dialects.postgresql import asyncpg as dialect_of_asyncpg
from sqlalchemy.sql.expression import ClauseElement

from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.settings import SETTINGS
from serve.auth.location import StoreLocation
from serve.auth.store.database import NO_ANSWER, DuplicateRow, Prepared, Row, Session

_DIALECT: Final = dialect_of_asyncpg.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
CONNECTIONS: Final = 8
"""Connections of one process; one query each takes a quarter of a millisecond."""
ANSWER_WAIT_SECONDS: Final = 5.0
"""Seconds to wait for a connection and an answer before the store counts as away."""


_WRONG: Final[dict[type[Exception], str]] = {
    asyncpg.InvalidPasswordError: "it refuses this user and password",
    asyncpg.InvalidAuthorizationSpecificationError: "it refuses this user, from this host or without TLS (pg_hba.conf)",
    asyncpg.InvalidCatalogNameError: "it has no such database: create it, or name another",
    asyncpg.ClientConfigurationError: "the address or its options cannot be used",
    ssl.SSLError: "TLS failed: the certificate is not trusted or not of this host (sslmode, sslrootcert)",
    ValueError: "the address cannot be used: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
}
"""What no waiting mends."""
_AWAY: Final[dict[type[Exception], str]] = {
    asyncpg.CannotConnectNowError: "it is starting or stopping; try again",
    asyncpg.TooManyConnectionsError: "it has no connection left: raise its max_connections",
    socket.gaierror: "the name of the host is not known",
    ConnectionRefusedError: "the connection was refused: nothing listens there",
    TimeoutError: "it did not answer in {seconds:.0f} seconds",
}
"""What may pass."""


@contextmanager
def connecting(location: StoreLocation) -> Iterator[None]:
    """Tell why a connection cannot be made, with the setting and the host and without user or password.

    Raises
    ------
    SettingsError
        When the server was reached and refuses what the address says.
    StorageUnavailable
        When it was not reached.
    """
    try:
        yield
    except AlphaResultsError:
        raise
    except Exception as error:
        start = f"{SETTINGS['access'].variable}: {location.shown}: "
        if "rejected SSL" in str(error):
            raise SettingsError(f"{start}TLS failed: it offers none, and sslmode requires it") from error
        for kind, reason in _WRONG.items():
            if isinstance(error, kind):
                raise SettingsError(start + reason) from error
        for kind, reason in _AWAY.items():
            if isinstance(error, kind):
                raise StorageUnavailable(start + reason.format(seconds=ANSWER_WAIT_SECONDS)) from error
        # Of a name with two addresses the loop tells both failures as one error, in words.
        refused = isinstance(error, OSError) and f"Errno {errno.ECONNREFUSED}" in str(error)
        reason = _AWAY[ConnectionRefusedError] if refused else f"no connection ({type(error).__name__})"
        raise StorageUnavailable(start + reason) from error


@contextmanager
def failures() -> Iterator[None]:
    """Translate whatever the driver raises into what it means here; to be put around calls of the driver.

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


class _Pool:
    """asyncpg's pool, without its wait for a server that hangs.

    A query that took too long is cancelled over a connection of its own, and giving the first one back waits for that: with
    a server that hangs, for as long again. Here the first one is dropped.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.acquire, self.release = pool.acquire, pool.release
        self.close, self.terminate = pool.close, pool.terminate

    async def fetch(self, text: str, *given: Any) -> Any:
        async with self._connection() as connection:
            return await connection.fetch(text, *given)

    async def fetchrow(self, text: str, *given: Any) -> Any:
        async with self._connection() as connection:
            return await connection.fetchrow(text, *given)

    async def execute(self, text: str, *given: Any) -> Any:
        async with self._connection() as connection:
            return await connection.execute(text, *given)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        connection = await self._pool.acquire(timeout=ANSWER_WAIT_SECONDS)
        try:
            yield connection
        except (TimeoutError, asyncio.CancelledError):
            connection.terminate()
            raise
        finally:
            await self._pool.release(connection)


class _Statements:
    """Running statements on whatever has asyncpg's `fetch`, `fetchrow` and `execute`."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def prepare(self, statement: ClauseElement) -> Prepared:
        """Compile a statement."""
        return Prepared(statement, _DIALECT)

    async def fetch(self, prepared: Prepared, **values: Any) -> list[Row]:
        """Run a query and return its rows."""
        given = prepared.numbered(values)
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                rows: list[Row] = await self._runner.fetch(prepared.text, *given)
                return rows

    async def fetch_one(self, prepared: Prepared, **values: Any) -> Row | None:
        """Run a query and return its first row, None when there is none."""
        given = prepared.numbered(values)
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                row: Row | None = await self._runner.fetchrow(prepared.text, *given)
                return row

    async def execute(self, statement: ClauseElement) -> None:
        """Run a statement that changes rows."""
        prepared = self.prepare(statement)
        given = prepared.numbered({})
        with failures():
            async with asyncio.timeout(ANSWER_WAIT_SECONDS):
                await self._runner.execute(prepared.text, *given)


class PostgresDatabase(_Statements):
    """A pool of connections; see :class:`serve.auth.store.database.Database`."""

    @classmethod
    async def open(cls, location: StoreLocation, *, writable: bool) -> PostgresDatabase:
        """Connect; serving connections are read-only.

        Raises
        ------
        SettingsError, StorageUnavailable
            As :func:`connecting`.
        """
        read_only = {} if writable else {"default_transaction_read_only": "on"}
        with connecting(location):
            pool = await asyncpg.create_pool(
                location.dsn,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=ANSWER_WAIT_SECONDS,
                command_timeout=ANSWER_WAIT_SECONDS,
                reset=_keep_state,
                server_settings=read_only,
            )
        return cls(_Pool(pool))

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
