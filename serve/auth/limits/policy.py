"""The rate envelope of a key, its usage and its last use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from schemas.limits import LIMIT_WINDOWS

SECOND_US: Final = 1_000_000
ROLLING_US: Final = tuple(
    window.seconds * SECOND_US for window in LIMIT_WINDOWS if window.seconds is not None
)
"""Lengths of the rolling windows in microseconds, ascending."""
MAX_WINDOW_US: Final = ROLLING_US[-1]
"""Length of the longest rolling window in microseconds."""
MONTH: Final = len(ROLLING_US)
"""Index of the calendar month in tuples with one number per window."""

Limits = tuple[int | None, ...]
"""One number for each of `LIMIT_WINDOWS`, in their order; None is no limit."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Calls a key may make in each window."""

    limits: Limits = tuple(window.default for window in LIMIT_WINDOWS)

    def by_option(self) -> dict[str, int | None]:
        """Return the limits by the names that operators write."""
        return {window.option: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}

    def dumps(self) -> str:
        """Return `by_option` as the compact text in the store."""
        return json.dumps(self.by_option(), separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> RateLimit:
        """Read the text of `dumps`, also from before a window was declared; raises ValueError or KeyError for a damaged store."""
        given = json.loads(text)
        return cls(tuple(given.get(x.option) if x.optional else given[x.option] for x in LIMIT_WINDOWS))

    def to_json(self) -> dict[str, int | None]:
        """Return the `rate_limit` object of the interface."""
        return {window.json_name: limit for window, limit in zip(LIMIT_WINDOWS, self.limits, strict=True)}


rate_limit = lru_cache(maxsize=4096)(RateLimit.loads)
"""A stored envelope, parsed once."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls counted in each window now, and their limits."""

    used: tuple[int, ...]
    rate: RateLimit

    @property
    def remaining(self) -> Limits:
        """Limit minus usage, at least 0; None without a limit."""
        pairs = zip(self.rate.limits, self.used, strict=True)
        return tuple(None if limit is None else max(0, limit - used) for limit, used in pairs)

    def to_json(self) -> dict[str, int | None]:
        """Return the `usage` object of the interface."""
        names = [window.name for window in LIMIT_WINDOWS]
        return {
            **dict(zip(names, self.used, strict=True)),
            **{f"remaining_{name}": left for name, left in zip(names, self.remaining, strict=True)},
        }


class LastUse(NamedTuple):
    """Last use of a key.

    Attributes
    ----------
    used_us
        Microseconds since 1970 at its last call that was counted, to half a second; None when none is known.
    calls
        Calls counted this month.
    """

    used_us: int | None = None
    calls: int = 0
