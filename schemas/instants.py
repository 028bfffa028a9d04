"""Instants as text."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(moment: datetime, timespec: str = "auto") -> str:
    """Write an instant as ISO 8601 in UTC, such as ``2020-01-03T14:30:00Z``; `timespec` as :meth:`datetime.isoformat` takes it."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
