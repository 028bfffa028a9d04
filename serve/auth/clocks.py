"""Times of keys and limits, in whole microseconds, which no database or language rounds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND_US: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def wall_us() -> int:
    """Return microseconds since 1970 by the wall clock, which may be set at any moment."""
    return time.time_ns() // 1000


def instant(microseconds: int) -> datetime:
    """Return a stored time as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Return an aware datetime as it is stored."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
