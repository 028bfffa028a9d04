"""PostgreSQL is killed under load: every call is answered, with 503 while it is away."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from schemas.errors import StorageUnavailable
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store, store_at
from serve.auth.store.repository import KeyStore, Repository
from tests.support import published
from tests.support.administration import open_administration
from tests.support.callers import calling
from tests.support.keys import WIDE
from tests.support.operators import operators
from tests.support.postgres import PostgresServer, postgres_running
from tests.support.processes import signalled, tasks
from tests.support.server import served
from tests.support.waiting import eventually

AWAY = "503, Retry-After 1"


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    with postgres_running() as server:
        yield server


def test_every_call_is_answered_when_postgres_is_killed_under_load(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    root = tmp_path / "published"
    root.mkdir()
    published.publish(root, published.full())
    where = {"ALPHA_RESULTS_ACCESS": own_postgres.url()}
    with operators(root, **where) as run, served(root, variables=where) as (server, base):
        run("accounts", "create", "--email", "o@example.org")
        issued = run.json("keys", "issue", "--account", "o@example.org", "--name", "n", "--rate", WIDE)
        with calling(base, issued["token"]) as ended:
            for _ in range(2):
                more(ended, 200, 100)
                own_postgres.kill()
                more(ended, AWAY, 20)
                assert "the connection was refused" in run("keys", "revoke", issued["key_id"], code=5)
                own_postgres.start()
            more(ended, 200, 100)
        assert server.poll() is None
    assert set(ended) == {200, AWAY}


def more(ended: Counter[object], how: object, calls: int) -> None:
    """Wait until that many more calls ended with this outcome."""
    before = ended[how]
    eventually(lambda: ended[how] >= before + calls)


def backend(server: PostgresServer) -> int:
    """Return a process that answers a connection."""
    for pid in server.children():
        if any("postgres postgres" in line for line in tasks(pid, "cmdline")):
            return pid
    raise AssertionError("there is no connection")


def test_a_connection_broken_in_any_state_is_reported_as_an_unavailable_store(
    own_postgres: PostgresServer,
) -> None:
    # The server's own event loop, which reports the last bytes and the end of a connection separately.
    ended = uvloop.run(_call_while_it_breaks(own_postgres))
    assert set(ended) == {KeyStore, StorageUnavailable}


async def _call_while_it_breaks(own_postgres: PostgresServer) -> Counter[type]:
    settings = AccessSettings(own_postgres.url())
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("o@example.org")
    store = await open_store(settings, writable=False)
    ended: Counter[type] = Counter()
    stop = asyncio.Event()

    async def caller() -> None:
        while not stop.is_set():
            try:
                await store.run(Repository.key, "0" * 16)
                ended[KeyStore] += 1
            except Exception as error:  # noqa: BLE001 - its type is asserted
                ended[type(error)] += 1
                await asyncio.sleep(0.001)

    callers = [asyncio.create_task(caller()) for _ in range(32)]
    for number in range(12):
        before = ended[KeyStore]
        while ended[KeyStore] < before + 200:  # noqa: ASYNC110 - the callers only count
            await asyncio.sleep(0.01)
        if number % 3:
            own_postgres.kill()
            await asyncio.sleep(0.05)
            await asyncio.to_thread(own_postgres.start)
        else:  # killing one backend: the server then closes all connections and recovers by itself
            signalled(backend(own_postgres), signal.SIGKILL)
    stop.set()
    await asyncio.gather(*callers)
    await store.close()
    return ended


@pytest.mark.anyio
async def test_a_hanging_store_delays_no_caller_beyond_the_timeout(own_postgres: PostgresServer) -> None:
    settings = AccessSettings(own_postgres.url())
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("o@example.org")
    store = await open_store(settings, writable=False)
    assert await store.run(Repository.key, "0" * 16) is None
    with own_postgres.hanging():
        # More calls than connections: the last one does not wait for all others.
        async with asyncio.timeout(60):
            result = await asyncio.gather(
                *[store.run(Repository.key, "0" * 16) for _ in range(100)], return_exceptions=True
            )
    assert {type(one) for one in result} == {StorageUnavailable}
    assert await store.run(Repository.key, "0" * 16) is None
    await store.close()


@pytest.mark.anyio
async def test_a_hanging_connection_is_waited_for_once(
    own_postgres: PostgresServer,
) -> None:
    # Long enough that a machine that stalls for seconds does not look like a second wait.
    wait_s = 12.0
    settings = AccessSettings(own_postgres.url())
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("o@example.org")
    store = store_at(settings.location, writable=False, wait_s=wait_s)
    results = [store.run(Repository.key, "0" * 16) for _ in range(6)]
    await asyncio.gather(*results)  # each has a connection by now
    with own_postgres.hanging():
        calls = {asyncio.create_task(store.run(Repository.key, "0" * 16)) for _ in range(6)}
        _, late = await asyncio.wait(calls, timeout=1.9 * wait_s)
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(one) for one in ended} == {StorageUnavailable}
    assert not late
    await store.close()
