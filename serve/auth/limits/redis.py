"""The limiter shared by workers and machines: one script, one round trip."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import redis.asyncio as client
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from schemas.errors import SettingsError
from schemas.limits import LIMIT_WINDOWS
from schemas.settings import SETTINGS
from serve.auth.limits.counts import MONTH, ROLLING_US, LastUse, LimitStatus, RateLimit
from serve.auth.reasons import NETWORK, Reason, refusal, unavailable

SCRIPT: Final = Path(__file__).with_name("limiter.lua").read_text(encoding="utf-8")
ANSWER_WAIT_SECONDS: Final = 1.0
CONNECTIONS: Final = 32
_REASONS: Final[dict[type[Exception], Reason]] = {
    exceptions.AuthenticationError: refusal("it refuses this user and password"),
    exceptions.NoPermissionError: refusal(
        "the user lacks the rights to count calls: EVALSHA, SCRIPT LOAD and the keys of alpha-results"
    ),
    ssl.SSLError: refusal("TLS failed: the certificate is not trusted or not of this host"),
    exceptions.BusyLoadingError: Reason("it is loading its data; try again"),
    exceptions.ReadOnlyError: Reason("it is a replica, which cannot count calls: name the primary"),
    FileNotFoundError: Reason("there is no such socket"),
    exceptions.TimeoutError: NETWORK[TimeoutError],
    **NETWORK,
    exceptions.ResponseError: refusal(
        "it has no such database, or lacks the commands that count calls: Redis 6 or later is needed"
    ),
}


class RedisLimiter:
    """Counts in Redis, by the server's clock.

    The client does not retry: an attempt whose answer was lost may have been counted, and a second
    one would charge twice. Redis may be unavailable at construction; calls fail until it is available.

    Parameters
    ----------
    url
        ``redis://``, ``rediss://`` or ``unix://``; may hold a password.
    namespace
        Start of every key written, so that deployments can share a server.
    wait_s
        Seconds to wait for a connection or an answer before Redis counts as unavailable.
    """

    def __init__(self, url: str, namespace: str, wait_s: float = ANSWER_WAIT_SECONDS) -> None:
        try:
            self._pool = client.BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                timeout=wait_s,
                socket_timeout=wait_s,
                socket_connect_timeout=wait_s,
                retry=Retry(NoBackoff(), 0),
                retry_on_error=[],
            )
        except ValueError as error:
            # The URL may hold a password, so neither it nor the library's message is repeated.
            raise SettingsError(
                "ALPHA_RESULTS_REDIS cannot be read: write redis://HOST:PORT/DATABASE, rediss:// for TLS or unix://PATH"
            ) from error
        at = self._pool.connection_kwargs
        place = at["path"] if "path" in at else f"{at.get('host', 'localhost')}:{at.get('port', 6379)}"
        self._where = f"{SETTINGS['redis'].variable}: redis on {place}, database {at.get('db', 0)}"
        self._redis = client.Redis(connection_pool=self._pool)
        self._sha = self._redis.register_script(SCRIPT).sha
        self._namespace = namespace
        self._waiting: list[tuple[str, RateLimit, asyncio.Future[Any]]] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def hit(self, key_id: str, rate: RateLimit) -> LimitStatus:
        """Count one call of a key if every window has room.

        Calls made in one turn of the event loop are sent to Redis together, since a round trip takes longer than the
        decisions; each is still decided separately.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((key_id, rate, answer))
        if len(self._waiting) == 1:
            loop.call_soon(self._send)
        return self._status(await answer)

    def _send(self) -> None:
        batch, self._waiting = self._waiting, []
        sending = asyncio.create_task(self._count(batch))
        self._sending.add(sending)  # the loop itself holds tasks weakly
        sending.add_done_callback(self._sending.discard)

    async def _count(self, batch: Sequence[tuple[str, RateLimit, asyncio.Future[Any]]]) -> None:
        answers = await self._run([(key_id, rate) for key_id, rate, _ in batch], cost=1)
        for (_, _, waiting), answer in zip(batch, answers, strict=True):
            if not waiting.done():  # else the caller has left
                waiting.set_result(answer)

    async def status(self, keys: Sequence[tuple[str, RateLimit]]) -> list[LimitStatus]:
        """Return the status of keys, in one round trip for all of them."""
        return [self._status(answer) for answer in await self._run(keys, cost=0)] if keys else []

    async def last_uses(self, key_ids: Sequence[str], month: int) -> dict[str, LastUse]:
        """Return when keys last called and how often in a month (yyyymm)."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key_id in key_ids:
                pipeline.hmget(self._keys(key_id)[1], "last", "ahead", str(month))
            try:
                rows = await pipeline.execute()
            except (exceptions.RedisError, OSError, TimeoutError) as error:
                raise unavailable(self._where, error, _REASONS) from error
        return {
            key_id: LastUse(int(last) - int(ahead or 0), int(calls or 0))
            for key_id, (last, ahead, calls) in zip(key_ids, rows, strict=True)
            if last is not None
        }

    async def _run(self, keys: Sequence[tuple[str, RateLimit]], *, cost: int) -> list[Any]:
        """Run the script for each key in one round trip; return the answers, an error in place of a missing one."""
        try:
            answers = await self._run_once(keys, cost)
            missed = [n for n, answer in enumerate(answers) if isinstance(answer, exceptions.NoScriptError)]
            if missed:
                # A restarted server lacks the script, so these calls were not counted yet; running it now counts them once.
                await self._redis.script_load(SCRIPT)
                late = await self._run_once([keys[number] for number in missed], cost)
                for number, answer in zip(missed, late, strict=True):
                    answers[number] = answer
        except Exception as error:  # noqa: BLE001 - every call is refused with the error
            return [error] * len(keys)
        return answers

    async def _run_once(self, keys: Sequence[tuple[str, RateLimit]], cost: int) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key_id, rate in keys:
                pipeline.evalsha(self._sha, 2, *self._keys(key_id), script_argument(rate, cost))
            answers: list[Any] = await pipeline.execute(raise_on_error=False)
            return answers

    def _status(self, answer: Any) -> LimitStatus:
        if isinstance(answer, Exception):
            raise unavailable(self._where, answer, _REASONS) from answer
        return parse_status(answer)

    def _keys(self, key_id: str) -> tuple[str, str]:
        # The braces keep both on one node of a cluster.
        start = f"{self._namespace}:{{{key_id}}}"
        return f"{start}:calls", f"{start}:months"

    async def close(self) -> None:
        """Close every connection."""
        await self._redis.aclose()
        await self._pool.disconnect()


@lru_cache(4096)
def script_argument(rate: RateLimit, cost: int) -> str:
    """Return the argument of the script, as its header defines it."""
    limits = [-1 if limit is None else limit for limit in rate.limits]
    rolling = " ".join(f"{limit} {length}" for limit, length in zip(limits[:MONTH], ROLLING_US, strict=True))
    return f"{cost} {rolling} {limits[MONTH]}"


def parse_status(answer: bytes) -> LimitStatus:
    """Return the script's answer as a status."""
    refused, retry, *rest = map(int, answer.split())
    windows = len(LIMIT_WINDOWS)
    return LimitStatus(
        tuple(rest[:windows]),
        tuple(rest[windows:]),
        None if refused < 0 else LIMIT_WINDOWS[refused],
        retry,
    )
