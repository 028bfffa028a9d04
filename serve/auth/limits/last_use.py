"""Last use and monthly calls of keys, for operators, from Redis or the limiter's file."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.errors import SettingsError
from schemas.extras import extra
from serve.auth.limits.journal import read_last_uses
from serve.auth.limits.policy import LastUse
from serve.auth.limits.sliding_window import Month
from serve.auth.settings import AccessSettings


async def last_uses(settings: AccessSettings, key_ids: Sequence[str], now_us: int) -> dict[str, LastUse]:
    """Return the last use of keys, without creating a file or counting a call. Keys without a call are omitted.

    Raises
    ------
    SettingsError, StorageUnavailable
        If Redis is unavailable, or the settings do not say where calls are counted.
    """
    month = Month.of(now_us).number
    if settings.redis is not None:
        with extra("redis", "counting calls in Redis"):
            from serve.auth.limits.redis import RedisLimiter  # noqa: PLC0415 - slow to load, and often unused

        limiter = RedisLimiter(settings.redis, f"alpha-results:{settings.environment}")
        try:
            return await limiter.last_uses(key_ids, month)
        finally:
            await limiter.close()
    if settings.state is None:
        raise SettingsError(
            "it is not said where calls are counted: set ALPHA_RESULTS_REDIS or ALPHA_RESULTS_LIMITS_STATE as the server has it"
        )
    return {key: use for key, use in read_last_uses(settings.state, month).items() if key in set(key_ids)}
