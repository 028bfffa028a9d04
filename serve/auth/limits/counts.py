"""Limits of a key, and the counts of its calls."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from schemas.limits import LIMIT_WINDOWS, LimitWindow
from serve.auth.clocks import SECOND_US

ROLLING_US: Final = tuple(
    window.seconds * SECOND_US for window in LIMIT_WINDOWS if window.seconds is not None
)
"""Lengths of the rolling windows in microseconds, ascending."""
MAX_WINDOW_US: Final = ROLLING_US[-1]
"""Length of the longest rolling window in microseconds."""
MONTH: Final = len(ROLLING_US)
"""Index of the calendar month in tuples with one number per window."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Calls a key may make in each of `LIMIT_WINDOWS`, in their order; None is no limit."""

    limits: tuple[int | None, ...] = tuple(window.default for window in LIMIT_WINDOWS)

    def by_option(self) -> dict[str, int | None]:
        """Return the limits by the names that operators write."""
        return {window.option: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}

    def dumps(self) -> str:
        """Return `by_option` as compact JSON text, as it is stored."""
        return json.dumps(self.by_option(), separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> RateLimit:
        """Read the text of `dumps`, which may lack an optional window; raises ValueError or KeyError for a damaged store."""
        stored = json.loads(text)
        return cls(tuple(stored.get(x.option) if x.optional else stored[x.option] for x in LIMIT_WINDOWS))

    def to_json(self) -> dict[str, int | None]:
        """Return the `rate_limit` object of the API."""
        return {window.json_name: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}


rate_limit = lru_cache(maxsize=4096)(RateLimit.loads)
"""Stored limits, parsed once."""


class Usage(NamedTuple):
    """Calls counted in each window now, and their limits."""

    used: tuple[int, ...]
    rate: RateLimit

    def to_json(self) -> dict[str, int | None]:
        """Return the `usage` object of the API; the remaining calls are at least 0, and null without a limit."""
        windows = list(zip(LIMIT_WINDOWS, self.used, self.rate.limits, strict=True))
        remaining = {
            f"remaining_{window.name}": None if limit is None else max(0, limit - used)
            for window, used, limit in windows
        }
        return {**{window.name: used for window, used, _ in windows}, **remaining}


class LastUse(NamedTuple):
    """Time of a key's last counted call, in microseconds since 1970, accurate to half a second; and its calls this month."""

    used_us: int
    calls: int


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month in UTC.

    Attributes
    ----------
    number
        ``year * 100 + month``.
    start_us, end_us
        First microsecond of the month and of the next one, since 1970.
    """

    number: int
    start_us: int
    end_us: int

    @classmethod
    def of(cls, now_us: int) -> Month:
        """Return the month of an instant."""
        day = datetime.fromtimestamp(now_us // SECOND_US, tz=UTC)
        start = datetime(day.year, day.month, 1, tzinfo=UTC)
        end = datetime(day.year + day.month // 12, day.month % 12 + 1, 1, tzinfo=UTC)
        return cls(
            day.year * 100 + day.month, int(start.timestamp()) * SECOND_US, int(end.timestamp()) * SECOND_US
        )


@dataclass(slots=True)
class CallLog:
    """The admitted calls of one key.

    Attributes
    ----------
    times
        Instants of admission in microseconds, ascending; those older than the longest window may be gone.
    months
        Calls by month number. Each month is counted separately, so that a wall clock that is briefly wrong loses no
        other month's count.
    last
        Instant of the newest admission.
    """

    times: array[int] = field(default_factory=lambda: array("q"))
    months: dict[int, int] = field(default_factory=dict)
    last: int = 0


class LimitStatus(NamedTuple):
    """The limiter's decision and counts for a key at one instant.

    Attributes
    ----------
    used
        Calls counted in each window, the one just admitted included.
    reset_us
        Microseconds until the count of each rolling window first falls, 0 when it is 0 already; for the
        month, until the next one begins.
    refused
        The window that refuses longest, or the shorter of two that refuse equally long; None if the call was admitted.
    retry_us
        Microseconds until that window, and so every other, has room if no other call is made; 0 if admitted.
    """

    used: tuple[int, ...]
    reset_us: tuple[int, ...]
    refused: LimitWindow | None = None
    retry_us: int = 0
