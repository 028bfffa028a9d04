"""The one form rows, numbers, days and instants have in every answer."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple, Self

import orjson
import polars as pl

_WHOLE: Final = "%Y-%m-%dT%H:%M:%SZ"
_SPLIT: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"


class Rows(NamedTuple):
    """A page's rows as they are sent.

    Attributes
    ----------
    objects
        JSON objects with commas between them; part of a table in memory, which is copied when the body is assembled.
    returned, total
        How many they are, and the rows of all pages.
    """

    objects: bytes | memoryview
    returned: int
    total: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], total: int) -> Self:
        """Return rows that are written here, one object each."""
        return cls(_objects(orjson.dumps(rows)), len(rows), total)

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, total: int) -> Self:
        """Return the rows of a frame, written as by :func:`to_json`."""
        return cls(_objects(to_json(frame)), frame.height, total)


NO_ROWS: Final = Rows(b"", 0, 0)


def _objects(array: bytes) -> memoryview:
    """Return what a JSON array holds between its brackets."""
    return memoryview(array)[1:-1]


def to_json(frame: pl.DataFrame) -> bytes:
    """Write a frame as a JSON array of objects.

    Numbers stand in the shortest form that reads back to the same double, days as ``2020-01-03``, instants as
    ``2020-01-03T14:30:00Z`` with microseconds only where they are not zero.
    """
    buffer = io.BytesIO()
    writable(frame).write_json(buffer)
    return buffer.getvalue()


def writable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with its instants as the texts they are served as."""
    instants = [_instants(frame[name]) for name, type_ in frame.schema.items() if type_ == pl.Datetime]
    return frame.with_columns(instants) if instants else frame


def _instants(moments: pl.Series) -> pl.Series:
    # A week's names share their instants: each is written once.
    distinct = moments.drop_nulls().unique()
    if distinct.is_empty():
        return pl.repeat(None, len(moments), dtype=pl.String, eager=True).alias(moments.name)
    return moments.replace_strict(distinct, _written(distinct), default=None, return_dtype=pl.String)


def _written(moments: pl.Series) -> pl.Series:
    # The zone is that of the engine's session, which follows the machine's.
    utc = moments.dt.convert_time_zone("UTC")
    whole = utc.dt.strftime(_WHOLE)
    split = (utc.dt.microsecond() != 0).fill_null(value=False)
    return whole.zip_with(~split, utc.dt.strftime(_SPLIT)) if split.any() else whole


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
