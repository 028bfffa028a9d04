"""Parquet files supplied by an operator, validated against a declared table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import polars as pl

from datasets.storage import Signature, Storage, open_storage
from schemas.errors import SettingsError
from schemas.table import PATTERNS, Bound, Column, Table
from schemas.units import Type

MAX_BYTES: Final = 1 << 30
"""Maximum bytes of a file; a larger one is not read."""
_SUFFIX: Final = ".parquet"


def find_files(storage: Storage) -> dict[str, Signature]:
    """Return the signature of every Parquet file at an address, by name; a single file has the empty name.

    Raises
    ------
    SettingsError
        When the address is neither a file nor a folder with a Parquet file.
    StorageUnavailable
        When the store does not answer.
    """
    file_signature = storage.signature()
    if file_signature is not None:
        return {"": file_signature}
    entries = storage.entries("")
    files = {
        name: entries[name] for name in sorted(entries) if name.endswith(_SUFFIX) and name[0] not in "._"
    }
    if not files:
        raise SettingsError(
            f"{storage.address} is neither a file nor a folder with a {_SUFFIX} file; correct the address"
        )
    return files


def read_files(storage: Storage, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the address and the bytes of each of the files that :func:`find_files` names."""
    for name in names:
        yield f"{storage.address}/{name}".rstrip("/"), storage.read(name, MAX_BYTES)


def read_all(address: str) -> dict[str, bytes]:
    """Read every Parquet file at an address: address of the file -> bytes; errors as in :func:`find_files`."""
    storage = open_storage(address)
    return dict(read_files(storage, find_files(storage)))


class Columns(NamedTuple):
    """The declared columns of a file.

    Attributes
    ----------
    rows
        Columns in the declared types and order; an optional column that the file lacks is null.
    metadata
        Key-value metadata of the Parquet file.
    """

    rows: pl.DataFrame
    metadata: Mapping[bytes, bytes]


def read_columns(table: Table, kind: str, file: str, data: bytes, *, types_only: bool = False) -> Columns:
    """Decode one file.

    Parameters
    ----------
    table
        Declaration of the columns; others are ignored.
    kind, file
        Names of the data and the file, for messages.
    data
        Bytes of the Parquet file.
    types_only
        Whether to check only the names and types of the columns, without reading rows.

    Raises
    ------
    SettingsError
        When the file is not a Parquet file, lacks a column, or a column breaks its rule.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to load: programs start without it
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        parquet = pq.ParquetFile(pa.BufferReader(data))
        present = [column.name for column in table if column.name in parquet.schema_arrow.names]
        rows = parquet.schema_arrow.empty_table() if types_only else parquet.read(columns=present)
        frame = pl.from_arrow(rows.select(present))
        metadata = parquet.metadata.metadata or {}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise refused(kind, file, "it is a Parquet file", str(error).splitlines()[0].rstrip(".")) from error
    assert isinstance(frame, pl.DataFrame)
    required = [column.name for column in table if not column.optional]
    missing = [name for name in required if name not in present]
    if missing:
        raise refused(kind, file, f"it has the columns {', '.join(required)}", f"there is no {missing[0]}")
    columns = [
        _checked(kind, file, column, frame[column.name])
        if column.name in frame.columns
        else pl.Series(column.name, [None] * frame.height, dtype=_STORED[column.type])
        for column in table
    ]
    return Columns(pl.DataFrame(columns), metadata)


def refused(kind: str, file: str, rule: str, observed: str) -> SettingsError:
    """Return the error for a broken rule of a file."""
    return SettingsError(f"{kind} {file}: the rule is that {rule}, but {observed}; correct the file")


def _checked(kind: str, file: str, column: Column, values: pl.Series) -> pl.Series:
    """Return a column in its declared type; raises SettingsError for a broken rule."""
    # A column of nulls has no type.
    cast = values.cast(_STORED[column.type]) if values.dtype == pl.Null else _CASTS[column.type](values)
    if cast is None:
        raise refused(kind, file, f"{column.name} is {_TYPE_NAMES[column.type]}", f"it is {values.dtype}")
    if column.type is Type.F64 and column.nullable:
        cast = cast.fill_nan(None)  # data frames often use NaN for null
    if cast.null_count() and not column.nullable:
        row = cast.is_null().arg_true()[0]
        raise refused(kind, file, f"{column.name} has no nulls", f"there is one in row {row}")
    values = cast.drop_nulls()
    if column.type is Type.STR:
        values = values.unique(maintain_order=True)  # many rows share few texts
    broken = values.filter(~_BOUNDS[column.bound](values))
    if broken.len():
        raise refused(
            kind, file, f"{column.name} is {_BOUND_NAMES[column.bound]}", f"it is {broken[0]!r} in one row"
        )
    return cast


def _days(values: pl.Series) -> pl.Series | None:
    """Convert dates, and timestamps without a time zone that are all at midnight; None for other values."""
    if values.dtype == pl.Date:
        return values if _has_iso_form(values) else None
    if not isinstance(values.dtype, pl.Datetime) or values.dtype.time_zone is not None:
        return None
    days = values.cast(pl.Date)
    at_midnight = days.cast(values.dtype).equals(values, null_equal=True)
    return days if at_midnight and _has_iso_form(days) else None


def _has_iso_form(days: pl.Series) -> bool:
    """Whether every day can be written YYYY-MM-DD."""
    return bool(days.drop_nulls().is_between(dt.date.min, dt.date.max).all())


def _numbers(values: pl.Series) -> pl.Series | None:
    return values.cast(pl.Float64) if values.dtype.is_numeric() else None


def _texts(values: pl.Series) -> pl.Series | None:
    return values.cast(pl.String) if values.dtype in (pl.String, pl.Categorical, pl.Enum) else None


def _fits(values: pl.Series, bound: Bound) -> pl.Series:
    return values.str.contains(f"^{PATTERNS[bound]}$")


_CASTS: Final[dict[Type, Callable[[pl.Series], pl.Series | None]]] = {
    Type.DATE: _days,
    Type.F64: _numbers,
    Type.STR: _texts,
}
_STORED: Final = {Type.DATE: pl.Date, Type.F64: pl.Float64, Type.STR: pl.String}
_TYPE_NAMES: Final = {
    Type.DATE: "a DATE, or a timestamp at midnight without a zone, of the years 1 to 9999",
    Type.F64: "a number",
    Type.STR: "text",
}
_BOUNDS: Final[dict[Bound, Callable[[pl.Series], pl.Series]]] = {
    Bound.ANY: lambda values: values.is_not_null(),
    Bound.POSITIVE: lambda values: values.is_finite() & (values > 0),
    Bound.TICKER: lambda values: _fits(values, Bound.TICKER),
    Bound.NAME: lambda values: _fits(values, Bound.NAME) & (values.str.strip_chars().str.len_bytes() > 0),
}
_BOUND_NAMES: Final = {
    Bound.ANY: "anything",
    Bound.POSITIVE: "a finite number above 0",
    Bound.TICKER: "not empty, without comma or space, at most 64 printable characters",
    Bound.NAME: "not empty, at most 256 characters, without control characters",
}
