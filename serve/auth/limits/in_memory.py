"""The limiter of a single process: exact in memory, written to a file twice a second."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from schemas.limits import LIMIT_WINDOWS, LimitWindow
from serve.auth.clocks import SECOND_US
from serve.auth.limits.counts import MAX_WINDOW_US, MONTH, ROLLING_US, CallLog, LimitStatus, Month, RateLimit
from serve.auth.limits.journal import Journal

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Clock that cannot be set; it continues during suspend, on systems with such a clock."""
WRITE_INTERVAL_SECONDS: Final = 0.5
"""Seconds between two writes; a crash loses the counts since the last write."""
_WRITES_PER_SWEEP: Final = 1200
"""Writes between two removals of expired counts."""
_MAX_QUIET_US: Final = max(32 * 86_400 * SECOND_US, MAX_WINDOW_US)
"""Microseconds without a call after which a key has no call in any current window, whatever the wall clock says."""
_YEAR: Final = 100
"""Difference between the numbers (yyyymm) of a month and of the same month a year later."""
_MAX_MONTHS: Final = 4
"""Months whose counts are kept: the current one, past ones, and those of a clock that was ahead."""
_TRIM_CALLS: Final = 1024
"""Number of expired calls that are kept before their memory is freed."""

_log = structlog.get_logger(__name__)


class InMemoryLimiter:
    """Counts in the memory of this process; it never yields to the event loop, so calls cannot interleave.

    Rolling windows use the steady clock, which cannot be set, and the month uses the wall clock; both in microseconds.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        wall = self._wall()
        self._month = Month.of(wall)
        now, self._logs = journal.load(wall)
        self._ahead = now - self._steady()
        """Difference between the file's timeline, on which calls are recorded, and the steady clock."""
        self._unsaved: list[tuple[str, int]] = []
        self._stop = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: Path) -> InMemoryLimiter:
        """Load the counts of a file and start saving to it; raises SettingsError if it is in use."""
        limiter = cls(Journal(path))
        limiter._writer = asyncio.create_task(limiter._write_periodically())
        return limiter

    async def hit(self, key_id: str, rate: RateLimit) -> LimitStatus:
        """Count one call of a key if every window has room, in one atomic step."""
        log = self._logs.get(key_id)
        if log is None:
            log = self._logs[key_id] = CallLog()
        status = self._decide(log, rate, charge=True)
        if status.refused is None:
            self._unsaved.append((key_id, log.last))
        return status

    async def status(self, keys: Sequence[tuple[str, RateLimit]]) -> list[LimitStatus]:
        """Return the status of keys, without counting a call."""
        return [
            self._decide(self._logs.get(key_id) or CallLog(), rate, charge=False) for key_id, rate in keys
        ]

    @staticmethod
    def _wall() -> int:
        return time.time_ns() // 1000

    @staticmethod
    def _steady() -> int:
        return time.clock_gettime_ns(_STEADY) // 1000

    def _decide(self, log: CallLog, rate: RateLimit, *, charge: bool) -> LimitStatus:
        wall, month = self._wall(), self._month
        if not month.start_us <= wall < month.end_us:
            month = self._month = Month.of(wall)
        return decide(log, self._steady() + self._ahead, wall, month, rate, charge=charge)

    async def save(self) -> None:
        """Save the time, and the calls admitted since the last write."""
        unsaved, self._unsaved = self._unsaved, []
        months = [
            (key_id, month, calls)
            for key_id in dict.fromkeys(key_id for key_id, _ in unsaved)
            for month, calls in self._logs[key_id].months.items()
        ]
        now = self._steady() + self._ahead
        try:
            await asyncio.to_thread(self._journal.append, unsaved, months, self._wall(), now)
        except sqlite3.Error as error:
            self._unsaved = unsaved + self._unsaved
            _log.warning("call_counts_not_written", calls=len(self._unsaved), reason=str(error))

    async def _write_periodically(self) -> None:
        writes = 0
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), WRITE_INTERVAL_SECONDS)
            if self._unsaved:
                await self.save()
            writes += 1
            if writes % _WRITES_PER_SWEEP == 0:
                await self.forget()

    async def forget(self) -> None:
        """Remove expired calls from the file, and idle keys from memory."""
        now = self._steady() + self._ahead
        unsaved = {key_id for key_id, _ in self._unsaved}
        for key_id, log in list(self._logs.items()):
            if log.last <= now - _MAX_QUIET_US and key_id not in unsaved:
                del self._logs[key_id]
            elif log.last <= now - MAX_WINDOW_US:
                log.times = array("q")
        with contextlib.suppress(sqlite3.Error):  # retried later; until then the file is merely larger
            await asyncio.to_thread(self._journal.forget, now - MAX_WINDOW_US, self._month.number - _YEAR)

    async def close(self) -> None:
        """Save pending counts and close the file."""
        self._stop.set()
        if self._writer is not None:
            await self._writer
        await self.save()
        self._journal.close()


def decide(
    log: CallLog, now_us: int, wall_us: int, month: Month, rate: RateLimit, *, charge: bool
) -> LimitStatus:
    """Count one call if every window has room.

    A call made at instant t is in a window of length w while ``now - t < w``. It is admitted when each
    count, itself included, stays within its limit; otherwise nothing is counted.

    Parameters
    ----------
    log
        The key's calls; changed when the call is admitted.
    now_us
        The instant in microseconds, by a clock that never goes back.
    wall_us
        The same instant by the wall clock, in microseconds since 1970; only for the month.
    month
        The month `wall_us` lies in.
    rate
        The limits, which may differ from call to call.
    charge
        False returns the key's counts without counting or refusing a call.
    """
    times = log.times
    count = len(times)
    limits = rate.limits
    cost = 1 if charge else 0
    used: list[int] = []
    reset: list[int] = []
    refused: LimitWindow | None = None
    retry = 0
    for i, length in enumerate(ROLLING_US):
        head = bisect_right(times, now_us - length)
        here = count - head
        limit = limits[i]
        if charge and limit is not None and here >= limit:
            wait = times[count - limit] + length - now_us
            if wait > retry:
                refused, retry = LIMIT_WINDOWS[i], wait
        used.append(here + cost)
        reset.append(times[head] + length - now_us if here else 0)
    in_month = log.months.get(month.number, 0)
    to_next = month.end_us - wall_us
    limit = limits[MONTH]
    if charge and limit is not None and in_month >= limit and to_next > retry:
        refused, retry = LIMIT_WINDOWS[MONTH], to_next
    used.append(in_month + cost)
    if refused is None and charge:
        times.append(now_us)
        log.last = now_us
        log.months[month.number] = in_month + 1
        reset = [left or length for left, length in zip(reset, ROLLING_US, strict=True)]
        _trim(log, now_us, month.number)
    if refused is not None:
        used = [counted - cost for counted in used]
    return LimitStatus(tuple(used), (*reset, to_next), refused, retry)


def _trim(log: CallLog, now_us: int, month: int) -> None:
    if len(log.months) > _MAX_MONTHS:
        del log.months[min(log.months.keys() - {month})]
    # Time never goes back, so a call that has left the longest window has left all of them.
    gone = bisect_right(log.times, now_us - MAX_WINDOW_US)
    if gone > _TRIM_CALLS and gone * 2 > len(log.times):
        del log.times[:gone]
