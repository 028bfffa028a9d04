"""The model of keys: grants, expiry and call counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.state_machines.runs import ABSENT, ALPHAS

EVERY: Final = (*ALPHAS, ABSENT)
GRANTS: Final[Mapping[str, frozenset[str]]] = {
    "all": frozenset(EVERY),
    "prefix:Test_": frozenset(name for name in EVERY if name.startswith("Test_")),
    "prefix:Test_o,Prod_": frozenset({"Test_one", "Prod_three"}),
    "list:Test_one": frozenset({"Test_one"}),
    "list:Test_two,Prod_three": frozenset({"Test_two", "Prod_three"}),
    "list:": frozenset(),
}
"""Grant of alphas or runs, as typed -> the alphas it allows."""
ME, LIST, GET, SCORES, WEEKS, SNAPSHOTS = (
    "meta.me",
    "research.screen",
    "catalog.alphas.get",
    "signals.scores",
    "signals.rebalances.list",
    "research.snapshots.list",
)
CALLED: Final = (ME, LIST, GET, SCORES, WEEKS, SNAPSHOTS)
ENDPOINTS: Final[Mapping[str, frozenset[str]]] = {
    "all": frozenset(CALLED),
    f"{ME},{LIST},{GET}": frozenset({ME, LIST, GET}),
    f"{ME},{SCORES},{WEEKS},{SNAPSHOTS}": frozenset({ME, SCORES, WEEKS, SNAPSHOTS}),
}

Rate = tuple[int, int, int, int | None]
"""Limits of calls per second, minute, day and month."""
WIDE: Final[Rate] = (1_000_000, 1_000_000, 1_000_000, None)
RATES: Final[tuple[Rate, ...]] = (WIDE, (2, 6, 15, 30), (1_000_000, 4, 1_000_000, 9))
_ROLLING: Final = (timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1))
_CODES: Final = ("rate_limit_second", "rate_limit_minute", "rate_limit_day", "quota_exceeded")
ACTIVE, SUSPENDED, REVOKED = "active", "suspended", "revoked"


def spelled(rate: Rate) -> str:
    """Return limits as a command-line text."""
    second, minute, day, month = rate
    monthly = "null" if month is None else month
    return f"per_second={second},per_minute={minute},per_day={day},monthly={monthly}"


@dataclass
class Account:
    """An account; its lists are ceilings, as typed."""

    email: str
    active: bool = True
    endpoints: str = "all"
    alphas: str = "all"
    runs: str = "all"


@dataclass
class Key:
    """A key; its lists are grants, as typed."""

    id: str
    token: str
    account: Account
    endpoints: str
    alphas: str
    runs: str
    rate: Rate
    expires: datetime | None
    status: str = ACTIVE
    calls: list[datetime] = field(default_factory=list)

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    @property
    def may_call(self) -> frozenset[str]:
        return ENDPOINTS[self.endpoints] & ENDPOINTS[self.account.endpoints]

    @property
    def may_list(self) -> frozenset[str]:
        return GRANTS[self.alphas] & GRANTS[self.account.alphas]

    @property
    def may_read(self) -> frozenset[str]:
        return GRANTS[self.runs] & GRANTS[self.account.runs]

    def used(self, now: datetime) -> tuple[int, ...]:
        """Return the calls counted in each window."""
        rolling = (sum(now - at < length for at in self.calls) for length in _ROLLING)
        return (*rolling, sum(_month(at) == _month(now) for at in self.calls))

    def remaining(self, now: datetime) -> tuple[int | None, ...]:
        """Return the remaining calls of each window; None without a limit."""
        pairs = zip(self.rate, self.used(now), strict=True)
        return tuple(None if limit is None else max(0, limit - used) for limit, used in pairs)

    def unusable(self, now: datetime) -> tuple[int, str] | None:
        """Return why the key is refused before anything is counted."""
        if self.status != ACTIVE:
            return 401, f"key_{self.status}"
        if self.expired(now):
            return 401, "key_expired"
        return None if self.account.active else (403, "account_inactive")

    def count(self, now: datetime) -> tuple[int, str] | None:
        """Count a call; return the exhausted window that refuses longest, in which case it is not counted."""
        waits = {
            code: wait
            for code, left, wait in zip(_CODES, self.remaining(now), self._waits(now), strict=True)
            if left == 0
        }
        if waits:
            return 429, max(waits, key=lambda code: waits[code])
        self.calls.append(now)
        return None

    def _waits(self, now: datetime) -> tuple[timedelta, ...]:
        """Return how long each window refuses once it is exhausted."""
        rolling = (
            self.calls[-limit] + length - now if limit <= len(self.calls) else timedelta(0)
            for limit, length in zip(self.rate[:3], _ROLLING, strict=True)
        )
        return (*rolling, _next_month(now) - now)


def _next_month(at: datetime) -> datetime:
    first = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def _month(at: datetime) -> tuple[int, int]:
    at = at.astimezone(UTC)
    return at.year, at.month
