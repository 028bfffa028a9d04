from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.access.limiter.redis import SCRIPT, question, standing_of
from serve.access.limiter.rolling import CallLog, Month, decide
from serve.access.limits import DAY_US, RateLimit, Standing
from tests.access.oracle import EPOCH, START, Oracle, month_of, next_month, operations

OPERATIONS = 100_000
# The script as it is, but told the time.
TOLD_THE_TIME = SCRIPT.replace("redis.call('TIME')", "{KEYS[3], KEYS[4]}")


def twin(log: CallLog, clock: int, rate: RateLimit, *, charge: bool) -> Standing:
    now = max(clock, log.last)
    return decide(log, now, Month.of(now), rate, charge=charge)


@cache
def told_by_the_oracle() -> list[Standing]:
    oracles = [Oracle() for _ in range(3)]
    answers = []
    for number, (key, clock, rate, charge) in enumerate(operations(7, OPERATIONS)):
        answers.append(oracles[key].ask(clock, rate, charge=charge))
        if number % 10 == 0 and oracles[key].calls:
            oracles[key].forget()
    return answers


@pytest.fixture
def expected() -> list[Standing]:
    return told_by_the_oracle()


def test_the_random_operations_reach_every_outcome(expected: list[Standing]) -> None:
    charged = [x for x, (_, _, _, charge) in zip(expected, operations(7, OPERATIONS), strict=True) if charge]
    outcomes = Counter(x.refused for x in charged)
    assert len(outcomes) == 5
    assert min(outcomes.values()) > 200


def test_the_twin_agrees_with_the_oracle_on_random_operations(expected: list[Standing]) -> None:
    logs = [CallLog() for _ in range(3)]
    for number, (key, clock, rate, charge) in enumerate(operations(7, OPERATIONS)):
        assert twin(logs[key], clock, rate, charge=charge) == expected[number], number


def test_the_script_agrees_with_the_oracle_on_random_operations(
    expected: list[Standing], redis_client: redis.Redis
) -> None:
    sha = redis_client.script_load(TOLD_THE_TIME)
    answers: list[Standing] = []
    pipeline = redis_client.pipeline(transaction=False)
    for number, (key, clock, rate, charge) in enumerate(operations(7, OPERATIONS), start=1):
        names = (f"{{k{key}}}:calls", f"{{k{key}}}:months", clock // 1_000_000, clock % 1_000_000)
        pipeline.evalsha(sha, 4, *names, question(rate, int(charge)))
        if number % 1000 == 0:
            answers += [standing_of(answer) for answer in pipeline.execute()]
    for number, (found, wanted) in enumerate(zip(answers, expected, strict=True)):
        assert found == wanted, number


steps = (
    st.integers(-3 * DAY_US, 3 * DAY_US)
    | st.integers(0, 3_000_000)
    | st.sampled_from([0, 1_000_000, 60_000_000])
)
rates = st.builds(
    RateLimit, st.integers(1, 4), st.integers(1, 5), st.integers(1, 6), st.none() | st.integers(1, 8)
)


@settings(max_examples=300)
@given(st.lists(st.tuples(steps, rates, st.booleans()), max_size=40))
def test_the_twin_agrees_with_the_oracle_on_any_history(history: list[tuple[int, RateLimit, bool]]) -> None:
    oracle, log, clock = Oracle(), CallLog(), START
    for step, rate, charge in history:
        clock = max(0, clock + step)
        assert twin(log, clock, rate, charge=charge) == oracle.ask(clock, rate, charge=charge)


def test_a_log_gives_memory_back_and_still_counts_right() -> None:
    log, rate = CallLog(), RateLimit(10**6, 10**6, 4000, None)
    for call in range(20_000):
        twin(log, START + call * 60_000_000, rate, charge=True)
    assert len(log.times) < 6000
    # One call a minute: a day holds 1440.
    assert twin(log, START + 19_999 * 60_000_000, rate, charge=False).used == (1, 1, 1440, log.month_count)


moments = st.datetimes(datetime(1970, 1, 1), datetime(2400, 1, 1))  # noqa: DTZ001 - hypothesis wants naive bounds


@given(moments)
def test_a_month_ends_where_the_next_begins(moment: datetime) -> None:
    at = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    month = Month.of(at)
    assert divmod(month.number, 100) == month_of(at)
    assert month.holds(at)
    assert month.end_us == next_month(at)
    assert not month.holds(month.end_us)
    assert not month.holds(month.start_us - 1)
    assert Month.of(month.end_us).start_us == month.end_us


def test_the_script_knows_the_calendar(redis_client: redis.Redis) -> None:
    sha = redis_client.script_load(TOLD_THE_TIME)
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
        pipeline.evalsha(sha, 4, "c", "m", at // 1_000_000, at % 1_000_000, question(RateLimit(), 0))
    for day, answer in zip(days + edges, pipeline.execute(), strict=True):
        at = (day - EPOCH) // timedelta(microseconds=1)
        assert standing_of(answer).reset_us[3] == next_month(at) - at, day
