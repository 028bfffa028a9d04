"""Names of storage types in pandas and NumPy, and the conversions to call, for messages to authors of engines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Final

import polars as pl

from schemas.units import Type

EXPECTED: Final = {
    Type.DATE: "a day (Parquet date)",
    Type.TIMESTAMP: "an instant in UTC",
    Type.F64: "a float64",
    Type.I64: "an int64",
    Type.BOOL: "a bool",
    Type.STR: "text",
}
"""Declared type -> its name in messages."""

_NAMES: Final = {pl.String: "text", pl.Boolean: "bool", pl.Date: "days (Parquet date)", pl.Binary: "bytes"}
_SIMILAR: Final = 0.7
"""Minimum similarity of a misspelt name, by :mod:`difflib`."""

_MAX_CANDIDATES: Final = 500
"""Maximum candidates, because a file may have a very large number of columns."""


def stored_as(stored: pl.DataType) -> str:
    """Return the pandas or NumPy name of a storage type."""
    if isinstance(stored, pl.Datetime):
        if stored.time_zone is None:
            return f"pandas datetime64[{stored.time_unit}] without time zone"
        return f"pandas datetime64[{stored.time_unit}, {stored.time_zone}]"
    if isinstance(stored, pl.Duration):
        return f"pandas timedelta64[{stored.time_unit}]"
    plain = stored.base_type()
    return _NAMES.get(plain, plain.__name__.lower())


def fix_for(stored: pl.DataType, expected: Type) -> str:
    """Return the pandas conversion of a column of that type; empty if there is none."""
    if isinstance(stored, pl.Datetime):
        return _fix_for_moments(stored, expected)
    if expected is Type.TIMESTAMP and stored == pl.Date:
        return "a day is not an instant: write the moment itself, such as the session's close in UTC"
    if stored == pl.String:
        return {
            Type.DATE: "parse it (pd.to_datetime(column).dt.normalize())",
            Type.TIMESTAMP: "parse it (pd.to_datetime(column, utc=True))",
            Type.F64: "parse it (pd.to_numeric(column))",
            Type.I64: "parse it (pd.to_numeric(column))",
        }.get(expected, "")
    if expected is Type.F64 and stored.is_integer():
        return "a float64 would change these whole numbers: they are beyond 2**53"
    if expected is Type.F64 and (stored == pl.Boolean or stored.is_decimal()):
        return "convert it (astype('float64'))"
    if expected is Type.BOOL and stored.is_numeric():
        return "convert it (astype(bool))"
    if expected is Type.STR and stored.is_numeric():
        return "convert it (astype(str)), such as a ticker read as a number"
    return ""


def _fix_for_moments(stored: pl.Datetime, expected: Type) -> str:
    if expected is Type.TIMESTAMP and stored.time_zone is None:
        return "localise it (tz_localize('UTC'), or local times with their own zone)"
    if expected is Type.TIMESTAMP:
        return "cut it to microseconds (dt.floor('us'))"
    if expected is Type.DATE and stored.time_zone not in (None, "UTC"):
        return "take the local day of it (dt.tz_localize(None).dt.normalize())"
    if expected is Type.DATE:
        return "drop the time of day (dt.normalize())"
    return ""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar column name; None if none is similar.

    Parameters
    ----------
    name
        Name as written; case and underscores are ignored.
    names
        The candidates; the first wins a tie.
    """
    plain = {candidate: _plain(candidate[:80]) for candidate in islice(names, _MAX_CANDIDATES)}
    closest = difflib.get_close_matches(_plain(name[:80]), plain.values(), n=1, cutoff=_SIMILAR)
    return next((candidate for candidate, text in plain.items() if text in closest), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")
