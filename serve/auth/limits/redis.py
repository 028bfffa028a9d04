"""The limiter shared by workers and machines: one script, one round trip."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import redis.asyncio as client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as TimeoutErrorOfRedis

from schemas.errors import SettingsError, StorageUnavailable
from schemas.limits import LIMIT_WINDOWS
from schemas.settings import SETTINGS
from serve.auth.limits.policy import MONTH, ROLLING_US, LastUse, RateLimit
from serve.auth.limits.sliding_window import LimitStatus
from serve.auth.reasons import NETWORK, Reason, reason_of, refusal

SCRIPT: Final = Path(__file__).with_name("limiter.lua").read_text(encoding="utf-8")
ANSWER_WAIT_SECONDS: Final = 1.0
CONNECTIONS: Final = 32


_REASONS: Final[dict[type[Exception], Reason]] = {
    AuthenticationError: refusal("it refuses this user and password"),
    NoPermissionError: refusal(
        "the user may not run what counts calls: EVALSHA, SCRIPT LOAD and the keys of alpha-results"
    ),
    ssl.SSLError: refusal("TLS failed: the certificate is not trusted or not of this host"),
    BusyLoadingError: Reason("it is loading its data; try again"),
    ReadOnlyError: Reason("it is a replica, which counts nothing: name the primary"),
    FileNotFoundError: Reason("there is no such socket"),
    TimeoutErrorOfRedis: NETWORK[TimeoutError],
    **NETWORK,
    ResponseError: refusal(
        "it has no such database, or not the commands that count: Redis 6 or later is needed"
    ),
}


class _Hit(NamedTuple):
    """A call to be counted, and the future of its result."""

    key_id: str
    rate: RateLimit
    waiting: asyncio.Future[LimitStatus]


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
            raise SettingsError("ALPHA_RESULTS_REDIS cannot be read as a Redis URL") from error
        at = self._pool.connection_kwargs
        place = at["path"] if "path" in at else f"{at.get('host', 'localhost')}:{at.get('port', 6379)}"
        self._shown = f"redis on {place}, database {at.get('db', 0)}"
        self._redis = client.Redis(connection_pool=self._pool)
        self._script = self._redis.register_script(SCRIPT)
        self._namespace = namespace
        self._waiting: list[_Hit] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def hit(self, key_id: str, rate: RateLimit) -> LimitStatus:
        """Count one call of a key if every window has room.

        Calls of one turn of the event loop go to Redis together: each is decided separately there, but sending
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
        """Count calls, and set the result or error of each."""
        answers: Sequence[Any]
        try:
            answers = await self._run_all([(hit.key_id, hit.rate) for hit in together], cost=1)
        except Exception as error:  # noqa: BLE001 - every error is passed on to the waiting call
            answers = [error] * len(together)
        for hit, answer in zip(together, answers, strict=True):
            if hit.waiting.done():  # the caller has left
                continue
            try:
                hit.waiting.set_result(self._read(answer))
            except Exception as error:  # noqa: BLE001 - as above
                hit.waiting.set_exception(error)

    async def status(self, keys: Sequence[tuple[str, RateLimit]]) -> list[LimitStatus]:
        """Return the status of keys, in one round trip for all of them."""
        if not keys:
            return []
        return [self._read(answer) for answer in await self._run_all(keys, cost=0)]

    async def require(self) -> None:
        """Ask for the counts of a key that does not exist.

        Raises
        ------
        SettingsError
            When Redis was reached and refuses what the setting says.
        StorageUnavailable
            When it was not reached.
        """
        (answer,) = await self._run_all([("-", RateLimit())], cost=0)
        if isinstance(answer, Exception) and _reason(answer).is_refusal:
            raise SettingsError(self._message(answer)) from answer
        self._read(answer)

    def _read(self, answer: Any) -> LimitStatus:
        """Return an answer as a status; raises StorageUnavailable when it is an error."""
        if isinstance(answer, RedisError | OSError | TimeoutError):
            raise StorageUnavailable(self._message(answer)) from answer
        if isinstance(answer, Exception):
            raise answer
        return parse_status(answer)

    def _message(self, error: Exception) -> str:
        return f"{SETTINGS['redis'].variable}: {self._shown}: {_reason(error).text}"

    async def last_uses(self, key_ids: Sequence[str], month: int) -> dict[str, LastUse]:
        """Return when keys last called and how often in a month (yyyymm); raises as :meth:`require`."""
        await self.require()
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key_id in key_ids:
                pipeline.hmget(self._keys(key_id)[1], "last", "ahead", str(month))
            try:
                rows = await pipeline.execute()
            except (RedisError, OSError, TimeoutError) as error:
                raise StorageUnavailable(self._message(error)) from error
        return {
            key_id: LastUse(int(last) - int(ahead or 0), int(calls or 0))
            for key_id, (last, ahead, calls) in zip(key_ids, rows, strict=True)
            if last is not None
        }

    async def _run_all(self, keys: Sequence[tuple[str, RateLimit]], *, cost: int) -> list[Any]:
        """Run the script for each in one round trip; return its answers and errors."""
        try:
            answers = await self._run(keys, cost)
            missed = [number for number, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if missed:
                # A restarted server does not have the script: these calls were not counted, so running it now counts once.
                await self._redis.script_load(SCRIPT)
                late = await self._run([keys[number] for number in missed], cost)
                for number, answer in zip(missed, late, strict=True):
                    answers[number] = answer
        except (RedisError, OSError, TimeoutError) as error:
            return [error] * len(keys)
        return answers

    async def _run(self, keys: Sequence[tuple[str, RateLimit]], cost: int) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key_id, rate in keys:
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


def _reason(error: Exception) -> Reason:
    return reason_of(error, _REASONS) or Reason(f"no connection ({type(error).__name__})")


@lru_cache(4096)
def question(rate: RateLimit, cost: int) -> str:
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
