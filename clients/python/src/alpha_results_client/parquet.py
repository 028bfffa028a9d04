"""Reads a table's file as the same frame that its pages would give."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from alpha_results_client.declared import ROWS, STORED_COLUMNS, Column
from alpha_results_client.table import polars_types

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

READERS = {"polars": "polars", "pandas": "pyarrow"}
"""Kind of frame -> packages that read Parquet."""


class Unreadable(NamedTuple):
    """Reason why a file cannot be read."""

    reason: str


class Selection(NamedTuple):
    """Rows and columns of a file.

    Attributes
    ----------
    table, model
        The published table, and the row of the API.
    book
        The book of the file; None for a table that is not stored by book.
    first, last
        Days, inclusive; None leaves that end open.
    symbols
        None for all.
    rows
        Expected number of rows.
    """

    table: str
    model: str
    book: str | None
    first: dt.date | None
    last: dt.date | None
    symbols: Sequence[str] | None
    rows: int


def read_frame(data: bytes, selection: Selection, frames: str) -> Any:
    """Return the file's rows as a frame, or :class:`Unreadable` for an unknown layout."""
    read = _polars if frames == "polars" else _pandas
    try:
        frame = read(data, selection)
    except Exception as error:  # noqa: BLE001 - after any error the rows are paged
        return Unreadable(f"{READERS[frames]} cannot read the file: {type(error).__name__}: {error}")
    if len(frame) == selection.rows:
        return frame
    return Unreadable(f"the file has {len(frame)} of the rows requested, not {selection.rows}")


def _columns(present: Sequence[str], selection: Selection) -> list[tuple[Column, bool]]:
    """Return the columns of the row in order, each with a flag: whether it is in the file.

    Raises for a column unknown to this release: only pages show whether it belongs to the row.
    """
    unknown = set(present) - set(STORED_COLUMNS[selection.table])
    if unknown:
        raise ValueError(f"this release does not know the columns {', '.join(sorted(unknown))}")
    columns = []
    for column in ROWS[selection.model]:
        stored = column.name in present
        if not stored and column.optional:
            continue
        if not stored and not column.nullable and column.name != "book":
            raise ValueError(f"it lacks the column {column.name}")
        columns.append((column, stored))
    return columns


def _day_column(present: Sequence[str]) -> str:
    return "date" if "date" in present else "timestamp"


def _polars(data: bytes, selection: Selection) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - optional

    present = list(pl.read_parquet_schema(io.BytesIO(data)))
    columns = _columns(present, selection)
    day = _day_column(present)
    names = {day, "symbol", *(column.name for column, _ in columns)}
    frame = pl.read_parquet(io.BytesIO(data), columns=[x for x in present if x in names])
    when = pl.col(day) if day == "date" else pl.col(day).dt.convert_time_zone("UTC").dt.date()
    if selection.first is not None:
        frame = frame.filter(when >= selection.first)
    if selection.last is not None:
        frame = frame.filter(when <= selection.last)
    if selection.symbols is not None:
        frame = frame.filter(pl.col("symbol").is_in(list(selection.symbols)))
    types = polars_types(pl)
    return frame.select(
        (pl.col(column.name) if stored else pl.lit(selection.book if column.name == "book" else None))
        .cast(types[column.type])
        .alias(column.name)
        for column, stored in columns
    )


def _pandas(data: bytes, selection: Selection) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - optional
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    file = pq.ParquetFile(pa.BufferReader(data))
    present = file.schema_arrow.names
    columns = _columns(present, selection)
    day = _day_column(present)
    table = file.read([x for x in present if x in {day, "symbol", *(column.name for column, _ in columns)}])
    if selection.first is not None:
        table = table.filter(pc.greater_equal(table[day].cast(pa.date32()), pa.scalar(selection.first)))
    if selection.last is not None:
        table = table.filter(pc.less_equal(table[day].cast(pa.date32()), pa.scalar(selection.last)))
    if selection.symbols is not None:
        table = table.filter(pc.is_in(table["symbol"], pa.array(selection.symbols, table["symbol"].type)))
    types = {
        "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "text": pa.string(), "date": pa.timestamp("us"),
        "instant": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    arrays = {
        column.name: table[column.name].cast(types[column.type])
        if stored
        else pa.repeat(
            pa.scalar(selection.book if column.name == "book" else None, types[column.type]), len(table)
        )
        for column, stored in columns
    }
    mapped = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=mapped.get)
    instants = {column.name: "datetime64[us, UTC]" for column, _ in columns if column.type == "instant"}
    return frame.astype(instants)
