"""The compute threads, with a bounded queue and a semaphore for each key."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from schemas.errors import ApiError

T = TypeVar("T")
FULL: Final = "full"
"""Refusal reason: the queue was full, or this key had half of it."""
WAITED: Final = "waited"
"""Refusal reason: the call waited for the maximum time."""
LEFT: Final = "left"
"""Refusal reason: the connection was closed before the call's turn."""
REASONS: Final = (FULL, WAITED, LEFT)
_RETRY_SECONDS: Final = 2


class CallerLeft(Exception):
    """The caller has left, so its answer is not computed."""


class Waiter(Protocol):
    """The request whose answer is computed."""

    key_id: str | None
    client: str | None
    left: bool


CURRENT_REQUEST: Final[ContextVar[Waiter | None]] = ContextVar("alpha_results_answered", default=None)
"""The request of the current task."""


@dataclass(slots=True)
class _Key:
    """A key with waiting or running calls.

    Attributes
    ----------
    turns
        Limits the answers of the key that are computed at a time.
    calls, waiting
        Number of its calls, and of those that wait.
    """

    turns: asyncio.Semaphore
    calls: int = 0
    waiting: int = 0


class ComputeQueue:
    """Runs work on threads, so that the event loop stays responsive; work beyond the queue is refused.

    A key may use all threads but one and half of the queue, so there is always a thread and a place for another key.
    Used by one event loop.

    Parameters
    ----------
    threads
        Maximum number of answers of one key computed at a time; there is one thread more.
    max_waiting
        Maximum number of waiting calls.
    max_seconds
        Seconds that a call waits before it is refused.
    """

    def __init__(self, threads: int, max_waiting: int, max_seconds: float) -> None:
        self._threads = threads
        self._max_waiting = max_waiting
        self._max_seconds = max_seconds
        self._executor = ThreadPoolExecutor(threads + 1, thread_name_prefix="compute")
        self._turns = asyncio.Semaphore(threads + 1)
        self._keys: dict[str, _Key] = {}
        self.waiting = 0
        """Calls that wait for a thread."""
        self.running = 0
        """Answers being computed."""
        self.refused: Counter[str] = Counter()
        """Calls that were not computed, by reason."""

    def close(self) -> None:
        """Wait for running work, and end the threads."""
        self._executor.shutdown()

    async def run(self, work: Callable[[], T]) -> T:
        """Run work on a thread, in the turn of the current request's key.

        Raises
        ------
        ApiError
            ``overloaded``, with ``Retry-After``, when the queue is full or the call has waited too long.
        CallerLeft
            When the caller left while the call waited.
        """
        caller = CURRENT_REQUEST.get()
        name = "" if caller is None else caller.key_id or caller.client or ""
        key = self._keys.setdefault(name, _Key(asyncio.Semaphore(self._threads)))
        key.calls += 1
        try:
            async with self._turn(key):
                if caller is not None and caller.left:
                    self.refused[LEFT] += 1
                    raise CallerLeft
                return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            key.calls -= 1
            if not key.calls:
                del self._keys[name]

    @contextlib.asynccontextmanager
    async def _turn(self, key: _Key) -> AsyncIterator[None]:
        """Wait for the key's semaphore and for a thread."""
        waits = key.turns.locked() or self._turns.locked()
        if waits and (self.waiting >= self._max_waiting or key.waiting >= max(1, self._max_waiting // 2)):
            raise self._overloaded(FULL)
        self.waiting += 1
        key.waiting += 1
        async with contextlib.AsyncExitStack() as turns:
            try:
                async with asyncio.timeout(self._max_seconds):
                    await turns.enter_async_context(key.turns)
                    await turns.enter_async_context(self._turns)
            except TimeoutError:
                raise self._overloaded(WAITED) from None
            finally:
                self.waiting -= 1
                key.waiting -= 1
            self.running += 1
            try:
                yield
            finally:
                self.running -= 1

    def _overloaded(self, reason: str) -> ApiError:
        self.refused[reason] += 1
        return ApiError(
            "overloaded",
            f"The service is overloaded; try again in {_RETRY_SECONDS} seconds.",
            headers={"Retry-After": str(_RETRY_SECONDS)},
        )
