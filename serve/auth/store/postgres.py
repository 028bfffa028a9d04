"""The engine of a store in PostgreSQL, and the reasons of its failures."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from schemas.settings import SETTINGS
from serve.auth.settings import StoreLocation

CONNECTIONS: Final = 8
"""Connections of one process; a query takes a quarter of a millisecond."""

_WRONG: Final[dict[type[Exception], str]] = {
    asyncpg.InvalidPasswordError: "it refuses this user and password",
    asyncpg.InvalidAuthorizationSpecificationError: "it refuses this user, from this host or without TLS (pg_hba.conf)",
    asyncpg.InvalidCatalogNameError: "it has no such database: create it, or name another",
    asyncpg.ClientConfigurationError: "the address or its options cannot be used",
    ssl.SSLError: "TLS failed: the certificate is not trusted or not of this host (sslmode, sslrootcert)",
}
"""Errors that need an operator."""
_AWAY: Final[dict[type[Exception], str]] = {
    asyncpg.CannotConnectNowError: "it is starting or stopping; try again",
    asyncpg.TooManyConnectionsError: "it has no connection left: raise its max_connections",
    socket.gaierror: "the name of the host is not known",
    ConnectionRefusedError: "the connection was refused: nothing listens there",
    TimeoutError: "it did not answer in time",
    **dict.fromkeys(
        (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, ConnectionError), "the connection was lost"
    ),
}
"""Errors that may pass."""


def make_engine(location: StoreLocation, *, writable: bool) -> AsyncEngine:
    """Return a pool of connections, opened when they are needed; those of readers are read-only and in autocommit mode."""
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
    def _leave_out_what_is_closed(connection: Any, _record: object, _proxy: object) -> None:
        # A restarted server has closed all of them.
        if connection.driver_connection.is_closed():
            raise sa.exc.DisconnectionError

    @sa.event.listens_for(engine.sync_engine, "invalidate")
    def _drop_at_once(connection: Any, _record: object, _error: object) -> None:
        # A proper goodbye to a hung server would wait again.
        connection.driver_connection.terminate()

    return engine


def reason(location: StoreLocation, error: BaseException) -> str:
    """Return the reason of a failure of the engine, with the setting and the host, without user or password."""
    return f"{SETTINGS['access'].variable}: {location.shown}: {_known(error)[0]}"


def is_refusal(error: BaseException | None) -> bool:
    """Whether a server was reached and refused the address's user, password or database, so that a retry is pointless."""
    return error is not None and _known(error)[1]


def _known(error: BaseException) -> tuple[str, bool]:
    for each in _chain(error):
        if "rejected SSL" in str(each):
            return "TLS failed: it offers none, and sslmode requires it", True
        for table in (_WRONG, _AWAY):
            for kind, words in table.items():
                if isinstance(each, kind):
                    return words, table is _WRONG
        # For a name with two addresses the loop reports both failures as text in one error.
        if isinstance(each, OSError) and f"Errno {errno.ECONNREFUSED}" in str(each):
            return _AWAY[ConnectionRefusedError], False
    return f"no answer ({type(error).__name__})", False


def _chain(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    while each is not None:  # SQLAlchemy and the loop wrap errors of the driver and the system
        yield each
        each = each.__cause__ or each.__context__
