from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.limits import LIMIT_WINDOWS
from serve.auth.limits.counts import MONTH, CallLog, LimitStatus, Month, RateLimit
from serve.auth.limits.in_memory import decide
from serve.auth.limits.redis import SCRIPT, parse_status, script_argument
from tests.access.oracle import DAY_US, EPOCH, START, OfOneClock, Oracle, month_of, next_month, operations

OPERATIONS = 100_000
# The script, with the time passed as two more keys.
SCRIPT_WITH_CLOCK = SCRIPT.replace("redis.call('TIME')", "{KEYS[3], KEYS[4]}")


class Twin:
    """A key's call log with two clocks: a wall clock that steps and a monotonic one."""

    def __init__(self) -> None:
        self.log = CallLog()
        self.wall = self.now = START

    def pass_to(self, wall: int) -> None:
        self.now += max(0, wall - self.wall)
        self.wall = wall

    def decide(self, rate: RateLimit, *, charge: bool) -> LimitStatus:
        return decide(self.log, self.now, self.wall, Month.of(self.wall), rate, charge=charge)


@cache
def oracle_answers() -> list[LimitStatus]:
    oracles = [OfOneClock() for _ in range(3)]
    answers = []
    for number, (key, clock, rate, charge) in enumerate(operations(7, OPERATIONS)):
        answers.append(oracles[key].decide_at(clock, rate, charge=charge))
        if number % 10 == 0 and oracles[key].calls:
            oracles[key].forget()
    return answers


@pytest.fixture
def expected() -> list[LimitStatus]:
    return oracle_answers()


def test_the_random_operations_reach_every_outcome(expected: list[LimitStatus]) -> None:
    charged = [x for x, (_, _, _, charge) in zip(expected, operations(7, OPERATIONS), strict=True) if charge]
    outcomes = Counter(x.refused for x in charged)
    assert set(outcomes) == {None, *LIMIT_WINDOWS}
    assert min(outcomes.values()) > 200


def test_the_in_process_limiter_agrees_with_the_oracle_on_random_operations() -> None:
    twins, oracles = [Twin() for _ in range(3)], [Oracle() for _ in range(3)]
    for number, (key, wall, rate, charge) in enumerate(operations(7, OPERATIONS)):
        twins[key].pass_to(wall)
        wanted = oracles[key].decide(twins[key].now, wall, rate, charge=charge)
        assert twins[key].decide(rate, charge=charge) == wanted, number
        if number % 10 == 0 and oracles[key].calls:
            oracles[key].forget()


def test_the_redis_script_agrees_with_the_oracle_on_random_operations(
    expected: list[LimitStatus], redis_client: redis.Redis
) -> None:
    sha = redis_client.script_load(SCRIPT_WITH_CLOCK)
    answers: list[LimitStatus] = []
    pipeline = redis_client.pipeline(transaction=False)
    for number, (key, clock, rate, charge) in enumerate(operations(7, OPERATIONS), start=1):
        names = (f"{{k{key}}}:calls", f"{{k{key}}}:months", clock // 1_000_000, clock % 1_000_000)
        pipeline.evalsha(sha, 4, *names, script_argument(rate, int(charge)))
        if number % 1000 == 0:
            answers += [parse_status(answer) for answer in pipeline.execute()]
    for number, (actual, wanted) in enumerate(zip(answers, expected, strict=True)):
        assert actual == wanted, number


steps = (
    st.integers(-3 * DAY_US, 3 * DAY_US)
    | st.integers(0, 3_000_000)
    | st.integers(-1_500_000, 1_500_000)
    | st.sampled_from([0, 1_000_000, 60_000_000])
)
rates = st.builds(
    RateLimit,
    st.tuples(
        *[st.none() | st.integers(1, 4 + place) for place in range(MONTH)], st.none() | st.integers(1, 8)
    ),
)
histories = st.lists(st.tuples(steps, rates, st.booleans()), max_size=40)


@settings(max_examples=300)
@given(histories)
def test_the_in_process_limiter_agrees_with_the_oracle_on_any_history(
    history: list[tuple[int, RateLimit, bool]],
) -> None:
    oracle, twin = Oracle(), Twin()
    for step, rate, charge in history:
        twin.pass_to(max(0, twin.wall + step))
        assert twin.decide(rate, charge=charge) == oracle.decide(twin.now, twin.wall, rate, charge=charge)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories)
def test_the_redis_script_agrees_with_the_oracle_on_any_history(
    redis_client: redis.Redis, history: list[tuple[int, RateLimit, bool]]
) -> None:
    redis_client.flushdb()
    oracle, clock = OfOneClock(), START
    for step, rate, charge in history:
        clock = max(0, clock + step)
        requested = script_argument(rate, int(charge))
        answer = redis_client.eval(
            SCRIPT_WITH_CLOCK, 4, "c", "m", clock // 1_000_000, clock % 1_000_000, requested
        )
        assert parse_status(answer) == oracle.decide_at(clock, rate, charge=charge)


def test_the_call_log_releases_memory_and_still_counts_correctly() -> None:
    twin, rate = Twin(), RateLimit((10**6, 10**6, 4000, None))
    for call in range(20_000):
        twin.pass_to(START + call * 60_000_000)
        result = twin.decide(rate, charge=True)
    assert len(twin.log.times) < 6000
    # One call a minute: a day holds 1440.
    assert result.used[:3] == (1, 1, 1440)
    assert len(twin.log.months) <= 4


moments = st.datetimes(datetime(1970, 1, 1), datetime(2400, 1, 1))  # noqa: DTZ001 - hypothesis wants naive bounds


@given(moments)
def test_calendar_months_are_contiguous(moment: datetime) -> None:
    at = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    month = Month.of(at)
    assert divmod(month.number, 100) == month_of(at)
    assert month.start_us <= at < month.end_us
    assert month.end_us == next_month(at)
    assert Month.of(month.end_us).start_us == month.end_us


def test_the_redis_script_computes_calendar_months(redis_client: redis.Redis) -> None:
    sha = redis_client.script_load(SCRIPT_WITH_CLOCK)
    days = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(0, 365 * 430, 13)]
    edges = [
        datetime(y, m, 1, tzinfo=UTC) - timedelta(microseconds=k)
        for y in (1999, 2000, 2024, 2100)
        for m in range(1, 13)
        for k in (0, 1)
    ]
    pipeline = redis_client.pipeline(transaction=False)
    for day in days + edges:
        at = (day - EPOCH) // timedelta(microseconds=1)
        pipeline.evalsha(sha, 4, "c", "m", at // 1_000_000, at % 1_000_000, script_argument(RateLimit(), 0))
    for day, answer in zip(days + edges, pipeline.execute(), strict=True):
        at = (day - EPOCH) // timedelta(microseconds=1)
        assert parse_status(answer).reset_us[MONTH] == next_month(at) - at, day
