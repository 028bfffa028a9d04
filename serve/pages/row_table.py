"""A table whose rows are JSON already: the text of a row is one more column beside those that rows are selected and ordered by.

The columns of a batch, as many values each as the published file has rows, in the order of the file:

- ``day``: int32, days since 1970 in UTC;
- ``symbol``: int32, place of the name among all names, which ascend; -1 for none;
- ``by_symbol``: int32, the numbers of the rows, by name and then ascending;
- a float64 for each figure that rows are filtered and sorted by, NaN for null;
- ``json``: the row as an object followed by a comma, so that neighbouring rows are one slice of a buffer.
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
from serve.pages.duckdb import Engine, engine_version, writable
from serve.pages.query import DECISION, PageQuery, Rows, TableView
from serve.pages.sql import DAY_COLUMNS, Statement, projection, quoted, select_symbols, source

Numbers = npt.NDArray[np.integer[Any]]
"""Numbers of rows, from 0."""
FORMAT: Final = 1
"""Raised with every change of what is in a batch."""
FIGURES: Final = (
    "direction",
    "score",
    "average_rank",
    *(x.name for x in TABLES["decisions"] if x.name.endswith("_target_weight") and not x.raw),
)
"""Numbers that the rows of a cross-section are filtered and sorted by."""
_PART_ROWS: Final = 60_000
"""Rows that are read and written at once: three row groups of a published file."""
_KEY: Final = "#"
"""Begins the names of the columns rows are selected by; no declared name does."""
_NAMES: Final = b"names"
"""Metadata of a batch: name -> begin and end of its rows in ``by_symbol``, in the order of names."""
_NAME_BYTES: Final = 128
_USE_SECONDS: Final = 60.0
"""Between two notes that a file is in use, by which those are chosen that make room for others."""
_TYPES: Final = {"day": np.int32, "symbol": np.int32, "by_symbol": np.int32}
_EPOCH: Final = dt.date(1970, 1, 1)
_LINE_FEED: Final = ord("\n")
_COMMA: Final = ord(",")


class RowsDamaged(Exception):
    """A file of rows is not what was written."""


class NotTabled(Exception):
    """A published file has not the order that a table needs."""


class MappedFile(NamedTuple):
    """The file of a table: its path, and inode and bytes of what was mapped, since another may take its name."""

    path: Path
    inode: int
    size: int


class RowTable:
    """Every row of a published table (of one book) as one kind of key sees it.

    Parameters
    ----------
    batch
        As the module says.
    file
        What it is mapped from; None for one in memory.
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
        self._days = self._columns["day"]
        self._names: Mapping[str, tuple[int, int]] = orjson.loads(batch.schema.metadata[_NAMES])

    @property
    def bytes(self) -> int:
        """Memory of this process that it takes, about; pages of a mapped file belong to all processes."""
        return self._in_memory + _NAME_BYTES * len(self._names) + mmap.PAGESIZE

    def _scanned(self, query: PageQuery, rows: int) -> int:
        """Return how many rows are gone through to select some of those of the query's days."""
        return (
            rows if query.symbols is None else sum(end - first for first, end in self._spans(query.symbols))
        )

    def _spans(self, symbols: Sequence[str]) -> list[tuple[int, int]]:
        """Return where the rows of each name are among those by name."""
        return [self._names[name] for name in symbols if name in self._names]

    def cut(self, query: PageQuery, most: int | None = None) -> Rows | None:
        """Return the page of a query of this table.

        Parameters
        ----------
        most
            Rows that may be gone through for it; None is returned where it takes more.

        Raises
        ------
        RowsDamaged
            When its file was shortened or removed.
        """
        self._note_use()
        start, end = self._between(query)
        if _is_range(query):
            first = min(start + query.offset, end)
            last = min(first + query.limit, end)
            text = self._data[self._offsets[first] : self._offsets[last]]
            return Rows(text[:-1], last - first, end - start)
        if most is not None and self._scanned(query, end - start) > most:
            return None
        rows = self._select(query, start, end)
        page = np.ascontiguousarray(rows[query.offset : query.offset + query.limit], np.int32)
        # Not by `pa.array`, which imports pandas where that is installed: it takes a second.
        numbers = pa.Array.from_buffers(pa.int32(), len(page), [None, pa.py_buffer(page)])
        _, ends, text = self._json.take(numbers).buffers()
        length = int(np.frombuffer(ends, np.int64, len(page) + 1)[-1])
        return Rows(memoryview(text or b"")[: max(0, length - 1)], len(page), len(rows))

    def _note_use(self) -> None:
        """Write down now and then that the file is in use; refuse one cut short, beyond whose end reading ends the process."""
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
            with contextlib.suppress(OSError):  # a disk that became read-only
                os.utime(path, (now, status.st_mtime))

    @property
    def removed(self) -> bool:
        """Whether its file is gone: as long as it is mapped it takes room on the disk."""
        return self._file is not None and not self._file.path.exists()

    def _between(self, query: PageQuery) -> tuple[int, int]:
        """Return the number of the first row of a query's days, and of the one after its last."""
        days, first, last = self._days, query.first, query.last
        start = 0 if first is None else int(days.searchsorted(_day(first), "left"))
        end = len(days) if last is None else int(days.searchsorted(_day(last), "right"))
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
            rows = _narrowed(rows, self._columns["direction"][rows] == query.direction)
        if query.min_abs_weight is not None:
            rows = _narrowed(rows, np.abs(self._columns[query.weight][rows]) >= query.min_abs_weight)
        if query.sort is None:
            return np.arange(start, end) if isinstance(rows, slice) else rows
        values = self._columns[query.sort][rows]
        order = _order(-values if query.descending else values)
        return order + start if isinstance(rows, slice) else rows[order]


