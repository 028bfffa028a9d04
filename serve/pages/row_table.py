"""Row tables: each row of a published table as JSON text, with the columns that rows are filtered and sorted by.

A batch has these columns, with one value per row of the published file, in file order:

- ``day``: int32, days since 1970-01-01 in UTC;
- ``symbol``: int32, index of the symbol among all symbols in ascending order; -1 for null;
- ``by_symbol``: int32, row numbers sorted by symbol, then ascending;
- a float64 column for each figure that rows are filtered and sorted by, NaN for null;
- ``json``: the row as a JSON object followed by a comma, so that adjacent rows are one slice of a buffer.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import itertools
import mmap
import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl
import pyarrow as pa

from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.pages.duckdb import (
    DAY_COLUMNS,
    Engine,
    Statement,
    engine_version,
    projection,
    quoted,
    select_symbols,
    source,
    writable,
)
from serve.pages.query import DECISION, PageQuery, Rows, TableView

Numbers = npt.NDArray[np.integer[Any]]
"""Row numbers, from 0."""
FORMAT: Final = 1
"""Bump when the layout of a batch changes."""
FIGURES: Final = (
    "direction",
    "score",
    "average_rank",
    *(x.name for x in TABLES["decisions"] if x.name.endswith("_target_weight") and not x.raw),
)
"""Columns that the rows of a cross-section are filtered and sorted by."""
_PART_ROWS: Final = 60_000
"""Rows read and written at a time: three row groups of a published file."""
_KEY: Final = "#"
"""Prefix of the columns that rows are filtered and sorted by; no declared name starts with it."""
_NAMES: Final = b"names"
"""Metadata key of a batch; its value is symbol -> start and end of its rows in ``by_symbol``, in symbol order."""
_NAME_BYTES: Final = 128
_MAX_SCANNED: Final = 500_000
"""Maximum number of rows scanned for a page; it is cut on the event loop, where more would keep other requests waiting."""
_USE_SECONDS: Final = 60.0
"""Minimum seconds between updates of a file's access time, which orders evictions."""
_TYPES: Final = {"day": np.int32, "symbol": np.int32, "by_symbol": np.int32}
_EPOCH: Final = dt.date(1970, 1, 1)
_LINE_FEED: Final = ord("\n")
_COMMA: Final = ord(",")


class RowsDamaged(Exception):
    """The file of a row table differs from what was written."""


class NotTabled(Exception):
    """No row table can be built from a published file."""


class MappedFile(NamedTuple):
    """The file of a table: its path, and its inode and size when it was mapped, because another file may replace it."""

    path: Path
    inode: int
    size: int


