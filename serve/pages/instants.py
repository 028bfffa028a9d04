"""Moments and days as the interface writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime


def instant(moment: datetime) -> str:
    """Write a moment as ``2020-01-03T14:30:00Z``, with microseconds only when they are not zero.

    Parameters
    ----------
    moment
        With a time zone; it is converted to UTC.
    """
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text}Z"


def instant_or_null(moment: datetime | None) -> str | None:
    """Write a moment, None as None."""
    return None if moment is None else instant(moment)


def now() -> str:
    """Write the server's clock, in UTC."""
    return instant(datetime.now(UTC))


def day_or_null(day: date | None) -> str | None:
    """Write a day as ``YYYY-MM-DD``, None as None."""
    return None if day is None else day.isoformat()
