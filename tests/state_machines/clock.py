"""One manual clock for publications, gc, servers, keys and limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

import pytest

START: Final = datetime(2100, 1, 29, 12, tzinfo=UTC)
"""A time after every file was written, shortly before the end of a month."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)

_READ_BY_TIME: Final = (
    "serve.auth.clocks.time",
    "serve.auth.limits.in_memory.time",
    "serve.reader_lease.time",
    "serve.followed_catalogue.time",
)
_READ_BY_DATETIME: Final = (
    "datasets.publication.pointers.datetime",
    "datasets.catalogue.live.datetime",
    "pipeline.housekeeping.gc_command.datetime",
    "serve.reader_lease.datetime",
    "serve.endpoints.changes.datetime",
)
"""Names through which the product's modules read the clock where an answer or a removal depends on it."""


class Clock:
    """The current time."""

    def __init__(self) -> None:
        self.now = START

    @property
    def us(self) -> int:
        """Microseconds since 1970."""
        return (self.now - EPOCH) // timedelta(microseconds=1)

    def move(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make the product use this clock."""
        clock = self

        class Dates(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return clock.now.astimezone(tz)

        with pytest.MonkeyPatch.context() as patch:
            for name in _READ_BY_TIME:
                patch.setattr(name, _Time(self))
            for name in _READ_BY_DATETIME:
                patch.setattr(name, Dates)
            yield


class _Time:
    """The module `time` with another clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def time_ns(self) -> int:
        return self._clock.us * 1000

    def clock_gettime_ns(self, _: int) -> int:
        return self._clock.us * 1000

    def monotonic(self) -> float:
        return self._clock.us / 1e6

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