def _is_range(query: PageQuery) -> bool:
    """Whether the rows are all those of the days, in the order of the file."""
    return (query.symbols, query.direction, query.min_abs_weight, query.sort) == (None, None, None, None)


def _day(day: dt.date) -> np.int32:
    """Return a day as one of the column: of any other type, the column would be converted to it."""
    return np.int32((day - _EPOCH).days)


def _order(values: npt.NDArray[np.float64]) -> Numbers:
    """Return the order of ascending values: NaN last, and ties in the order they stand in, by ascending name."""
    order = np.argsort(values)  # a fifth of the time of the stable sort, and without ties or NaN the same
    ordered = values[order]
    return order if np.all(ordered[1:] > ordered[:-1]) else np.argsort(values, kind="stable")


def _narrowed(rows: slice | Numbers, kept: npt.NDArray[np.bool_]) -> Numbers:
    return np.flatnonzero(kept) + rows.start if isinstance(rows, slice) else rows[kept]


class TableSource(NamedTuple):
    """Inputs of a row table.

    Attributes
    ----------
    view, snapshot
        Which table.
    columns
        Select list of all columns: what a row shows, and what rows are selected and ordered by.
    digest
        Stands for the bytes of the table: of the file, the columns, and the versions of what reads and writes them.
    """

    view: TableView
    snapshot: Snapshot
    columns: Statement
    digest: str

    def parts(self) -> tuple[list[Statement], Statement | None]:
        """Return the queries of all rows, part by part, and that of the names; None where rows have none.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            When the file is gone or is not what was published.
        """
        stored = source(self.snapshot.file(self.view.table, self.view.book))
        sql = f"SELECT {self.columns.sql} FROM {stored.sql} WHERE file_row_number BETWEEN ? AND ?"  # noqa: S608 - declared names only
        binds = (*self.columns.binds, *stored.binds)
        starts = range(0, self.snapshot.n_rows(self.view.table, self.view.book), _PART_ROWS)
        rows = [Statement(sql, (*binds, start, start + _PART_ROWS - 1)) for start in starts]
        return rows, select_symbols(stored) if "symbol" in TABLES[self.view.table] else None


def table_source(view: TableView, snapshot: Snapshot) -> TableSource | None:
    """Return what the table of a view is made of; None when a column is not there that its rows are filtered by."""
    table, present = TABLES[view.table], snapshot.columns(view.table)
    figures = FIGURES if view.row == DECISION else ()
    if not set(figures) <= set(present):
        return None
    constants = None if view.book is None else {"book": view.book}
    shown = projection(ROWS[view.row], present, raw=view.raw, constants=constants)
    keys = {"day": DAY_COLUMNS[view.table].name, **({"symbol": "symbol"} if "symbol" in table else {})}
    keys |= {name: name for name in figures}
    columns = ", ".join(
        [shown.sql, *(f"{quoted(name)} AS {quoted(_KEY + key)}" for key, name in keys.items())]
    )
    file = snapshot.entry(view.table, view.book)
    made_of = (FORMAT, file.sha256, columns, shown.binds, engine_version(), pl.__version__)
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]
    return TableSource(view, snapshot, Statement(columns, shown.binds), digest)


def make_batch(engine: Engine, table: TableSource, spool: Callable[[], BinaryIO]) -> pa.RecordBatch:
    """Read a published file and write its rows.

    Parameters
    ----------
    spool
        Makes a temporary file, or a buffer in memory, for a column.

    Raises
    ------
    NotTabled
        When the days do not ascend.
    SnapshotCorrupt
        When the file is gone or cannot be read.
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
        text, ends = _written(part.drop(f"^{_KEY}.*$"))
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
    schema = pa.schema(
        [pa.field(name, column.type) for name, column in columns.items()],
        metadata={_NAMES: orjson.dumps(spans)},
    )
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)


def _written(frame: pl.DataFrame) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return the rows of a frame as objects that each end with a comma, and the end of each."""
    buffer = io.BytesIO()
    writable(frame).write_ndjson(buffer)
    text = np.frombuffer(buffer.getbuffer(), np.uint8)
    # Line feeds inside an object are always escaped, so these are exactly the ends of rows.
    (lines,) = np.nonzero(text == _LINE_FEED)
    text[lines] = _COMMA
    return text, lines + 1


def _days(values: pl.Series) -> npt.NDArray[np.int32]:
    """Return days or instants as days since 1970 in UTC."""
    utc = values.dt.convert_time_zone("UTC").dt.date() if values.dtype == pl.Datetime else values
    return utc.to_physical().to_numpy()


def _buffer(spool: BinaryIO) -> pa.Buffer:
    if isinstance(spool, io.BytesIO):
        return pa.py_buffer(spool.getbuffer())
    spool.flush()
    return pa.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
