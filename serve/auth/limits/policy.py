"""The rate envelope of a key, its use, and the headers that report both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from schemas.limits import LIMIT_WINDOWS, LimitWindow

SECOND_US: Final = 1_000_000
ROLLING_US: Final = tuple(
    window.seconds * SECOND_US for window in LIMIT_WINDOWS if window.seconds is not None
)
"""Lengths of the rolling windows in microseconds, from the shortest to the longest."""
MAX_WINDOW_US: Final = ROLLING_US[-1]
"""How long a call can count."""
MONTH: Final = len(ROLLING_US)
"""Place of the calendar month in every tuple that has a number for each window: it is the last."""

Limits = tuple[int | None, ...]
"""A number for each of `LIMIT_WINDOWS`, in their order; None for no limit."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Calls a key may make in each window."""

    limits: Limits = tuple(window.default for window in LIMIT_WINDOWS)

    def columns(self) -> dict[str, int | None]:
        """Return the limits by the columns of the store, which are also what operators write."""
        return {window.column: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}

    def to_json(self) -> dict[str, int | None]:
        """Return the `rate_limit` object of the interface."""
        return {window.json_name: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}


rate_limit = lru_cache(maxsize=4096)(RateLimit)
"""The same envelope made once."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls counted in each window now, beside the envelope they count against."""

    used: tuple[int, ...]
    rate: RateLimit

    @property
    def remaining(self) -> Limits:
        """Envelope minus use, never below 0; None without a limit."""
        pairs = zip(self.rate.limits, self.used, strict=True)
        return tuple(None if limit is None else max(0, limit - used) for limit, used in pairs)

    def to_json(self) -> dict[str, int | None]:
        """Return the `usage` object of the interface."""
        names = [window.name for window in LIMIT_WINDOWS]
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

    used: tuple[int, ...]
    reset_us: tuple[int, ...]
    refused: LimitWindow | None = None
    retry_us: int = 0

    def usage(self, rate: RateLimit) -> Usage:
        """Return the counts as the interface's `usage`, against `rate`."""
        return Usage(self.used, rate)


def whole_seconds(microseconds: int) -> int:
    """Return the duration in seconds, rounded up, so that whoever waits that long has waited enough."""
    return -(-microseconds // SECOND_US)


def rate_headers(rate: RateLimit, status: LimitStatus) -> dict[str, str]:
    """Return the ``X-RateLimit-*`` headers, and ``Retry-After`` when the call was refused.

    A window without a limit has none to state, so its three headers are left out.
    """
    headers: dict[str, str] = {}
    for names, limit, used, reset in zip(_HEADERS, rate.limits, status.used, status.reset_us, strict=True):
        if limit is not None:
            headers[names[0]] = str(limit)
            headers[names[1]] = str(limit - used if used < limit else 0)
            headers[names[2]] = str(-(-reset // SECOND_US))  # `whole_seconds`, spelled out for every call
    if status.refused is not None:
        headers["Retry-After"] = str(max(1, whole_seconds(status.retry_us)))
    return headers


_HEADERS: Final = tuple(window.headers for window in LIMIT_WINDOWS)
