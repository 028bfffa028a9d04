"""A Parquet file of the seal as a frame of its declared columns."""

from __future__ import annotations

import contextlib
import io
import mmap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipeline.seal.casting import POLARS_TYPES, CastProblem, beyond_calendar, cast_losslessly
from pipeline.seal.engine_words import EXPECTED, nearest, stored_as
from pipeline.seal.parquet_structure import EXPANSION, FREE_BYTES, inspect
from schemas.kinds import MAX_ROWS
from schemas.table import Column, Table

_UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ArithmeticError,
    MemoryError,
    OSError,
    ValueError,
)
"""What the engine raises on a file it cannot make sense of; a panic of it is not an Exception."""
_UNPACKED = (
    f"at most {FREE_BYTES // 2**20} MiB in memory, or {EXPANSION} times its own bytes where that is more"
)


@dataclass(frozen=True, slots=True)
class DecodedTable:
    """What was read of one table.

    Attributes
    ----------
    frame
        Declared columns that are of their type, in declared order; it has the file's rows even when no column
        is left, unless the file is not Parquet.
    rows
        Rows of the file, or of the part of it that was asked for; None when it is not Parquet.
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
        The declaration; only its sealed columns are looked for.
    raw
        The file, whole, or where it is.
    rows
        Which of its rows; None for all.
    columns
        Which of the declared columns; None for all.

    Returns
    -------
    DecodedTable
        Never raises on a bad file: what is wrong stands in `problems`.
    """
    declared = {
        column.name: column for column in table.sealed_columns if columns is None or column.name in columns
    }
    height = len(rows) if rows else 0
    try:
        if not rows:
            # First of all: a few bytes may claim, or unpack to, more than any memory holds. Parts follow an empty one.
            with _viewed(raw) as view:
                structure = inspect(view, declared)
            if structure.rows > MAX_ROWS:
                return _unreadable(table, f"at most {MAX_ROWS:,} rows", f"{structure.rows:,} rows")
            if structure.unpacked > structure.limit:
                return _unreadable(table, _UNPACKED, f"{structure.unpacked:,} bytes or more in memory")
            height = structure.rows
        stored = pl.read_parquet_schema(_source(raw))
        wanted = [name for name in declared if name in stored]
        if rows is None:
            frame = pl.read_parquet(_source(raw), columns=wanted)
            height = frame.height if wanted else height
        else:
            frame = pl.scan_parquet(_source(raw)).select(wanted).slice(rows.start, len(rows)).collect()
    except _UNREADABLE as error:
        return _unreadable(table, "a Parquet file", f"unreadable ({_reason(error)})")
    taken: list[pl.Series] = []
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
            # Such as a time zone that nobody knows.
            found = f"{stored_as(frame[name].dtype)} ({_reason(error)})"
            cast = CastProblem(name, EXPECTED[column.type], found)
        if isinstance(cast, CastProblem):
            problems.append(cast)
        else:
            taken.append(cast)
    return DecodedTable(pl.DataFrame(taken), height, tuple(problems), extra)


def empty_table(table: Table) -> pl.DataFrame:
    """Return the table with its sealed columns and no row."""
    return pl.DataFrame(schema={column.name: POLARS_TYPES[column.type] for column in table.sealed_columns})


def _unreadable(table: Table, expected: str, found: str) -> DecodedTable:
    return DecodedTable(empty_table(table), None, (CastProblem("(file)", expected, found),), ())


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _absent(column: Column, extra: tuple[str, ...]) -> list[CastProblem]:
    if column.optional:
        return []
    misspelt = nearest(column.name, extra)
    fix = "" if misspelt is None else f"did you mean it by {misspelt}?"
    return [CastProblem(column.name, EXPECTED[column.type], "absent", fix=fix)]


@contextlib.contextmanager
def _viewed(raw: bytes | Path) -> Iterator[memoryview]:
    """Give the bytes of a file without having them in memory where they are not."""
    if isinstance(raw, bytes):
        yield memoryview(raw)
        return
    with (
        raw.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        yield view


def _source(raw: bytes | Path) -> io.BytesIO | Path:
    return raw if isinstance(raw, Path) else io.BytesIO(raw)
