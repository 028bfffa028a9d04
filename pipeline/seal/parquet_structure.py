"""What a Parquet file says of itself, checked against its bytes before an engine takes its word and memory for it.

The engine reserves memory for as many values as a header claims; where there is not so much, or the number is negative,
its process ends. And a few bytes may lawfully stand for millions of equal values.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pipeline.seal.compact_thrift import NotThrift, ThriftReader

FREE_BYTES: Final = 2**27
"""What any table may unpack to, however small its file."""
EXPANSION: Final = 100
"""How many times the bytes of its file a table may unpack to beyond that; ledgers of floats come to about 5."""
MAX_FOOTER: Final = 2**24
"""Most bytes of a footer."""
MAX_HEADER: Final = 2**20
"""Most bytes of a page header: the least and the greatest text of a page may stand in it."""
MAX_PAGES: Final = 2**20
"""Most pages of the columns that are read: twice those of the most rows, at 20,000 a page in 20 columns, and more."""
_MAGIC: Final = b"PAR1"
_DATA: Final = (0, 3)
_DICTIONARY: Final = 2
_WIDTHS: Final = {0: 1, 1: 8, 2: 8, 3: 16, 4: 8, 5: 8, 6: 16, 7: 16}
"""Physical type -> bytes of a value in memory, beside those of a text."""


class Misstated(ValueError):
    """The file is not what it says; the message says in what."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What a file was found to hold.

    Attributes
    ----------
    rows
        Of all row groups.
    unpacked
        Bytes of the columns that were looked at once they are in memory.
    limit
        Most bytes they may be.
    """

    rows: int
    unpacked: int
    limit: int


def inspect(view: memoryview, columns: Collection[str]) -> Structure:
    """Read the footer and all page headers of some columns.

    Parameters
    ----------
    view
        The file, whole or mapped.
    columns
        The names of those that will be read.

    Raises
    ------
    Misstated
        When it is no Parquet file, or a number in it contradicts another or the bytes that are there.
    """
    footer = _footer(view)
    limit = max(FREE_BYTES, EXPANSION * len(view))
    rows = unpacked = 0
    pages = iter(range(MAX_PAGES))
    types = [element.get(1) for element in _structs(footer, 2, "columns") if not element.get(5)]
    for group in _structs(footer, 4, "row groups"):
        height = _count(group, 3, "rows of a row group")
        rows += height
        chunks = _structs(group, 1, "columns")
        if len(chunks) != len(types):
            raise Misstated(f"a row group has {len(chunks):,} columns, its schema {len(types):,}")
        for chunk, type_ in zip(chunks, types, strict=True):
            column = chunk.get(3)
            if not isinstance(column, dict):
                raise Misstated("a column has no metadata")
            path = _path(column)
            if path[0] not in columns or unpacked > limit:
                continue
            if column.get(1) != type_:
                raise Misstated(f"the column {path[0]} has another type than its schema says")
            values = _count(column, 5, "values of a column")
            if len(path) == 1 and values != height:
                raise Misstated(f"a column has {values:,} values, its row group {height:,} rows")
            unpacked += _unpacked(view, column, limit - unpacked, pages)
    if rows != _count(footer, 3, "rows"):
        raise Misstated(f"its footer says {footer[3]:,} rows, its row groups {rows:,}")
    return Structure(rows, unpacked, limit)


def _footer(view: memoryview) -> dict[int, Any]:
    if len(view) < 12 or bytes(view[:4]) != _MAGIC or bytes(view[-4:]) != _MAGIC:
        raise Misstated("it does not begin and end as Parquet does")
    (size,) = struct.unpack("<I", view[-8:-4])
    if size > min(len(view) - 12, MAX_FOOTER):
        raise Misstated(f"its footer would have {size:,} bytes")
    return _read(ThriftReader(view[: len(view) - 8], len(view) - 8 - size), "its footer")


def _unpacked(view: memoryview, column: dict[int, Any], left: int, pages: Iterator[int]) -> int:
    """Return what a column of a row group takes in memory; a number above `left` as soon as it is known to be one."""
    values = _count(column, 5, "values of a column")
    taken = values * _WIDTHS.get(_count(column, 1, "type of a column"), 16)
    seen = 0
    headers = _headers(view, column, pages)
    while seen < values and taken <= left:
        header = next(headers, None)
        if header is None:
            raise Misstated(f"a column of {values:,} values has pages of {seen:,}")
        size = _count(header, 2, "bytes of a page")
        taken += size
        kind = _count(header, 1, "kind of a page")
        if kind == _DICTIONARY and _values(header, 7) > size:
            raise Misstated(f"a dictionary of {size:,} bytes says it has {_values(header, 7):,} values")
        if kind in _DATA:
            seen += _values(header, 5 if kind == 0 else 8)
    if seen > values:
        raise Misstated(f"a column of {values:,} values has pages of {seen:,}")
    return taken


def _headers(view: memoryview, column: dict[int, Any], pages: Iterator[int]) -> Iterator[dict[int, Any]]:
    """Yield the headers of the pages of a column of a row group."""
    first = _count(column, 9, "place of a page")
    dictionary = column.get(11)
    at = dictionary if isinstance(dictionary, int) and 0 < dictionary < first else first
    end = min(at + _count(column, 7, "bytes of a column"), len(view))
    while at < end:
        if next(pages, None) is None:
            raise Misstated(f"it has more than {MAX_PAGES:,} pages")
        reader = ThriftReader(view[: min(end, at + MAX_HEADER)], at)
        header = _read(reader, "a page header")
        at = reader.at + _count(header, 3, "bytes of a page")
        if at > end:
            raise Misstated("a page goes on beyond its column")
        yield header


def _read(reader: ThriftReader, what: str) -> dict[int, Any]:
    try:
        return reader.struct()
    except NotThrift as error:
        raise Misstated(f"{what} cannot be read: {error}") from error


def _values(header: dict[int, Any], number: int) -> int:
    inner = header.get(number)
    if not isinstance(inner, dict):
        raise Misstated("a page does not say how many values it has")
    return _count(inner, 1, "values of a page")


def _count(struct_: dict[int, Any], number: int, what: str) -> int:
    value = struct_.get(number)
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise Misstated(f"for the {what} it has no number of 0 or more")
    return value


def _structs(struct_: dict[int, Any], number: int, what: str) -> list[dict[int, Any]]:
    found = struct_.get(number)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise Misstated(f"it has no list of {what}")
    return found


def _path(column: dict[int, Any]) -> list[str]:
    path = column.get(3)
    if not isinstance(path, list) or not path or not all(isinstance(name, bytes) for name in path):
        raise Misstated("a column has no name")
    return [name.decode("utf-8", "replace") for name in path]
