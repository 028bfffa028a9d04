"""Instants as text, and as whole microseconds since 1970, which no database or language rounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def utc_text(moment: datetime, timespec: str = "auto") -> str:
    """Write an instant as ISO 8601 in UTC, such as ``2020-01-03T14:30:00Z``; `timespec` as :meth:`datetime.isoformat` takes it."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def instant(microseconds: int) -> datetime:
    """Return microseconds since 1970 as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
