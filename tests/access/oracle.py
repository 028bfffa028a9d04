"""A slow oracle of the limiter: every call is stored, and all are counted on each call.

Windows roll by a time that never goes back; the month is that of the wall clock. `Oracle` takes both. `OfOneClock` has
only a clock that may be set, as a Redis server does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from schemas.limits import LIMIT_WINDOWS, LimitWindow
from serve.auth.clocks import SECOND_US
from serve.auth.limits.counts import MAX_WINDOW_US, MONTH, ROLLING_US, LimitStatus, RateLimit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US
QUOTA = LIMIT_WINDOWS[MONTH]
WINDOW = {window.name: window for window in LIMIT_WINDOWS}


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
        self.months: Counter[tuple[int, int]] = Counter()

    def _counts(self, now: int, wall: int) -> list[int]:
        rolling = [sum(1 for at in self.calls if now - at < length) for length in ROLLING_US]
        return [*rolling, self.months[month_of(wall)]]

    def decide(
        self, now: int, wall: int, rate: RateLimit, *, charge: bool, seen: int | None = None
    ) -> LimitStatus:
        """Answer at `now`; `seen` is the time of a clock that lags, whose delay is waited for."""
        seen = now if seen is None else seen
        full = self._full(now, wall, rate) if charge else []
        waits = {window: self._opening(window, now, wall, rate) - seen for window in full if window != QUOTA}
        if QUOTA in full:
            # Counts that a fast clock left in the next month are not modelled.
            waits[QUOTA] = next_month(wall) - wall
        if charge and not full:
            self.calls.append(now)
            self.months[month_of(wall)] += 1
        counts = self._counts(now, wall)
        resets = [
            min((at + length - seen for at in self.calls if now - at < length), default=0)
            for length in ROLLING_US
        ]
        return LimitStatus(
            tuple(counts),
            (*resets, next_month(wall) - wall),
            max(full, key=lambda window: waits[window], default=None),
            max(waits.values(), default=0),
        )

    def _opening(self, window: LimitWindow, now: int, wall: int, rate: RateLimit) -> int:
        moments = sorted({at + length for at in self.calls for length in ROLLING_US})
        return next(x for x in moments if x > now and window not in self._full(x, wall, rate))

    def _full(self, now: int, wall: int, rate: RateLimit) -> list[LimitWindow]:
        pairs = zip(LIMIT_WINDOWS, self._counts(now, wall), rate.limits, strict=True)
        return [window for window, count, limit in pairs if limit is not None and count >= limit]

    def forget(self) -> None:
        """Drop expired calls, so that a long run stays fast."""
        self.calls = [at for at in self.calls if self.calls[-1] - at < MAX_WINDOW_US]


class OfOneClock(Oracle):
    """Steps back of up to a second are waited for; larger ones are ignored and time continues from there."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0

    def decide_at(self, clock: int, rate: RateLimit, *, charge: bool) -> LimitStatus:
        seen = clock + self.ahead
        now = max([seen, *self.calls])
        if now - seen > SECOND_US:
            self.ahead = now - clock
            seen = now
        return self.decide(now, clock, rate, charge=charge, seen=seen)


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
BACK = (-1, -300_000, -SECOND_US, -SECOND_US - 1, -MINUTE_US, -3600 * SECOND_US, -2 * DAY_US)
START = (datetime(2100, 1, 30, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def operations(seed: int, count: int) -> Iterator[tuple[int, int, RateLimit, bool]]:
    """Yield (key, clock, limits, charge): limits change, clocks step back, some calls only read usage."""
    chance = random.Random(seed)
    clock = START
    rates = [RateLimit((*range(2, 2 + MONTH), 9))] * 3
    for _ in range(count):
        draw = chance.random()
        clock += chance.choice(LONG if draw < 0.02 else BACK if draw < 0.08 else STEPS)
        clock = max(clock, START)
        key = chance.randrange(len(rates))
        if chance.random() < 0.03:
            rolling = [
                chance.randint(1, 4 + 3 * place) if chance.random() < 0.9 else None for place in range(MONTH)
            ]
            rates[key] = RateLimit((*rolling, chance.choice((None, chance.randint(1, 40)))))
        yield key, clock, rates[key], chance.random() < 0.85