class RowTable:
    """All rows of a published table, or of one of its books, with or without raw columns.

    Parameters
    ----------
    batch
        Has the columns that the module describes.
    file
        The mapped file; None for a table in memory.
    """

    def __init__(self, batch: pa.RecordBatch, file: MappedFile | None = None) -> None:
        self._file = file
        self._in_memory = 0 if file else batch.nbytes
        self._json = batch["json"]
        _, offsets, data = self._json.buffers()
        self._offsets = np.frombuffer(offsets, np.int64)
        self._data = memoryview(data)
        self._columns: dict[str, npt.NDArray[Any]] = {
            name: np.frombuffer(batch[name].buffers()[1], _TYPES.get(name, np.float64))
            for name in batch.schema.names
            if name != "json"
        }
        self._days = self._columns["day"].data  # a memoryview is bisected faster than an array is searched
        self._names: Mapping[str, tuple[int, int]] = orjson.loads(batch.schema.metadata[_NAMES])

    @property
    def bytes(self) -> int:
        """Approximate memory of this process; the pages of a mapped file are shared by all processes."""
        return self._in_memory + _NAME_BYTES * len(self._names) + mmap.PAGESIZE

    def _spans(self, symbols: Sequence[str]) -> list[tuple[int, int]]:
        """Return the start and end of each symbol's rows in ``by_symbol``."""
        return [self._names[name] for name in symbols if name in self._names]

    def cut(self, query: PageQuery) -> Rows | None:
        """Return the page that answers a query; None if that would scan too many rows.

        Raises
        ------
        RowsDamaged
            When the table's file was shortened or removed.
        """
        self._record_use()
        start, end = self._between(query)
        if _is_range(query):
            first = min(start + query.offset, end)
            last = min(first + query.limit, end)
            text = self._data[self._offsets[first] : self._offsets[last]]
            return Rows(text[:-1], last - first, end - start)
        spans = [(start, end)] if query.symbols is None else self._spans(query.symbols)
        if sum(last - first for first, last in spans) > _MAX_SCANNED:
            return None
        rows = self._select(query, start, end)
        page = np.ascontiguousarray(rows[query.offset : query.offset + query.limit], np.int32)
        # Not `pa.array`: it imports pandas where installed, which takes a second.
        numbers = pa.Array.from_buffers(pa.int32(), len(page), [None, pa.py_buffer(page)])
        _, ends, text = self._json.take(numbers).buffers()
        length = int(np.frombuffer(ends, np.int64, len(page) + 1)[-1])
        return Rows(memoryview(text or b"")[: max(0, length - 1)], len(page), len(rows))

    def _record_use(self) -> None:
        """Update the access time now and then; refuse a shortened file, because reading beyond its end kills the process."""
        if self._file is None:
            return
        path, now = self._file.path, time.time()
        try:
            status = path.stat()
        except OSError as error:
            raise RowsDamaged(f"{path} was removed") from error
        if (status.st_ino, status.st_size) != self._file[1:]:
            raise RowsDamaged(f"{path} was shortened or replaced")
        if status.st_atime < now - _USE_SECONDS:
            with contextlib.suppress(OSError):  # the disk became read-only
                os.utime(path, (now, status.st_mtime))

    @property
    def removed(self) -> bool:
        """Whether its file was removed; the file uses disk space until it is unmapped."""
        return self._file is not None and not self._file.path.exists()

    def _between(self, query: PageQuery) -> tuple[int, int]:
        """Return the range of rows in a query's window of days, end exclusive."""
        days, first, last = self._days, query.first, query.last
        start = 0 if first is None else bisect_left(days, _day(first))
        end = len(days) if last is None else bisect_right(days, _day(last))
        return start, max(start, end)

    def _select(self, query: PageQuery, start: int, end: int) -> Numbers:
        """Return the numbers of the rows that meet the conditions, in the order requested."""
        rows: slice | Numbers = slice(start, end)
        if query.symbols is not None:
            by_symbol = self._columns["by_symbol"]
            parts = [by_symbol[first:end_] for first, end_ in self._spans(query.symbols)]
            rows = np.sort(np.concatenate(parts)) if parts else by_symbol[:0]
            rows = rows[slice(*rows.searchsorted(np.array([start, end], np.int32)))]
        if query.direction is not None:
            rows = _narrow(rows, self._columns["direction"][rows] == query.direction)
        if query.min_abs_weight is not None:
            rows = _narrow(rows, np.abs(self._columns[query.weight][rows]) >= query.min_abs_weight)
        if query.sort is None:
            return np.arange(start, end) if isinstance(rows, slice) else rows
        values = self._columns[query.sort][rows]
        # NaN last, ties in their present order, which is by ascending symbol.
        order = np.argsort(-values if query.descending else values, kind="stable")
        return order + start if isinstance(rows, slice) else rows[order]


def _is_range(query: PageQuery) -> bool:
    """Whether a query selects all rows of its window, in file order."""
    return (query.symbols, query.direction, query.min_abs_weight, query.sort) == (None, None, None, None)


def _day(day: dt.date) -> int:
    """Return a day as the column has it."""
    return (day - _EPOCH).days


def _narrow(rows: slice | Numbers, kept: npt.NDArray[np.bool_]) -> Numbers:
    return np.flatnonzero(kept) + rows.start if isinstance(rows, slice) else rows[kept]


class TableSource(NamedTuple):
    """Inputs of a row table.

    Attributes
    ----------
    view, snapshot
        The table and its snapshot.
    columns
        Select list: the columns that a row shows, and those that rows are filtered and sorted by.
    digest
        Content key: digest of the file, the columns, and the library versions.
    """

    view: TableView
    snapshot: Snapshot
    columns: Statement
    digest: str

    def parts(self) -> tuple[list[Statement], Statement | None]:
        """Return the queries for the rows, one per part, and the query for the symbols; None if the table has no symbols.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            When the file is missing or differs from what was published.
        """
        stored = source(self.snapshot.file(self.view.table, self.view.book))
        sql = f"SELECT {self.columns.sql} FROM {stored.sql} WHERE file_row_number BETWEEN ? AND ?"  # noqa: S608 - declared names only
        binds = (*self.columns.binds, *stored.binds)
        starts = range(0, self.snapshot.n_rows(self.view.table, self.view.book), _PART_ROWS)
        rows = [Statement(sql, (*binds, start, start + _PART_ROWS - 1)) for start in starts]
        return rows, select_symbols(stored) if "symbol" in TABLES[self.view.table] else None


