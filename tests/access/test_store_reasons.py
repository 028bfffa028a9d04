"""Errors of the key store and of the limiter name setting, host and reason, without secrets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redis

from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from serve.auth.limits.counts import RateLimit
from serve.auth.limits.redis import RedisLimiter
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.processes import command
from tests.support.redis import RedisServer

pytestmark = pytest.mark.anyio

SECRET = "hunter2hunter2"


async def refusal(url: str, *, create: bool = True) -> AlphaResultsError:
    with pytest.raises(AlphaResultsError) as refused:
        await open_store(AccessSettings(url), writable=False, create=create)
    assert SECRET not in str(refused.value)
    assert str(refused.value).startswith("ALPHA_RESULTS_ACCESS: postgresql on ")
    return refused.value


@pytest.mark.parametrize("create", [True, False])
async def test_an_unreachable_postgresql_is_reported_with_its_host(create: bool) -> None:
    port = free_port()
    result = await refusal(f"postgresql://someone:{SECRET}@127.0.0.1:{port}/access", create=create)
    assert isinstance(result, StorageUnavailable)
    assert f"127.0.0.1:{port}, database access: the connection was refused" in str(result)
    result = await refusal(f"postgresql://someone:{SECRET}@no-such-host.invalid/access", create=create)
    assert isinstance(result, StorageUnavailable)
    assert "no-such-host.invalid:5432, database access: the name of the host is not known" in str(result)


async def test_a_connection_refused_by_postgresql_is_a_settings_error(
    postgres: PostgresServer,
) -> None:
    base, _, options = postgres.url().partition("?")
    assert options  # the folder of a socket, which has no host name
    missing = await refusal(f"{base.rpartition('/')[0]}/no_such_database?{options}")
    assert isinstance(missing, SettingsError)
    assert "no such database" in str(missing)
    role = await refusal(re.sub(r"//[^/@]*@?", f"//nobody_at_all:{SECRET}@", base) + f"?{options}")
    assert isinstance(role, SettingsError)
    assert "refuses this user" in str(role)


async def limiter_refusal(url: str) -> AlphaResultsError:
    limiter = RedisLimiter(url, "t")
    try:
        with pytest.raises(AlphaResultsError) as refused:
            await limiter.status([("key", RateLimit())])
    finally:
        await limiter.close()
    assert SECRET not in str(refused.value)
    assert str(refused.value).startswith("ALPHA_RESULTS_REDIS: redis on ")
    return refused.value


async def test_the_reason_why_redis_cannot_count_is_reported(redis_server: RedisServer) -> None:
    port = free_port()
    result = await limiter_refusal(f"redis://:{SECRET}@127.0.0.1:{port}/3")
    assert isinstance(result, StorageUnavailable)
    assert f"127.0.0.1:{port}, database 3: the connection was refused" in str(result)
    result = await limiter_refusal(redis_server.url.replace("db=0", "db=99"))
    assert isinstance(result, SettingsError)
    assert "database 99: it has no such database" in str(result)
    with redis.Redis.from_url(redis_server.url) as client:
        client.config_set("requirepass", SECRET + "!")
        try:
            wrong = await limiter_refusal(redis_server.url.replace("//", f"//:{SECRET}@", 1))
            none = await limiter_refusal(redis_server.url)
        finally:
            client.config_set("requirepass", "")
    for each in (wrong, none):
        assert isinstance(each, SettingsError)
        assert "refuses this user and password" in str(each)


def test_a_server_does_not_start_without_its_redis(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    url = f"redis://:{SECRET}@127.0.0.1:{free_port()}/0"
    started = ("run", "--datasets", str(tmp_path / "published"), "--port", str(free_port()), "--workers", "2")
    done = command(*started, ALPHA_RESULTS_REDIS=url)
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ALPHA_RESULTS_REDIS: redis on 127.0.0.1:")
    assert SECRET not in line
    assert not re.search("Traceback|uvicorn", line)


@pytest.mark.parametrize(
    "words", ["keys list", f"keys show {'0' * 16}", "accounts list", "audit", "access show"]
)
def test_a_read_only_command_creates_no_store_and_no_pepper(words: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("absent", "empty"):
        done = command(*words.split(), "--access", str(tmp_path / name))
        if words != "access show":
            assert (done.returncode, done.stdout) == (2, "")
            assert "there is no access store" in done.stderr
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("empty", 0)]
