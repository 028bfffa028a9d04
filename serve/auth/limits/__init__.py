"""Counting calls exactly: rolling windows and the calendar month in UTC, as `schemas.limits` declares them.

Two implementations of the same rules: :func:`serve.auth.limits.in_memory.decide` for one process, and ``limiter.lua`` for
any number of workers and machines that share a Redis. Both decide and count in one atomic step, charge
nothing for a refused call, and never let time go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from schemas.errors import SettingsError
from schemas.extras import extra
from serve.auth.limits.counts import LastUse, Month
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.limits.journal import read_last_uses
from serve.auth.settings import AccessSettings

if TYPE_CHECKING:
    from serve.auth.limits.redis import RedisLimiter

Limiter: TypeAlias = "InMemoryLimiter | RedisLimiter"


async def open_limiter(settings: AccessSettings) -> Limiter:
    """Return the limiter of a serving process; raises SettingsError when another process uses the file of its counts.

    Redis may be unavailable; calls then get 503 until it is back.
    """
    if settings.redis is not None:
        return _in_redis(settings, settings.redis)
    assert settings.limits_state is not None
    return await InMemoryLimiter.open(settings.limits_state)


async def last_uses(settings: AccessSettings, key_ids: Sequence[str], now_us: int) -> dict[str, LastUse]:
    """Return the last use of keys, without creating a file or counting a call. Keys without a call are omitted.

    Raises
    ------
    SettingsError, StorageUnavailable
        If Redis is unavailable, the file of counts cannot be read, or the settings do not say where calls are counted.
    """
    month = Month.of(now_us).number
    if settings.redis is not None:
        limiter = _in_redis(settings, settings.redis)
        try:
            return await limiter.last_uses(key_ids, month)
        finally:
            await limiter.close()
    if settings.limits_state is None:
        raise SettingsError(
            "the settings do not say where calls are counted: set ALPHA_RESULTS_REDIS or ALPHA_RESULTS_LIMITS_STATE as the server has it"
        )
    uses = read_last_uses(settings.limits_state, month)
    return {key_id: uses[key_id] for key_id in key_ids if key_id in uses}


def _in_redis(settings: AccessSettings, url: str) -> RedisLimiter:
    with extra("redis", "counting calls in Redis"):
        from serve.auth.limits.redis import RedisLimiter  # noqa: PLC0415 - slow to load, and often unused

    return RedisLimiter(url, f"alpha-results:{settings.environment}")
