"""Counting calls exactly: rolling windows and the calendar month in UTC, as `schemas.limits` declares them.

Two implementations of the same rules: :mod:`serve.auth.limits.sliding_window` for one process, and ``limiter.lua`` for
any number of workers and machines that share a Redis. Both decide and count in one atomic step, charge
nothing for a refused call, and never take time backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from serve.auth.limits.policy import RateLimit
from serve.auth.limits.sliding_window import LimitStatus


class Limiter(Protocol):
    """Counts the calls of keys; every method raises StorageUnavailable if the counts cannot be reached."""

    async def hit(self, key_id: str, rate: RateLimit) -> LimitStatus:
        """Count one call of a key if every window has room, and return the key's status."""
        ...

    async def status(self, keys: Sequence[tuple[str, RateLimit]]) -> list[LimitStatus]:
        """Return the status of keys in their order, without counting a call."""
        ...

    async def require(self) -> None:
        """Raise SettingsError or StorageUnavailable, with the reason, if calls cannot be counted now."""
        ...

    async def close(self) -> None:
        """Save pending counts and close connections."""
        ...
