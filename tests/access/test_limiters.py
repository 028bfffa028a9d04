from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError, SettingsError, StorageUnavailable
from schemas.limits import LIMIT_WINDOWS, LimitWindow
from serve.auth.authenticator import Authenticator
from serve.auth.clocks import wall_us
from serve.auth.limits.counts import MONTH, LimitStatus, RateLimit
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.limits.journal import Journal, read_last_uses
from serve.auth.limits.redis import RedisLimiter
from serve.auth.settings import AccessSettings
from tests.access.oracle import DAY_US, WINDOW
from tests.support.administration import open_administration
from tests.support.keys import bearer
from tests.support.postgres import postgres_running
from tests.support.processes import REPOSITORY
from tests.support.redis import RedisServer, redis_running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

WIDE = RateLimit((10**6, 10**6, 10**6, None))
LIMIT = 37
WINDOWS = {
    "second": f"{LIMIT}:1000000:1000000:1000000",
    "minute": f"1000000:{LIMIT}:1000000:1000000",
    "day": f"1000000:1000000:{LIMIT}:1000000",
    "month": f"1000000:1000000:1000000:{LIMIT}",
}


class Clock:
    """A stopped clock, as the module `time`; microseconds since 1970."""

    now = 4_102_444_800_000_000  # 2100-01-01

    def time_ns(self) -> int:
        return self.now * 1000

    def clock_gettime_ns(self, _: int) -> int:
        return self.now * 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of limiters in memory."""
    clock = Clock()
    monkeypatch.setattr("serve.auth.limits.in_memory.time", clock)
    return clock


def limiter_in(folder: Path) -> InMemoryLimiter:
    return InMemoryLimiter(Journal(folder / "limits"))


@pytest.mark.parametrize("window", WINDOWS)
def test_64_callers_on_two_processes_get_exactly_the_limit_ten_times_in_a_row(
    redis_client: redis.Redis, each_redis_server: RedisServer, window: str
) -> None:
    clock = "stopped" if window == "second" else "running"
    keys = [f"{window}{n}={WINDOWS[window]}" for n in range(10)]
    command = [
        sys.executable,
        str(Path(__file__).with_name("hammer.py")),
        each_redis_server.url,
        clock,
        "32",
        "3",
        *keys,
    ]
    workers = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
        )
        for _ in range(2)
    ]
    for _ in workers:
        assert redis_client.blpop(["ready"], timeout=60)
    redis_client.rpush("go", "1", "1")
    counts = [json.loads(worker.communicate(timeout=PATIENCE)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert {key: counts[0][key] + counts[1][key] for key in counts[0]} == {
        f"{window}{n}": LIMIT for n in range(10)
    }
    for n in range(10):
        assert redis_client.llen(f"hammer:{{{window}{n}}}:calls") == LIMIT


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("window", LIMIT_WINDOWS)
async def test_64_tasks_in_one_process_get_exactly_the_limit_ten_times_in_a_row(
    tmp_path: Path, window: LimitWindow
) -> None:
    limiter = limiter_in(tmp_path)
    rate = RateLimit(tuple(LIMIT if each is window else 10**6 for each in LIMIT_WINDOWS))
    for attempt in range(10):

        async def caller(key: str = f"key {attempt}") -> list[LimitStatus]:
            results = []
            for _ in range(3):
                results.append(await limiter.hit(key, rate))
                await asyncio.sleep(0)
            return results

        statuses = [x for results in await asyncio.gather(*[caller() for _ in range(64)]) for x in results]
        assert sum(status.refused is None for status in statuses) == LIMIT
        assert {status.refused for status in statuses} == {None, window}
    await limiter.close()


async def test_counts_survive_a_restart(tmp_path: Path, clock: Clock) -> None:
    first = limiter_in(tmp_path)
    for _ in range(7):
        await first.hit("a", WIDE)
        clock.now += 1000
    await first.hit("b", WIDE)
    (before,) = await first.status([("a", WIDE)])
    await first.close()
    second = limiter_in(tmp_path)
    assert await second.status([("a", WIDE), ("b", WIDE)]) == [
        before,
        (await second.status([("b", WIDE)]))[0],
    ]
    assert before.used == (7, 7, 7, 7)
    # Counts continue where they stopped.
    narrow = RateLimit((10, 10, 8, None))
    assert (await second.hit("a", narrow)).refused is None
    assert (await second.hit("a", narrow)).refused is WINDOW["day"]
    await second.close()


async def test_after_a_day_only_the_monthly_count_remains_and_the_file_shrinks(
    tmp_path: Path, clock: Clock
) -> None:
    first = limiter_in(tmp_path)
    await first.hit("a", WIDE)
    await first.save()
    clock.now += DAY_US
    await first.forget()
    await first.close()
    second = limiter_in(tmp_path)
    assert (await second.status([("a", WIDE)]))[0].used == (0, 0, 0, 1)
    await second.close()
    with sqlite3.connect(tmp_path / "limits") as file:
        assert file.execute("SELECT count(*) FROM calls").fetchone() == (0,)


CRASH = """
import asyncio, os, sys
from pathlib import Path
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.limits.counts import RateLimit
async def main():
    limiter = await InMemoryLimiter.open(Path(sys.argv[1]))
    rate = RateLimit((10**6, 10**6, 10**6, None))
    while True:
        status = await limiter.hit("a", rate)
        print(status.used[3], flush=True)
        await asyncio.sleep(0.01)
