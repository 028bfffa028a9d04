"""Clock steps and call counts: forward, back, temporary, permanent, and across restarts."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest
import redis

from schemas.errors import SettingsError
from schemas.limits import LimitWindow
from serve.auth.clocks import SECOND_US
from serve.auth.limits import in_memory
from serve.auth.limits.counts import LimitStatus, RateLimit
from serve.auth.limits.journal import Journal
from serve.auth.limits.redis import SCRIPT, parse_status, script_argument
from tests.access.oracle import DAY_US, MINUTE_US, WINDOW

pytestmark = pytest.mark.anyio

HOUR_US = 3600 * SECOND_US
NOON = int(datetime(2100, 5, 15, 12, tzinfo=UTC).timestamp()) * SECOND_US
RATE = RateLimit((1000, 60, 5000, 100_000))
SCRIPT_WITH_CLOCK = SCRIPT.replace("redis.call('TIME')", "{KEYS[3], KEYS[4]}")


class Machine:
    """A machine whose wall clock can be set."""

    def __init__(self) -> None:
        self.passed = 7 * HOUR_US
        self.set_ahead = NOON - self.passed

    def time_ns(self) -> int:
        return (self.passed + self.set_ahead) * 1000

    def clock_gettime_ns(self, _: int) -> int:
        return self.passed * 1000

    def wait(self, microseconds: int) -> None:
        self.passed += microseconds

    def set_clock(self, by: int) -> None:
        self.set_ahead += by

    def reboot(self) -> None:
        self.set_ahead, self.passed = self.set_ahead + self.passed, 0


class Take(Protocol):
    """Make one call and return the window that refused it."""

    def __call__(self, rate: RateLimit = RATE) -> Awaitable[LimitWindow | None]: ...


@asynccontextmanager
async def counting(folder: Path, machine: Machine) -> AsyncIterator[Take]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_memory, "time", machine)
        limiter = in_memory.InMemoryLimiter(Journal(folder / "limits"))

        async def take(rate: RateLimit = RATE) -> LimitWindow | None:
            return (await limiter.hit("key", rate)).refused

        yield take
        await limiter.close()


async def times(take: Take, calls: int, rate: RateLimit = RATE) -> int:
    """Return how many of the calls are admitted."""
    return sum([await take(rate) is None for _ in range(calls)])


async def test_a_months_count_survives_a_clock_that_was_briefly_in_another_month(tmp_path: Path) -> None:
    machine = Machine()
    quota = RateLimit((1000, 1000, 1000, 50))
    async with counting(tmp_path, machine) as take:
        assert await times(take, 40, quota) == 40
        machine.set_clock(40 * DAY_US)
        assert await times(take, 5, quota) == 5
        machine.set_clock(-40 * DAY_US)
        assert await times(take, 20, quota) == 10
    async with counting(tmp_path, machine) as take:
        assert await times(take, 1, quota) == 0


async def test_a_rebooted_machine_trusts_its_wall_clock(tmp_path: Path) -> None:
    machine = Machine()
    async with counting(tmp_path, machine) as take:
        assert await times(take, 60) == 60
    machine.wait(50 * SECOND_US)
    machine.reboot()
    async with counting(tmp_path, machine) as take:
        assert await times(take, 1) == 0
        machine.wait(10 * SECOND_US)
        assert await times(take, 70) == 60
    # Restarted with a slow clock: no time counts as passed, and the wait is at most a minute.
    machine.reboot()
    machine.set_clock(-HOUR_US)
    async with counting(tmp_path, machine) as take:
        assert await times(take, 1) == 0
        machine.wait(MINUTE_US)
        assert await times(take, 70) == 60


def test_a_file_of_counts_of_another_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "limits") as other:
        other.execute("PRAGMA user_version = 9")
    other.close()
    with pytest.raises(SettingsError, match=r"version 9.*remove it"):
        Journal(tmp_path / "limits")


async def test_random_clock_steps_never_admit_an_extra_call(tmp_path: Path) -> None:
    chance, machine = random.Random(5), Machine()
    rate = RateLimit((3, 8, 30, None))
    limits = dict(zip((SECOND_US, MINUTE_US, DAY_US), rate.limits, strict=False))
    admitted: list[int] = []
    refused_in_vain = 0
    for _ in range(40):
        async with counting(tmp_path, machine) as take:
            for _ in range(50):
                machine.wait(chance.choice((0, 1000, SECOND_US, 20 * SECOND_US, HOUR_US)))
                if chance.random() < 0.2:
                    machine.set_clock(
                        chance.choice((-1, 1)) * chance.choice((1000, HOUR_US, DAY_US, 40 * DAY_US))
                    )
                now = machine.passed
                room = all(
                    sum(now - at < length for at in admitted) < limit  # type: ignore[operator]
                    for length, limit in limits.items()
                )
                answer = await take(rate)
                assert (answer is None) == room
                refused_in_vain += not room
                if answer is None:
                    admitted.append(now)
    assert len(admitted) > 200
    assert refused_in_vain > 300


class Server:
    """The limiter script on a Redis with a settable clock."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self.now = NOON
        self.set_ahead = 0

    def take(self, rate: RateLimit = RATE) -> LimitStatus:
        clock = self.now + self.set_ahead
        requested = (clock // SECOND_US, clock % SECOND_US, script_argument(rate, 1))
        return parse_status(self._client.eval(SCRIPT_WITH_CLOCK, 4, "calls", "months", *requested))

    def times(self, calls: int, rate: RateLimit = RATE) -> int:
        return sum(self.take(rate).refused is None for _ in range(calls))


@pytest.mark.parametrize("step", [-SECOND_US, -2 * SECOND_US, -HOUR_US, -40 * DAY_US])
def test_a_redis_clock_set_back_admits_no_extra_call_and_blocks_no_caller(
    redis_client: redis.Redis, step: int
) -> None:
    server = Server(redis_client)
    assert server.times(70) == 60
    server.set_ahead = step
    refused = server.take()
    assert refused.refused is WINDOW["minute"]
    assert MINUTE_US <= refused.retry_us <= MINUTE_US + SECOND_US
    server.now += refused.retry_us
    assert server.times(70) == 60


def test_a_redis_clock_one_day_ahead_for_two_seconds_blocks_no_caller(
    redis_client: redis.Redis,
) -> None:
    server = Server(redis_client)
    assert server.times(60) == 60
    server.set_ahead = DAY_US
    assert server.times(60) == 60  # elapsed time and a changed clock cannot be distinguished
    server.now += 2 * SECOND_US
    server.set_ahead = 0
    assert server.times(1) == 0
    server.now += MINUTE_US
    assert server.times(70) == 60
    assert redis_client.pttl("calls") > 2 * DAY_US // 1000


def test_a_redis_clock_briefly_in_another_month_keeps_the_months_count(redis_client: redis.Redis) -> None:
    server, quota = Server(redis_client), RateLimit((1000, 1000, 1000, 50))
    assert server.times(40, quota) == 40
    server.set_ahead = 40 * DAY_US
    assert server.times(5, quota) == 5
    server.set_ahead = 0
    assert server.times(20, quota) == 10
    assert redis_client.hget("months", "210005") == b"50"
    server.set_ahead = 500 * DAY_US
    assert server.times(1, quota) == 1
    assert set(redis_client.hkeys("months")) == {b"last", b"ahead", b"210109"}


def test_a_redis_clock_set_back_repeatedly_never_admits_an_extra_call(redis_client: redis.Redis) -> None:
    chance, server = random.Random(6), Server(redis_client)
    rate = RateLimit((3, 8, 30, None))
    limits = dict(zip((SECOND_US, MINUTE_US, DAY_US), rate.limits, strict=False))
    admitted: list[int] = []
    for _ in range(3000):
        server.now += chance.choice((0, 1000, SECOND_US, 20 * SECOND_US, HOUR_US))
        if chance.random() < 0.1:
            server.set_ahead -= chance.choice((1000, 900_000, HOUR_US, DAY_US))
        result = server.take(rate)
        if result.refused is None:
            admitted.append(server.now)
            for length, limit in limits.items():
                assert sum(server.now - at < length for at in admitted) <= limit  # type: ignore[operator]
        else:
            assert result.retry_us <= DAY_US
    assert len(admitted) > 200
