"""Parquet files with false claims, or that unpack to far more than their size."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from functools import cache

import polars as pl

from tests.support.compact_thrift import Field, Struct, read_struct, write_struct

Change = Callable[[Struct], None]
_MAGIC = b"PAR1"


def footer_of(raw: bytes) -> tuple[bytes, Struct]:
    """Return the bytes before the footer, and the footer."""
    (size,) = struct.unpack("<I", raw[-8:-4])
    return raw[: -8 - size], read_struct(raw[-8 - size : -8])[0]


def with_footer(pages: bytes, footer: Struct) -> bytes:
    """Return the file of these pages and this footer."""
    written = write_struct(footer)
    return pages + written + struct.pack("<I", len(written)) + _MAGIC


def forge_footer(raw: bytes, change: Change) -> bytes:
    """Change the footer of a file."""
    pages, footer = footer_of(raw)
    change(footer)
    return with_footer(pages, footer)


def forge_page(raw: bytes, change: Change, *, dictionary: bool = False) -> bytes:
    """Change the header of the first data page of the first column, or of its dictionary page, and shift later offsets."""
    pages, footer = footer_of(raw)
    column = next(iter(columns_of(footer)))
    at = column[11 if dictionary else 9].value
    header, end = read_struct(pages, at)
    change(header)
    written = write_struct(header)
    grown = len(written) - (end - at)
    for chunk in columns_of(footer):
        for number in (9, 10, 11):
            if number in chunk and chunk[number].value > at:
                chunk[number].value += grown
    column[7].value += grown
    return with_footer(pages[:at] + written + pages[end:], footer)


def columns_of(footer: Struct) -> Iterator[Struct]:
    """Yield the metadata of every column chunk."""
    for group in footer[4].value:
        for chunk in group[1].value:
            yield chunk[3].value


def set_rows(footer: Struct, rows: int) -> None:
    """Replace the number of rows everywhere in a footer."""
    footer[3].value = rows
    for group in footer[4].value:
        group[3].value = rows
    for column in columns_of(footer):
        column[5].value = rows


def put(number: int, value: int) -> Change:
    """Change the value of an integer field of a struct."""

    def change(struct_: Struct) -> None:
        struct_[number] = Field(struct_[number].type, value)

    return change


def put_values(values: int) -> Change:
    """Change the number of values in a page header of any type."""

    def change(header: Struct) -> None:
        inner = next(header[number] for number in (5, 7, 8) if number in header)
        put(1, values)(inner.value)

    return change


@cache
def equal_weeks(rows: int) -> bytes:
    """Return a small file of that many equal rows of `rebalances`."""
    frame = pl.select(
        date=pl.repeat(0, rows, dtype=pl.Int32).cast(pl.Date), week_status=pl.repeat("traded", rows)
    )
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