asyncio.run(main())
"""


def test_a_killed_process_loses_only_unwritten_calls(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    command = [sys.executable, "-c", CRASH, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY, text=True) as worker:
        assert worker.stdout is not None
        result = [int(worker.stdout.readline())]
        while not read_last_uses(file, 0):  # the limiter writes periodically
            result.append(int(worker.stdout.readline()))
        worker.kill()
        result += [int(line) for line in worker.stdout.read().split()]
    journal = Journal(file)
    journalled = journal.load(wall_us())[1]["a"]
    journal.close()
    (month_count,) = journalled.months.values()
    assert 0 < month_count == len(journalled.times)
    # The last admission may have been written but not reported.
    assert month_count <= max(result) + 1


async def test_keys_that_have_long_been_quiet_take_no_memory_and_a_busy_one_keeps_its_counts(
    tmp_path: Path, clock: Clock
) -> None:
    limiter = limiter_in(tmp_path)
    tracemalloc.start()
    try:
        for number in range(1000):
            await limiter.hit(f"key {number}", WIDE)
        await limiter.save()
        of_all, _ = tracemalloc.get_traced_memory()
        for _ in range(33):
            clock.now += DAY_US
            await limiter.hit("busy", WIDE)
            await limiter.save()
            await limiter.forget()
        of_one, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert of_one < of_all / 2
    assert (await limiter.status([("busy", WIDE)]))[0].used == (1, 1, 1, 3)
    await limiter.close()


async def test_two_processes_cannot_count_in_one_file(tmp_path: Path) -> None:
    first = await InMemoryLimiter.open(tmp_path / "limits")
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_REDIS"):
        await InMemoryLimiter.open(tmp_path / "limits")
    await first.close()
    await (await InMemoryLimiter.open(tmp_path / "limits")).close()


async def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no database " * 100)
    with pytest.raises(SettingsError, match="counts begin at zero"):
        await InMemoryLimiter.open(tmp_path / "notes")
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_LIMITS_STATE"):
        await InMemoryLimiter.open(tmp_path / "none" / "limits")


async def test_a_failed_write_is_retried_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = limiter_in(tmp_path)
    await limiter.hit("a", WIDE)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", full)
        await limiter.save()
        await limiter.hit("a", WIDE)
    await limiter.close()
    again = limiter_in(tmp_path)
    assert (await again.status([("a", WIDE)]))[0].used[3] == 2
    await again.close()


@pytest.fixture
async def own_redis() -> AsyncIterator[RedisServer]:
    with redis_running() as server:
        yield server


async def test_a_killed_redis_admits_no_call_and_recovers_by_itself(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    settings = AccessSettings(str(tmp_path / "a.sqlite3"), redis=own_redis.url, workers=2)
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("a@example.org")
        token = (await administration.keys.issue("a@example.org", "k", rate="per_second=99,per_day=99")).token
    headers = bearer(token)
    access = await Authenticator.open(settings)
    me = ENDPOINTS["meta.me"]
    try:
        for _ in range(2):
            # Several connections are open when the server stops.
            callers = await asyncio.gather(*[access.authorize(headers, None, me) for _ in range(8)])
            # A server that lost its data counts from 0, and only the calls that it admitted since.
            assert max(caller.usage.used[MONTH] for caller in callers) == 8
            own_redis.kill()
            for _ in range(3):
                with pytest.raises(ApiError) as refused:
                    await access.authorize(headers, None, me)
                assert (refused.value.code, refused.value.status) == ("upstream_unavailable", 503)
                assert int(refused.value.headers["Retry-After"]) >= 1
            with pytest.raises(ApiError, match="Keys cannot be checked"):
                await access.inventory(callers[0].record.account_id)
            own_redis.start()
    finally:
        await access.close()


async def test_serving_starts_while_redis_is_unavailable(own_redis: RedisServer) -> None:
    own_redis.kill()
    limiter = RedisLimiter(own_redis.url, "later")
    with pytest.raises(StorageUnavailable):
        await limiter.hit("a", WIDE)
    with pytest.raises(StorageUnavailable):
        await limiter.status([("a", WIDE)])
    own_redis.start()
    assert (await limiter.status([("a", WIDE)]))[0].used == (0, 0, 0, 0)
    assert (await limiter.hit("a", WIDE)).used == (1, 1, 1, 1)
    await limiter.close()


async def test_an_unanswered_limiter_call_is_not_retried(own_redis: RedisServer) -> None:
    limiter = RedisLimiter(own_redis.url, "once")
    await limiter.hit("a", WIDE)
    with own_redis.hanging(), pytest.raises(StorageUnavailable):
        await limiter.hit("a", WIDE)
    # The hung server may have counted the attempt when it resumed, but never twice.
    assert (await limiter.hit("a", WIDE)).used[3] <= 3
    await limiter.close()


async def test_concurrent_calls_are_counted_separately(own_redis: RedisServer) -> None:
    limiter = RedisLimiter(own_redis.url, "together")
    three = RateLimit((10**6, 3, 10**6, None))
    keys = "abab" * 2
    takes = [asyncio.create_task(limiter.hit(key, three)) for key in keys]
    await asyncio.sleep(0)
    takes[0].cancel()  # one caller disconnects; the others still get their results
    result = await asyncio.gather(*takes, return_exceptions=True)
    assert isinstance(result[0], asyncio.CancelledError)
    refused = [
        (key, one.refused)
        for key, one in zip(keys[1:], result[1:], strict=True)
        if isinstance(one, LimitStatus)
    ]
    assert [window for key, window in refused if key == "b"] == [None, None, None, WINDOW["minute"]]
    assert [window for key, window in refused if key == "a"] == [None, None, WINDOW["minute"]]
    with redis.Redis.from_url(own_redis.url) as client:
        client.script_flush()
    # The script did not run for these calls before it was reloaded, so none is counted twice.
    again = await asyncio.gather(*[limiter.hit(key, WIDE) for key in "cdc"])
    assert [status.used[3] for status in again] == [1, 1, 2]
    await limiter.close()


async def test_a_redis_password_is_not_shown() -> None:
    with pytest.raises(SettingsError) as refused:
        RedisLimiter("redis://:pa55word@host:notaport/0", "x")
    assert "pa55word" not in str(refused.value)


async def test_a_stopped_postgres_admits_no_call_and_recovers_by_itself(
    redis_server: RedisServer,
) -> None:
    with postgres_running() as server:
        settings = AccessSettings(server.url(), redis=redis_server.url)
        async with open_administration(settings, "tester") as administration:
            await administration.accounts.create("a@example.org")
            token = (await administration.keys.issue("a@example.org", "k")).token
        headers = bearer(token)
        access = await Authenticator.open(settings)
        me = ENDPOINTS["meta.me"]
        await access.authorize(headers, None, me)
        server.stop()
        for _ in range(3):
            with pytest.raises(ApiError) as refused:
                await access.authorize(headers, None, me)
            assert (refused.value.code, refused.value.headers["Retry-After"]) == ("upstream_unavailable", "1")
        server.start()
        assert (await access.authorize(headers, None, me)).usage.used[MONTH] == 2
        await access.close()
