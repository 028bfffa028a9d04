"""Cost of authenticating, counting and authorising one call, compared with a floor: its unavoidable database round trips.

Run from the root: ``PYTHONPATH=. python benchmarks/access.py``. It starts its own PostgreSQL and Redis. Times
depend on the machine and its load; ratios to the floor of the same run depend on them less.
"""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import click
import redis.asyncio
import uvloop

from schemas.endpoints import ENDPOINTS
from serve.auth.admin import open_administration
from serve.auth.authenticator import Authenticator
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.settings import AccessSettings
from tests.support.postgres import PostgresServer, postgres_binaries
from tests.support.redis import RedisServer, redis_binaries

ROUNDS, CALLS = 400, 15  # short rounds, so that other work interrupts only some of them
KEYS = 100  # used in turn, so that one key is called as often as a busy one
HEADERS = {
    b"host": b"api.example.org",
    b"user-agent": b"benchmark",
    b"accept": b"application/json",
    b"accept-encoding": b"zstd, br, gzip",
}


async def cost(call: Callable[[], Awaitable[object]]) -> float:
    """Return microseconds per call in the fastest round, the one least disturbed by other work."""
    for _ in range(CALLS):
        await call()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            await call()
        rounds.append((time.perf_counter() - start) / CALLS * 1e6)
    return min(rounds)


async def measure(settings: AccessSettings, floor: Callable[[str], Callable[[], Awaitable[object]]]) -> None:
    """Print the cost of a call on one deployment, its parts, and the floor."""
    limits = "per_second=1000000,per_minute=1000000,per_day=1000000,monthly=1000000"
    grants: dict[str, Any] = {"endpoints": "all", "rate": limits, "ips": "10.0.0.0/8,2001:db8::/32"}
    async with open_administration(settings, "benchmark") as administration:
        await administration.accounts.create("owner@example.org", ceiling_endpoints="all")
        issued = [await administration.keys.issue("owner@example.org", "k", **grants) for _ in range(KEYS)]
    keys = itertools.cycle(
        (x.record.id, HEADERS | {b"authorization": f"Bearer {x.token}".encode()}) for x in issued
    )
    access = await Authenticator.open(settings)
    scores, rate = ENDPOINTS["signals.scores"], issued[0].record.rate
    total = await cost(lambda: access.authorize(next(keys)[1], "10.1.2.3", scores))
    lookup = await cost(lambda: access._store.key_or_another(next(keys)[0]))  # noqa: SLF001 - a part of the total
    count = await cost(lambda: access._limiter.hit(next(keys)[0], rate))  # noqa: SLF001 - as above
    least = await cost(floor(issued[0].record.id))
    aim = 100.0 if isinstance(access._limiter, InMemoryLimiter) else 600.0  # noqa: SLF001 - as above
    print(
        f"{settings.location.shown.split()[0]:<10} {total:7.1f} us per call = look-up {lookup:.1f} + count {count:.1f}"
        f" + rest {total - lookup - count:.1f};  floor {least:.1f}, ratio {total / least:.2f};  aim {aim:.0f}, ratio {total / aim:.2f}"
    )
    await access.close()


async def embedded(folder: Path) -> None:
    """Measure SQLite with the in-process limiter; the floor is reading the key's row."""
    settings = AccessSettings(str(folder / "access.sqlite3"), limits_state=folder / "limits.sqlite3")

    def floor(key_id: str) -> Callable[[], Awaitable[object]]:
        connection = sqlite3.connect(folder / "access.sqlite3", isolation_level=None)

        async def read() -> object:
            return connection.execute("SELECT * FROM access_keys WHERE id = ?", (key_id,)).fetchone()

        return read

    await measure(settings, floor)


async def shared(postgres: PostgresServer, server: RedisServer) -> None:
    """Measure PostgreSQL and Redis; the floor is reading the key's row and one PING."""
    connection = await asyncpg.connect(postgres.url())
    client = redis.asyncio.Redis.from_url(server.url)

    def floor(key_id: str) -> Callable[[], Awaitable[object]]:
        async def read() -> object:
            await connection.fetchrow("SELECT * FROM access_keys WHERE id = $1", key_id)
            return await client.ping()

        return read

    await measure(AccessSettings(postgres.url(), redis=server.url), floor)
    await client.aclose()
    await connection.close()


@click.command()
def main() -> None:
    """Measure the cost of authenticating and counting a call: with SQLite, then with PostgreSQL and Redis."""
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(embedded(Path(folder)))
    binaries = postgres_binaries()
    if binaries is None or not redis_binaries():
        click.echo("PostgreSQL or Redis is not installed: the shared deployment is not measured")
        return
    postgres, server = PostgresServer(binaries), RedisServer(next(iter(redis_binaries().values())))
    try:
        postgres.start()
        server.start()
        uvloop.run(shared(postgres, server))
    finally:
        postgres.remove()
        server.remove()


if __name__ == "__main__":
    main()
