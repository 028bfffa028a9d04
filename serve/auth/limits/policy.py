"""The rate envelope of a key, its use, and the headers that report both."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
DAY_US: Final = 86_400 * SECOND_US
ROLLING_US: Final = (SECOND_US, MINUTE_US, DAY_US)
"""Lengths of the three rolling windows in microseconds."""


class Window(IntEnum):
    """The four windows in the order they are checked; the month is the calendar month in UTC."""

    SECOND = 0
    MINUTE = 1
    DAY = 2
    MONTH = 3

    @property
    def refusal(self) -> str:
        """The error code of a call refused by this window."""
        return ("rate_limit_second", "rate_limit_minute", "rate_limit_day", "quota_exceeded")[self]


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Calls a key may make in each window; a `monthly` of None is no quota."""

    per_second: int = 5
    per_minute: int = 60
    per_day: int = 5_000
    monthly: int | None = 100_000

    limits: tuple[int, int, int, int | None] = field(init=False, repr=False, compare=False)
    """The four numbers in the order of :class:`Window`."""

    def __post_init__(self) -> None:
        """Put the numbers in order once; every call reads them several times."""
        object.__setattr__(self, "limits", (self.per_second, self.per_minute, self.per_day, self.monthly))

    def to_json(self) -> dict[str, int | None]:
        """Return the `rate_limit` object of the interface."""
        return {
            "per_second": self.per_second,
            "per_minute": self.per_minute,
            "per_day": self.per_day,
            "monthly_requests": self.monthly,
        }


rate_limit = lru_cache(maxsize=4096)(RateLimit)
"""The same envelope made once."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls counted in each window now, beside the envelope they count against."""

    second: int
    minute: int
    day: int
    month: int
    rate: RateLimit

    @property
    def used(self) -> tuple[int, int, int, int]:
        """The four counts in the order of :class:`Window`."""
        return (self.second, self.minute, self.day, self.month)

    @property
    def remaining(self) -> tuple[int | None, ...]:
        """Envelope minus use, never below 0; None for a month without quota."""
        pairs = zip(self.rate.limits, self.used, strict=True)
        return tuple(None if limit is None else max(0, limit - used) for limit, used in pairs)

    def to_json(self) -> dict[str, int | None]:
        """Return the `usage` object of the interface."""
        names = [window.name.lower() for window in Window]
        return {
            **dict(zip(names, self.used, strict=True)),
            **{f"remaining_{name}": left for name, left in zip(names, self.remaining, strict=True)},
        }


class LimitStatus(NamedTuple):
    """What the limiter says of one key at one instant.

    Attributes
    ----------
    used
        Calls counted in each window, the one just admitted included.
    reset_us
        Microseconds until the count of each rolling window first falls, 0 when it is 0 already; for the
        month, until the next one begins.
    refused
        The first window, in their order, that has no room; None when the call was admitted.
    retry_us
        Microseconds until every window would have room, if no other call is made; 0 when admitted.
    """

    used: tuple[int, int, int, int]
    reset_us: tuple[int, int, int, int]
    refused: Window | None = None
    retry_us: int = 0

    def usage(self, rate: RateLimit) -> Usage:
        """Return the counts as the interface's `usage`, against `rate`."""
        return Usage(*self.used, rate)


def whole_seconds(microseconds: int) -> int:
    """Return the duration in seconds, rounded up, so that whoever waits that long has waited enough."""
    return -(-microseconds // SECOND_US)


def rate_headers(rate: RateLimit, standing: LimitStatus) -> dict[str, str]:
    """Return the ``X-RateLimit-*`` headers, and ``Retry-After`` when the call was refused.

    A month without quota has no limit to state, so its three headers are left out.
    """
    headers: dict[str, str] = {}
    for names, limit, used, reset in zip(
        _HEADERS, rate.limits, standing.used, standing.reset_us, strict=True
    ):
        if limit is not None:
            headers[names[0]] = str(limit)
            headers[names[1]] = str(limit - used if used < limit else 0)
            headers[names[2]] = str(whole_seconds(reset))
    if standing.refused is not None:
        headers["Retry-After"] = str(max(1, whole_seconds(standing.retry_us)))
    return headers


_HEADERS: Final = tuple(
    tuple(f"X-RateLimit-{part}-{window.name.title()}" for part in ("Limit", "Remaining", "Reset"))
    for window in Window
)