def table_source(view: TableView, snapshot: Snapshot) -> TableSource:
    """Return the inputs of a view's table; raises NotTabled when a column that its rows are filtered by is missing."""
    table, present = TABLES[view.table], snapshot.columns(view.table)
    figures = FIGURES if view.row == DECISION else ()
    if not set(figures) <= set(present):
        raise NotTabled("a column is missing")
    shown = projection(ROWS[view.row], present, raw=view.raw, book=view.book)
    keys = {"day": DAY_COLUMNS[view.table].name, **({"symbol": "symbol"} if "symbol" in table else {})}
    keys |= {name: name for name in figures}
    columns = ", ".join(
        [shown.sql, *(f"{quoted(name)} AS {quoted(_KEY + key)}" for key, name in keys.items())]
    )
    file = snapshot.entry(view.table, view.book)
    content = (FORMAT, file.sha256, columns, shown.binds, engine_version(), pl.__version__)
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:32]
    return TableSource(view, snapshot, Statement(columns, shown.binds), digest)


def make_batch(engine: Engine, table: TableSource, spool: Callable[[], BinaryIO]) -> pa.RecordBatch:
    """Build a batch from a published file.

    Parameters
    ----------
    spool
        Opens a temporary file, or a buffer in memory, for a column.

    Raises
    ------
    NotTabled
        When the file has no rows, or its days do not ascend.
    SnapshotCorrupt
        When the file is missing or cannot be read.
    """
    parts, all_names = table.parts()
    names = [] if all_names is None else sorted(engine.frame(all_names)["symbol"].to_list())
    spools: dict[str, BinaryIO] = {}

    def put(name: str, values: npt.NDArray[Any]) -> None:
        if name not in spools:
            spools[name] = spool()
        spools[name].write(values.data)

    last_day = length = rows = 0
    put("offsets", np.zeros(1, np.int64))
    for part in map(engine.frame, parts):
        keys = part.select(pl.col(f"^{_KEY}.*$").name.replace(_KEY, "", literal=True))
        days = _days(keys["day"])
        if days[0] < (last_day if rows else days[0]) or np.any(days[1:] < days[:-1]):
            raise NotTabled("its days do not ascend")
        last_day, rows = days[-1], rows + part.height
        put("day", days)
        if "symbol" in keys:
            codes = keys["symbol"].cast(pl.Enum(names)).to_physical().cast(pl.Int32)
            put("symbol", codes.fill_null(-1).to_numpy())
        for name in keys.columns:
            if name not in {"day", "symbol"}:
                put(name, keys[name].cast(pl.Float64).fill_null(float("nan")).to_numpy())
        text, ends = _write_rows(part.drop(f"^{_KEY}.*$"))
        put("offsets", ends + length)
        put("json", text)
        length += len(text)
    if not rows:
        raise NotTabled("it has no rows")
    offsets, text_ = _buffer(spools.pop("offsets")), _buffer(spools.pop("json"))
    spans: dict[str, tuple[int, int]] = {}
    if names:
        symbols = np.frombuffer(_buffer(spools["symbol"]), np.int32)
        by_symbol = np.argsort(symbols, kind="stable").astype(np.int32)
        ends = symbols[by_symbol].searchsorted(np.arange(len(names) + 1, dtype=np.int32)).tolist()
        spans = dict(zip(names, itertools.pairwise(ends), strict=True))
        put("by_symbol", by_symbol)
    columns = {
        name: pa.Array.from_buffers(
            pa.from_numpy_dtype(_TYPES.get(name, np.float64)), rows, [None, _buffer(column)], null_count=0
        )
        for name, column in spools.items()
    }
    columns["json"] = pa.Array.from_buffers(pa.large_binary(), rows, [None, offsets, text_], null_count=0)
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    schema = pa.schema(fields, metadata={_NAMES: orjson.dumps(spans)})
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)


def _write_rows(frame: pl.DataFrame) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return the rows of a frame as JSON objects, each followed by a comma, and where each ends."""
    buffer = io.BytesIO()
    writable(frame).write_ndjson(buffer)
    text = np.frombuffer(buffer.getbuffer(), np.uint8)
    # Line feeds inside an object are always escaped, so these are exactly the ends of rows.
    (lines,) = np.nonzero(text == _LINE_FEED)
    text[lines] = _COMMA
    return text, lines + 1


def _days(values: pl.Series) -> npt.NDArray[np.int32]:
    """Return dates or timestamps as days since 1970-01-01 in UTC."""
    utc = values.dt.convert_time_zone("UTC").dt.date() if values.dtype == pl.Datetime else values
    return utc.to_physical().to_numpy()


def _buffer(spool: BinaryIO) -> pa.Buffer:
    if isinstance(spool, io.BytesIO):
        return pa.py_buffer(spool.getbuffer())
    spool.flush()
    return pa.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
