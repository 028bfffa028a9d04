"""The queue before the compute threads: bounded in length and in time, and fair between keys."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

from schemas.errors import ApiError
from serve.http.request import ANSWERED, Request

T = TypeVar("T")
FULL: Final = "full"
"""The queue was full, and this key had most of it."""
EXPECTED: Final = "expected"
"""The calls of this key that were there before will take longer than a call may wait."""
WAITED: Final = "waited"
"""The call waited as long as one may."""
LEFT: Final = "left"
"""The connection was cut before it was the call's turn."""
REASONS: Final = (FULL, EXPECTED, WAITED, LEFT)
_NEWEST_WEIGHT: Final = 0.2
"""Weight of the newest answer in a key's mean time of an answer."""
_MAX_SHARES: Final = 1024
"""Keys of which it is remembered how much they were given; more only when so many wait."""
_MIN_RETRY_SECONDS: Final = 2
_MAX_RETRY_SECONDS: Final = 60


class CallerLeft(Exception):
    """Nobody waits for the answer any more: it is not computed."""


@dataclass(slots=True)
class _Share:
    """What one key has of the compute threads.

    Attributes
    ----------
    waiting
        Calls, the oldest first.
    running
        Answers being computed.
    served
        Seconds of compute it was given, on the queue's clock: the share with the least is the next.
    mean
        Seconds that an answer of it takes lately.
    """

    key: str
    served: float
    waiting: deque[_Call] = field(default_factory=deque)
    running: int = 0
    mean: float = 0.0


@dataclass(slots=True, eq=False)
class _Call:
    """One call that waits."""

    share: _Share
    request: Request | None
    deadline: float
    granted: asyncio.Future[None]


