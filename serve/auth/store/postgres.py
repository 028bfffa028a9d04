"""The engine of a PostgreSQL store, and the reasons for its failures."""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from schemas.errors import StorageUnavailable, StoreRefused, causes
from schemas.settings import SETTINGS
from serve.auth.reasons import NETWORK, Reason, refusal, unavailable
from serve.auth.settings import StoreLocation

CONNECTIONS: Final = 8
"""Largest number of connections of one process; a query takes a quarter of a millisecond."""

_REASONS: Final[dict[type[Exception], Reason]] = {
    asyncpg.InvalidPasswordError: refusal("it refuses this user and password"),
    asyncpg.InvalidAuthorizationSpecificationError: refusal(
        "it refuses this user, from this host or without TLS (pg_hba.conf)"
    ),
    asyncpg.InvalidCatalogNameError: refusal("it has no such database: create it, or name another"),
    asyncpg.ClientConfigurationError: refusal("the address or its options cannot be used"),
    ssl.SSLError: refusal(
        "TLS failed: the certificate is not trusted or not of this host (sslmode, sslrootcert)"
    ),
    asyncpg.CannotConnectNowError: Reason("it is starting or stopping; try again"),
    asyncpg.TooManyConnectionsError: Reason("it has no connection left: raise its max_connections"),
    **NETWORK,
    **dict.fromkeys(
        (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, ConnectionError),
        Reason("the connection was lost"),
    ),
}


def make_engine(location: StoreLocation, *, writable: bool) -> AsyncEngine:
    """Return an engine whose pool opens connections as needed; readers' are read-only and in autocommit mode."""
    reader: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
    settings = {} if writable else {"default_transaction_read_only": "on"}
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=partial(asyncpg.connect, location.dsn, server_settings=settings),
        pool_size=CONNECTIONS,
        max_overflow=0,
        hide_parameters=True,  # digests are among them
        **({} if writable else reader),
    )

    @sa.event.listens_for(engine.sync_engine, "checkout")
    def _discard_closed(connection: Any, _record: object, _proxy: object) -> None:
        # A server that was restarted has closed every pooled connection.
        if connection.driver_connection.is_closed():
            raise sa.exc.DisconnectionError

    @sa.event.listens_for(engine.sync_engine, "invalidate")
    def _drop_at_once(connection: Any, _record: object, _error: object) -> None:
        # A regular close would wait for the hung server once more.
        connection.driver_connection.terminate()

    return engine


def failure(location: StoreLocation, error: BaseException) -> StorageUnavailable:
    """Return the error for a failure of the engine; it names the setting and the host, without user or password."""
    where = f"{SETTINGS['access'].variable}: {location.shown}"
    if any("rejected SSL" in str(cause) for cause in causes(error)):
        return StoreRefused(f"{where}: TLS failed: it offers none, and sslmode requires it")
    return unavailable(where, error, _REASONS)
