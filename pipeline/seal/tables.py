"""Decoding of a seal's Parquet files to frames of their declared columns."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.seal.casting import POLARS_TYPES, CastProblem, beyond_calendar, cast_losslessly
from pipeline.seal.dtype_messages import EXPECTED, nearest, stored_as
from pipeline.seal.shape import short_value
from schemas.kinds import EXPANSION, FREE_BYTES, MAX_ROWS
from schemas.table import Column, Table

_UNREADABLE = (
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ArithmeticError,
    MemoryError,
    OSError,
    ValueError,
)
"""Errors of the readers on an unreadable file; a panic of Polars is not an Exception."""
_WIDTHS: Final = {"BOOLEAN": 1, "INT96": 16, "BYTE_ARRAY": 16, "FIXED_LEN_BYTE_ARRAY": 16}
"""Physical type -> bytes of a value in memory, without the characters of text; 8 for others."""
_UNPACKED = (
    f"at most {FREE_BYTES // 2**20} MiB in memory, or {EXPANSION} times its own bytes where that is more"
)


@dataclass(frozen=True, slots=True)
class DecodedTable:
    """A decoded table.

    Attributes
    ----------
    frame
        Declared columns with their declared type, in declared order. It has the rows of the file even if no column is
        left, unless the file is not Parquet.
    rows
        Rows of the file, or of the requested range; None when it is not Parquet.
    problems
        Columns that are missing or of another type.
    extra
        Columns that are not declared, and therefore dropped.
    """

    frame: pl.DataFrame
    rows: int | None
    problems: tuple[CastProblem, ...]
    extra: tuple[str, ...]


def decode_table(
    table: Table, raw: bytes | Path, rows: range | None = None, columns: Collection[str] | None = None
) -> DecodedTable:
    """Decode a Parquet file against its declaration.

    Parameters
    ----------
    table
        The declaration; only its sealed columns are read.
    raw
        The bytes of the file, or its path.
    rows
        Rows to decode; None for all.
    columns
        Declared columns to decode; None for all.

    Returns
    -------
    DecodedTable
        Never raises for an invalid file: its faults are in `problems`.
    """
    declared = {
        column.name: column for column in table.sealed_columns if columns is None or column.name in columns
    }
    height = len(rows) if rows else 0
    try:
        if not rows:
            size = len(raw) if isinstance(raw, bytes) else raw.stat().st_size
            # Checked first: a few bytes may claim, or unpack to, more than the memory. Parts follow an empty one.
            height, unpacked = _totals(raw, declared)
            if height > MAX_ROWS:
                return _unreadable(table, f"at most {MAX_ROWS:,} rows", f"{height:,} rows")
            if unpacked > max(FREE_BYTES, EXPANSION * size):
                return _unreadable(table, _UNPACKED, f"{unpacked:,} bytes in memory")
        stored = pl.read_parquet_schema(_source(raw))
        present = [name for name in declared if name in stored]
        lazy = pl.scan_parquet(_source(raw), glob=False).select(present)
        frame = (lazy if rows is None else lazy.slice(rows.start, len(rows))).collect()
        height = frame.height if present and rows is None else height
    except _UNREADABLE as error:
        fix = "write it again; it may be cut off, compressed by another program or of another format"
        return _unreadable(table, "a Parquet file", f"unreadable ({_reason(error)})", fix)
    columns_read: list[pl.Series] = []
    problems: list[CastProblem] = []
    known = {column.name for column in table.sealed_columns}
    extra = tuple(name for name in stored if name not in known)
    for name, column in declared.items():
        if name not in stored:
            problems.extend(_absent(column, extra))
            continue
        try:
            cast = beyond_calendar(frame[name]) or cast_losslessly(frame[name], column.type)
        except _UNREADABLE as error:
            # For example an unknown time zone.
            stored_type = f"{stored_as(frame[name].dtype)} ({_reason(error)})"
            cast = CastProblem(name, EXPECTED[column.type], stored_type)
        if isinstance(cast, CastProblem):
            problems.append(cast)
        else:
            columns_read.append(cast)
    return DecodedTable(pl.DataFrame(columns_read), height, tuple(problems), extra)


def empty_table(table: Table) -> pl.DataFrame:
    """Return the table with its sealed columns and no row."""
    return pl.DataFrame(schema={column.name: POLARS_TYPES[column.type] for column in table.sealed_columns})


def _unreadable(table: Table, expected: str, actual: str, fix: str = "") -> DecodedTable:
    return DecodedTable(empty_table(table), None, (CastProblem("(file)", expected, actual, fix=fix),), ())


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _absent(column: Column, extra: tuple[str, ...]) -> list[CastProblem]:
    if column.optional:
        return []
    misspelt = nearest(column.name, extra)
    fix = "" if misspelt is None else f"is {short_value(misspelt)} a misspelling of it?"
    return [CastProblem(column.name, EXPECTED[column.type], "absent", fix=fix)]


def _totals(raw: bytes | Path, columns: Collection[str]) -> tuple[int, int]:
    """Return the rows of a file and the bytes of some of its columns in memory, according to its footer.

    A consistent footer may still contradict a data page, and decoding such a page can crash the process: for that reason each
    seal is read in a separate process.

    Raises
    ------
    ValueError
        When a number of the footer contradicts another.
    """
    metadata = pq.read_metadata(pa.BufferReader(raw) if isinstance(raw, bytes) else raw)
    rows = unpacked = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        rows += group.num_rows
        for place, column in enumerate(map(group.column, range(group.num_columns))):
            if column.path_in_schema.split(".")[0] not in columns:
                continue
            values, size = column.num_values, column.total_uncompressed_size
            flat = metadata.schema.column(place).max_repetition_level == 0
            if min(values, size, group.num_rows) < 0 or (flat and values != group.num_rows):
                name = column.path_in_schema
                raise ValueError(
                    f"its footer says {values:,} values of {name} in {group.num_rows:,} rows, {size:,} bytes"
                )
            unpacked += values * _WIDTHS.get(column.physical_type, 8) + size
    if rows != metadata.num_rows:
        raise ValueError(f"its footer says {metadata.num_rows:,} rows, its row groups {rows:,}")
    return rows, unpacked


def _source(raw: bytes | Path) -> io.BytesIO | Path:
    return raw if isinstance(raw, Path) else io.BytesIO(raw)