class ComputeQueue:
    """Runs work on threads, so that the event loop keeps answering; more than the threads can do is refused early.

    The next thread goes to the key that was given the least time of them, so a key with a few quick calls is served
    between two answers of one with many slow ones. A key has all threads but one: that one is for whoever comes with
    another key meanwhile. Used by one event loop.

    Parameters
    ----------
    threads
        Answers of one key computed at a time; there is one thread more.
    max_waiting
        Calls that wait. One more is refused, or the last one of the key that has most of them.
    max_seconds
        How long a call waits before it is refused.
    """

    def __init__(self, threads: int, max_waiting: int, max_seconds: float) -> None:
        self._threads = threads
        self._max_waiting = max_waiting
        self._max_seconds = max_seconds
        self._executor = ThreadPoolExecutor(threads + 1, thread_name_prefix="compute")
        self._shares: dict[str, _Share] = {}
        self._waiting: dict[_Call, None] = {}
        self._clock = 0.0
        self._next: asyncio.TimerHandle | None = None
        self.running = 0
        """Answers being computed."""
        self.refused: Counter[str] = Counter()
        """Calls that were not computed, by the reason."""

    @property
    def waiting(self) -> int:
        """Calls that wait for a thread."""
        return len(self._waiting)

    def submit(self, work: Callable[[], object]) -> None:
        """Run work that no request waits for, on a thread that is free or will be."""
        self._executor.submit(work)

    def close(self) -> None:
        """Wait for what is being computed, and let the threads go."""
        self._executor.shutdown()

    async def run(self, work: Callable[[], T]) -> T:
        """Run work on a thread, in the turn of the key whose request is being answered.

        Parameters
        ----------
        work
            Called on a thread.

        Raises
        ------
        ApiError
            ``overloaded``, with ``Retry-After``, when there is more to do than the threads can.
        CallerLeft
            When the caller left while the call waited.
        """
        request = ANSWERED.get()
        key = "" if request is None else request.key_id or request.client or ""
        share = self._shares.get(key)
        if share is None:
            share = self._new_share(key)
        elif not share.waiting and not share.running:
            share.served = max(share.served, self._clock)
        if self.running <= self._threads and share.running < self._threads:
            self._begin(share)
        else:
            await self._wait(share, request)
        began = time.perf_counter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self._end(share, time.perf_counter() - began)

    # Waiting

    async def _wait(self, share: _Share, request: Request | None) -> None:
        try:
            self._make_room(share)
        except ApiError:
            self._forget(share)
            raise
        self._shares[share.key] = share  # forgotten, if the room was made by its own calls
        loop = asyncio.get_running_loop()
        call = _Call(share, request, loop.time() + self._max_seconds, loop.create_future())
        share.waiting.append(call)
        self._waiting[call] = None
        self._watch()
        try:
            await call.granted
        except asyncio.CancelledError:
            if call in self._waiting:
                self._take_out(call)
                self._forget(share)
            elif not call.granted.cancelled() and call.granted.exception() is None:
                self._end(share, None)
            raise

    def _make_room(self, share: _Share) -> None:
        """Refuse a call that would wait too long, or the one of all that is to go for it."""
        if len(share.waiting) * share.mean > self._max_seconds * self._threads:
            raise self._refusal(share, EXPECTED)
        if len(self._waiting) < self._max_waiting:
            return
        for call in [call for call in self._waiting if _left(call)]:
            self._refuse(call, LEFT)
        if len(self._waiting) < self._max_waiting:
            return
        longest = max(self._shares.values(), key=lambda other: len(other.waiting))
        if len(longest.waiting) <= len(share.waiting) + 1:
            raise self._refusal(share, FULL)
        self._refuse(longest.waiting[-1], FULL)

    def _watch(self) -> None:
        """Look again when the oldest call has waited as long as it may, threads or no threads."""
        if self._next is None and self._waiting:
            oldest = next(iter(self._waiting))
            self._next = asyncio.get_running_loop().call_at(oldest.deadline, self._refuse_late)

    def _refuse_late(self) -> None:
        self._next = None
        now = asyncio.get_running_loop().time()
        for call in list(self._waiting):
            if call.deadline > now:
                break
            self._refuse(call, LEFT if _left(call) else WAITED)
        self._watch()

    def _refuse(self, call: _Call, reason: str) -> None:
        self._take_out(call)
        if not call.granted.done():
            call.granted.set_exception(self._refusal(call.share, reason))
        self._forget(call.share)

    def _take_out(self, call: _Call) -> None:
        del self._waiting[call]
        call.share.waiting.remove(call)

    def _refusal(self, share: _Share, reason: str) -> Exception:
        self.refused[reason] += 1
        if reason == LEFT:
            return CallerLeft()
        seconds = math.ceil(len(share.waiting) * share.mean / self._threads)
        retry = min(_MAX_RETRY_SECONDS, max(_MIN_RETRY_SECONDS, seconds))
        return ApiError(
            "overloaded",
            f"More is asked of this service than it can compute; try again in {retry} seconds.",
            headers={"Retry-After": str(retry)},
        )

    # Running

    def _begin(self, share: _Share) -> None:
        self.running += 1
        share.running += 1
        self._clock = max(self._clock, share.served)

    def _end(self, share: _Share, seconds: float | None) -> None:
        self.running -= 1
        share.running -= 1
        if seconds is not None:
            share.served += seconds
            share.mean += (seconds - share.mean) * (_NEWEST_WEIGHT if share.mean else 1.0)
        self._forget(share)
        while self._waiting and self.running <= self._threads:
            found = [other for other in self._shares.values() if self._is_next(other)]
            if not found:
                return
            share = min(found, key=lambda other: (other.served, other.running))
            call = share.waiting[0]
            if _left(call):
                self._refuse(call, LEFT)
                continue
            self._take_out(call)
            if call.granted.done():  # the task that waited was cancelled
                self._forget(share)
                continue
            self._begin(share)
            call.granted.set_result(None)

    def _is_next(self, share: _Share) -> bool:
        return bool(share.waiting) and share.running < self._threads

    def _new_share(self, key: str) -> _Share:
        if len(self._shares) >= _MAX_SHARES:
            idle = [share for share in self._shares.values() if not share.waiting and not share.running]
            for share in [share for share in idle if share.served <= self._clock] or idle:
                del self._shares[share.key]
        share = self._shares[key] = _Share(key, self._clock)
        return share

    def _forget(self, share: _Share) -> None:
        """Forget a share that has nothing, unless it was given more than others who may be waiting."""
        if not share.waiting and not share.running and share.served <= self._clock:
            self._shares.pop(share.key, None)


def _left(call: _Call) -> bool:
    return call.request is not None and call.request.left
