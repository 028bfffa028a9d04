"""The limiter's rules as slowly and plainly as they can be said: every call is kept and counted anew."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from serve.access.limits import DAY_US, MINUTE_US, SECOND_US, RateLimit, Standing, Window

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LENGTHS = (SECOND_US, MINUTE_US, DAY_US)


def month_of(at: int) -> tuple[int, int]:
    moment = EPOCH + timedelta(microseconds=at)
    return moment.year, moment.month


def next_month(at: int) -> int:
    moment = (EPOCH + timedelta(microseconds=at)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (moment + timedelta(days=32)).replace(day=1)
    return (following - EPOCH) // timedelta(microseconds=1)


class Oracle:
    def __init__(self) -> None:
        self.calls: list[int] = []
        self.months: list[tuple[int, int]] = []

    def _counts(self, now: int) -> list[int]:
        rolling = [sum(1 for at in self.calls if now - at < length) for length in LENGTHS]
        return [*rolling, self.months.count(month_of(now))]

    def ask(self, clock: int, rate: RateLimit, *, charge: bool) -> Standing:
        now = max([clock, *self.calls])
        full = self._full(now, rate) if charge else []
        retry = 0
        if full:
            moments = {at + length for at in self.calls for length in LENGTHS} | {next_month(now)}
            retry = next(x for x in sorted(moments) if x > now and not self._full(x, rate)) - now
        elif charge:
            self.calls.append(now)
            self.months.append(month_of(now))
        counts = self._counts(now)
        resets = [
            min((at + length - now for at in self.calls if now - at < length), default=0)
            for length in LENGTHS
        ]
        return Standing(
            (counts[0], counts[1], counts[2], counts[3]),
            (resets[0], resets[1], resets[2], next_month(now) - now),
            full[0] if full else None,
            retry,
        )

    def _full(self, now: int, rate: RateLimit) -> list[Window]:
        pairs = zip(Window, self._counts(now), rate.limits, strict=True)
        return [window for window, count, limit in pairs if limit is not None and count >= limit]

    def forget(self) -> None:
        """Drop calls that can no longer count, so that a long run stays quick: time never passes the newest back."""
        kept = [i for i, at in enumerate(self.calls) if self.calls[-1] - at < 32 * DAY_US]
        self.calls = [self.calls[i] for i in kept]
        self.months = [self.months[i] for i in kept]


STEPS = (
    0,
    0,
    1,
    7,
    1000,
    250_000,
    999_999,
    SECOND_US,
    20 * SECOND_US,
    MINUTE_US - 1,
    MINUTE_US,
    600 * SECOND_US,
)
LONG = (3600 * SECOND_US, DAY_US - 1, DAY_US, 9 * DAY_US)
BACK = (-1, -SECOND_US, -MINUTE_US, -3600 * SECOND_US, -2 * DAY_US)
START = (datetime(2100, 1, 30, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def operations(seed: int, count: int) -> Iterator[tuple[int, int, RateLimit, bool]]:
    """Yield (key, clock, envelope, charge): envelopes change now and then, clocks step back, some only ask."""
    chance = random.Random(seed)
    clock = START
    rates = [RateLimit(2, 3, 5, 9)] * 3
    for _ in range(count):
        draw = chance.random()
        clock += chance.choice(LONG if draw < 0.02 else BACK if draw < 0.08 else STEPS)
        clock = max(clock, START)
        key = chance.randrange(len(rates))
        if chance.random() < 0.03:
            rates[key] = RateLimit(
                chance.randint(1, 4),
                chance.randint(1, 6),
                chance.randint(1, 12),
                chance.choice((None, chance.randint(1, 40))),
            )
        yield key, clock, rates[key], chance.random() < 0.85
