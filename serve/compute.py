"""The compute threads, with a bounded queue and a semaphore for each key."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from schemas.errors import ApiError

T = TypeVar("T")
Failed: TypeAlias = Callable[[BaseException], None]
FULL: Final = "full"
"""Refusal reason: the queue was full, or this key had half of it."""
WAITED: Final = "waited"
"""Refusal reason: the call waited for the maximum time."""
LEFT: Final = "left"
"""Refusal reason: the connection was closed before the call's turn."""
REASONS: Final = (FULL, WAITED, LEFT)


class CallerLeft(Exception):
    """The caller has left, so its answer is not computed."""


CURRENT_REQUEST: Final[ContextVar[Any]] = ContextVar("alpha_results_request", default=None)
"""The :class:`serve.http.request.Request` of the current task; None outside a request."""


class _Key:
    """A key with waiting or running calls: a limit on its answers computed at a time, and how many of its calls wait."""

    def __init__(self, threads: int) -> None:
        self.turns = asyncio.Semaphore(threads)
        self.waiting = 0


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
    failed
        Called with every failure of work.
    """

    def __init__(self, threads: int, max_waiting: int, max_seconds: float, failed: Failed) -> None:
        self._threads = threads
        self._max_waiting = max_waiting
        self._max_seconds = max_seconds
        self._failed = failed
        self._executor = ThreadPoolExecutor(threads + 1, thread_name_prefix="compute")
        self._turns = asyncio.Semaphore(threads + 1)
        self._keys: WeakValueDictionary[str, _Key] = WeakValueDictionary()
        """Only its calls hold a key: it is dropped when the last of them ends."""
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
            ``overloaded`` when the queue is full or the call has waited too long.
        CallerLeft
            When the caller left while the call waited.
        """
        caller = CURRENT_REQUEST.get()
        name = "" if caller is None else caller.key_id or caller.client or ""
        async with self._turn(self._keys.setdefault(name, _Key(self._threads))):
            if caller is not None and caller.left:
                self.refused[LEFT] += 1
                raise CallerLeft
            try:
                return await asyncio.get_running_loop().run_in_executor(self._executor, work)
            except BaseException as error:
                self._failed(error)
                raise

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
        return ApiError("overloaded", "The service is overloaded; try again later.")
