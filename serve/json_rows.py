"""Frames as JSON rows: the one form numbers, days and instants have in every answer."""

from __future__ import annotations

import io
from typing import Final

import polars as pl

type_pieces = tuple[bytes | memoryview, ...]
"""Buffers that are a JSON array when they are put one behind the other: a page is not copied before it is sent."""
_WHOLE: Final = "%Y-%m-%dT%H:%M:%SZ"
_SPLIT: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"
_FEW: Final = 64
"""Rows up to which each instant is written by itself; in longer columns most are repeated."""


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
    return frame.with_columns(
        _instants(frame[name]) for name, type_ in frame.schema.items() if type_ == pl.Datetime
    )


def _instants(moments: pl.Series) -> pl.Series:
    if len(moments) <= _FEW:
        return _written(moments)
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
