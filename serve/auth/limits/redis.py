"""The limiter that any number of workers and machines share: one script, one round trip a call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import redis.asyncio as client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from schemas.errors import SettingsError, StorageUnavailable
from schemas.limits import LIMIT_WINDOWS
from serve.auth.limits.policy import MONTH, ROLLING_US, LimitStatus, RateLimit

SCRIPT: Final = Path(__file__).with_name("limiter.lua").read_text(encoding="utf-8")
ANSWER_WAIT_SECONDS: Final = 1.0
CONNECTIONS: Final = 32
_NO_ANSWER: Final = "The store of call counts did not answer."


class _Hit(NamedTuple):
    """A call to be counted, and who waits to hear of it."""

    key_id: str
    rate: RateLimit
    waiting: asyncio.Future[LimitStatus]


class RedisLimiter:
    """Counts in Redis, by the server's clock.

    Nothing is tried again by the client: an attempt whose answer was lost may have been counted, and a second
    one would charge twice. Redis may be unavailable when this is made; calls fail until it is available.

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
            # The URL may hold a password, so neither it nor the library's words about it are repeated.
            raise SettingsError("ALPHA_RESULTS_REDIS cannot be read as a Redis URL") from error
        self._redis = client.Redis(connection_pool=self._pool)
        self._script = self._redis.register_script(SCRIPT)
        self._namespace = namespace
        self._waiting: list[_Hit] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def hit(self, key_id: str, rate: RateLimit) -> LimitStatus:
        """Count one call of a key if every window has room.

        Calls that come in one turn of the event loop go to Redis together: each is decided by itself there, but sending
        and receiving takes longer than deciding.
        """
        waiting: asyncio.Future[LimitStatus] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Hit(key_id, rate, waiting))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._send)
        return await waiting

    def _send(self) -> None:
        together, self._waiting = self._waiting, []
        sending = asyncio.create_task(self._count(together))
        self._sending.add(sending)  # the loop itself holds tasks weakly
        sending.add_done_callback(self._sending.discard)

    async def _count(self, together: Sequence[_Hit]) -> None:
        """Count calls, and give each its answer or error."""
        answers: Sequence[Any]
        try:
            answers = await self._ask_all([(hit.key_id, hit.rate) for hit in together], cost=1)
        except Exception as error:  # noqa: BLE001 - whoever waits has to hear of it, whatever it is
            answers = [error] * len(together)
        for hit, answer in zip(together, answers, strict=True):
            if hit.waiting.done():  # the caller has gone
                continue
            try:
                hit.waiting.set_result(_read(answer))
            except Exception as error:  # noqa: BLE001 - as above
                hit.waiting.set_exception(error)

    async def status(self, asked: Sequence[tuple[str, RateLimit]]) -> list[LimitStatus]:
        """Say where keys stand, in one round trip for all of them."""
        if not asked:
            return []
        return [_read(answer) for answer in await self._ask_all(asked, cost=0)]

    async def _ask_all(self, asked: Sequence[tuple[str, RateLimit]], *, cost: int) -> list[Any]:
        """Run the script for each in one round trip; return its answers and errors."""
        try:
            answers = await self._ask(asked, cost)
            missed = [number for number, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if missed:
                # The server was restarted and has no script: nothing was counted for these, so running it now counts once.
                await self._redis.script_load(SCRIPT)
                late = await self._ask([asked[number] for number in missed], cost)
                for number, answer in zip(missed, late, strict=True):
                    answers[number] = answer
        except (RedisError, OSError, TimeoutError) as error:
            return [error] * len(asked)
        return answers

    async def _ask(self, asked: Sequence[tuple[str, RateLimit]], cost: int) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key_id, rate in asked:
                pipeline.evalsha(self._script.sha, 2, *self._keys(key_id), question(rate, cost))
            answers: list[Any] = await pipeline.execute(raise_on_error=False)
            return answers

    def _keys(self, key_id: str) -> tuple[str, str]:
        # The braces keep both on one node of a cluster.
        start = f"{self._namespace}:{{{key_id}}}"
        return f"{start}:calls", f"{start}:months"

    async def close(self) -> None:
        """Close every connection."""
        await self._redis.aclose()
        await self._pool.disconnect()


def _read(answer: Any) -> LimitStatus:
    """Return an answer as a status; raises StorageUnavailable when it is an error."""
    if isinstance(answer, RedisError | OSError | TimeoutError):
        raise StorageUnavailable(_NO_ANSWER) from answer
    if isinstance(answer, Exception):
        raise answer
    return parse_status(answer)


@lru_cache(4096)
def question(rate: RateLimit, cost: int) -> str:
    """Return the argument of the script, as its first lines define it."""
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
