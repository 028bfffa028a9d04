"""Lossless casts from the storage types that engines may use to the declared types."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline.seal.dtype_messages import EXPECTED, fix_for, stored_as
from schemas.units import Type

POLARS_TYPES: Final[dict[Type, pl.DataType]] = {
    Type.DATE: pl.Date(),
    Type.TIMESTAMP: pl.Datetime("us", "UTC"),
    Type.F64: pl.Float64(),
    Type.I64: pl.Int64(),
    Type.BOOL: pl.Boolean(),
    Type.STR: pl.String(),
}
"""Declared type -> type in memory."""

_EXACT: Final = 2**53
"""Magnitude up to which a double represents every integer exactly."""
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_FIRST_DAY: Final = dt.date.min.toordinal() - _EPOCH
_LAST_DAY: Final = dt.date.max.toordinal() - _EPOCH
"""First and last day of the calendar, in days since 1970."""
_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, slots=True)
class CastProblem:
    """Reason why a column does not have its declared type.

    Attributes
    ----------
    column
        Name of the column.
    expected, stored
        The declared type and the type in the file, as engines name them; `stored` is ``absent`` when a required column is
        missing.
    rows
        Number of values that the cast would change; 0 when the type itself is wrong.
    examples
        Up to five such values, as text.
    fix
        Function to call or column to rename; empty if unknown.
    """

    column: str
    expected: str
    stored: str
    rows: int = 0
    examples: tuple[str, ...] = ()
    fix: str = ""


def beyond_calendar(series: pl.Series) -> CastProblem | None:
    """Report days before the year 1 or after 9999, which have no form ``YYYY-MM-DD``.

    Parameters
    ----------
    series
        The column as read, of any type; null where it is not one.
    """
    if isinstance(series.dtype, pl.Datetime):
        if series.dtype.time_unit == "ns":
            return None  # 64 bits of nanoseconds reach from 1677 to 2262
        a_day = _DAY[series.dtype.time_unit]
    elif series.dtype == pl.Date:
        a_day = 1
    else:
        return None
    days = series.cast(pl.Int64)
    beyond = (days < _FIRST_DAY * a_day) | (days >= (_LAST_DAY + 1) * a_day)
    if not beyond.any():
        return None
    # No example: such a day cannot be formatted.
    return CastProblem(
        series.name, "a day of the years 1 to 9999", "outside the calendar in some rows", int(beyond.sum())
    )


def cast_losslessly(series: pl.Series, type_: Type) -> pl.Series | CastProblem:
    """Cast a column to its declared type, or return why no lossless cast exists.

    Parameters
    ----------
    series
        The column as read.
    type_
        The declared type.

    Returns
    -------
    polars.Series or CastProblem
        Nulls stay null. Accepted are: integers and 32-bit floats for a double (integers up to 2**53), shorter
        integers for a long one, naive or UTC timestamps at midnight for a date, aware timestamps of another
        precision or zone for an instant, dictionary-coded text for text, and a column of nulls without a type
        for anything. A timestamp without a zone is refused as an instant: it is ambiguous.
    """
    target = POLARS_TYPES[type_]
    stored = series.dtype
    if stored == target:
        return series
    if (
        stored == pl.Null
        or (type_ is Type.F64 and stored == pl.Float32)
        or (type_ is Type.STR and stored in (pl.Categorical, pl.Enum))
    ):
        return series.cast(target)
    changed: pl.Series | None = None
    if type_ is Type.F64 and stored.is_integer():
        changed = _outside(series, -_EXACT, _EXACT)
    elif type_ is Type.I64 and stored.is_integer():
        changed = _outside(series, -(2**63), 2**63 - 1)
    elif type_ is Type.DATE and isinstance(stored, pl.Datetime) and stored.time_zone in (None, "UTC"):
        changed = series.to_physical() % _DAY[stored.time_unit] != 0
    elif type_ is Type.TIMESTAMP and isinstance(stored, pl.Datetime) and stored.time_zone is not None:
        changed = series.to_physical() % 1000 != 0 if stored.time_unit == "ns" else None
    else:
        return CastProblem(series.name, EXPECTED[type_], stored_as(stored), fix=fix_for(stored, type_))
    if changed is not None and changed.any():
        broken = series.filter(changed)
        shown = tuple(str(value) for value in broken.head(5).cast(pl.String))
        fix = fix_for(stored, type_)
        return CastProblem(series.name, EXPECTED[type_], stored_as(stored), broken.len(), shown, fix)
    if type_ is Type.TIMESTAMP:
        return series.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    return series.cast(target)


def _outside(series: pl.Series, low: int, high: int) -> pl.Series:
    """Return which integers are outside bounds that their own type may be unable to represent."""
    wide = series.cast(pl.Int128, strict=False)
    return wide.is_between(low, high).not_() | (wide.is_null() & series.is_not_null())
