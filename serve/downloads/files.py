"""The files of a snapshot that a key may download, and their comparison between snapshots.

For some files a key without raw access gets a view, without raw columns and rows. Each process writes a view once, to an
unnamed file, whose space is freed however the process ends.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.disk import temporary_folder, writing
from datasets.manifest import FileEntry
from datasets.snapshot import Snapshot
from schemas.arrow import arrow_field
from schemas.downloads import BOOK_ROWS_TABLES, visible_columns
from schemas.errors import SnapshotCorrupt
from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import RAW_PREFIX, is_raw_book
from serve.cache import SizedLRUCache
from serve.downloads.links import AS_BUILT, WITHOUT_RAW, FileLink

MAX_VIEWS: Final = 32
"""Maximum number of views; each takes disk space and a file descriptor."""
COMPRESSION: Final = "lz4"
"""Compression of views; their row groups are those of the published file."""


class View:
    """An unnamed file, closed with its last reference, and its entry: that of the published file with its own rows, size and digest."""

    def __init__(self, entry: FileEntry, file: IO[bytes]) -> None:
        self.entry, self.file = entry, file

    def __del__(self) -> None:
        self.file.close()


class TableViews:
    """Writes the views of this process, and keeps the most recently used. Thread-safe.

    With the same release of the Parquet library, the same file always gives the same view: the visible declared columns,
    with rows and row groups in the same order.
    """

    def __init__(self) -> None:
        self._views = SizedLRUCache[View](MAX_VIEWS)
        self._write_lock = threading.Lock()

    def view(self, file: TableFile) -> View:
        """Return the view of a file, written at the first request.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            If the published file cannot be read, or there is no disk space for its view.
        """
        owner, name = file.snapshot.key, (file.link.table, file.link.book)
        view = self._views.get(owner, name)
        if view is None:
            with self._write_lock:  # one at a time, as each takes the memory of a row group
                view = self._views.get_or_load(owner, name, lambda: _write(file), lambda _: 1)
        return view

    def close(self) -> None:
        """Close all files except those in use."""
        self._views.remove_if(lambda *_: True)


def _write(view: TableFile) -> View:
    """Write the visible columns of a published file, one row group at a time, with their current declarations."""
    table, columns = view.link.table, [column.name for column in view.columns]
    path = view.snapshot.file(table, view.link.book)
    with view.snapshot.decoding(path), _open_parquet(path) as source:
        stored = source.schema_arrow
        if not set(columns) <= set(stored.names):
            raise SnapshotCorrupt(f"{path} lacks columns that its manifest names")
        metadata = {"table": table, "meaning": PUBLISHED_TABLES[table].meaning}
        fields = [stored.field(x.name).with_metadata(arrow_field(x).metadata) for x in view.columns]
        schema = pa.schema(fields, metadata=metadata)
        with writing(temporary_folder()):
            file = tempfile.TemporaryFile(prefix="alpha-results-table-")  # noqa: SIM115 - closed with the view
            rows = 0
            try:
                with pq.ParquetWriter(file, schema, compression=COMPRESSION) as sink:
                    for group in range(source.num_row_groups):
                        part = source.read_row_group(group, columns=columns)
                        if table in BOOK_ROWS_TABLES:
                            part = part.filter(pc.invert(pc.starts_with(part["book"], RAW_PREFIX)))
                        sink.write_table(part.cast(schema), row_group_size=max(1, part.num_rows))
                        rows += part.num_rows
                size = file.tell()
                file.seek(0)
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                return View(replace(view.published, rows=rows, bytes=size, sha256=sha256), file)
            except BaseException:
                file.close()
                raise


def _open_parquet(path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:  # gc may have removed it since its digest was checked
        raise SnapshotCorrupt(f"{path} is missing; verify the snapshot") from error


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file that a key may download.

    Attributes
    ----------
    link
        The table and snapshot, and whether the file is as published.
    columns
        The columns of the file.
    """

    snapshot: Snapshot
    link: FileLink
    columns: tuple[Column, ...]

    @property
    def published(self) -> FileEntry:
        """The manifest's entry of the published file."""
        return self.snapshot.entry(self.link.table, self.link.book)


def list_files(snapshot: Snapshot, readable: Collection[str], *, raw: bool) -> Iterator[TableFile]:
    """Yield the files of a snapshot that a key may download, tables in declared order, books in canonical order.

    `readable` are the tables of :func:`schemas.downloads.readable_tables`.
    """
    for table in snapshot.datasets():
        if table not in readable:
            continue
        books = snapshot.books(table) if PUBLISHED_TABLES[table].partition else (None,)
        for book in books:
            file = select_file(snapshot, table, book, raw=raw)
            if file is not None:
                yield file


def select_file(snapshot: Snapshot, table: str, book: str | None, *, raw: bool) -> TableFile | None:
    """Return one file for a key; None if it does not exist or the key may not have it.

    A key without raw access gets the published file itself only if every column that its manifest entry names is
    declared and visible: undeclared columns, of a later version, are not served.
    """
    if not snapshot.has(table, book) or (book is None) == bool(PUBLISHED_TABLES[table].partition):
        return None
    if not raw and book is not None and is_raw_book(book):
        return None
    present = snapshot.columns(table)
    columns = visible_columns(table, present, raw=raw)
    if not columns:
        return None
    is_complete = raw or (
        set(present) - {"book"} <= {x.name for x in columns} and not _has_raw_rows(snapshot, table)
    )
    view = AS_BUILT if is_complete else WITHOUT_RAW
    return TableFile(snapshot, FileLink(snapshot.alpha_id, snapshot.id, view, table, book), columns)


def _has_raw_rows(snapshot: Snapshot, table: str) -> bool:
    return table in BOOK_ROWS_TABLES and any(
        entry.book is not None and is_raw_book(entry.book) for entry in snapshot.manifest.files
    )


def read_entry(views: TableViews, file: TableFile) -> FileEntry:
    """Return rows, size and digest of a file."""
    return views.view(file).entry if file.link.view == WITHOUT_RAW else file.published


def open_file(views: TableViews, file: TableFile) -> tuple[FileEntry, int]:
    """Return the entry of a file and a descriptor, which the caller closes.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        If the file is missing, or is not what was published.
    """
    link = file.link
    if link.view == WITHOUT_RAW:
        view = views.view(file)
        return view.entry, os.dup(view.file.fileno())
    path = file.snapshot.file(link.table, link.book)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise SnapshotCorrupt(f"{link.path} is missing; verify the snapshot") from error
    if os.fstat(descriptor).st_size != file.published.bytes:
        os.close(descriptor)
        raise SnapshotCorrupt(f"{link.path} is not what its manifest says; verify the snapshot")
    return file.published, descriptor


def list_row(views: TableViews, file: TableFile) -> Mapping[str, Any]:
    """Return the row of a file in the list."""
    entry = read_entry(views, file)
    return {
        "table": file.link.table,
        "book": file.link.book,
        "rows": entry.rows,
        "size_bytes": entry.bytes,
        "sha256": entry.sha256,
        "from": entry.first,
        "to": entry.last,
        "columns": [
            {"name": x.name, "type": x.type.value, "unit": x.unit.value, "meaning": x.meaning}
            for x in file.columns
        ],
    }


def compare_tables(
    views: TableViews, earlier: Snapshot, later: Snapshot, tables: Collection[str], *, raw: bool
) -> Iterator[dict[str, Any]]:
    """Yield the change of each table, or of each book of a table, in declared order.

    Parameters
    ----------
    tables
        Tables that the key may read.
    raw
        Whether the key sees columns and books of the unconditioned signal.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        If a file of which the key sees only a part is missing or cannot be read.
    """
    before, after = (
        {(x.link.table, x.link.book): x for x in list_files(snapshot, tables, raw=raw)}
        for snapshot in (earlier, later)
    )
    order = list(PUBLISHED_TABLES)
    for table, book in sorted(dict.fromkeys((*after, *before)), key=lambda key: order.index(key[0])):
        earlier_file, later_file = before.get((table, book)), after.get((table, book))
        columns_before, columns_after = _names(earlier_file), _names(later_file)
        yield {
            "dataset": table,
            "book": book,
            "change": _change(views, earlier_file, later_file),
            "rows_before": _rows(views, earlier_file),
            "rows_after": _rows(views, later_file),
            "columns_added": [name for name in columns_after if name not in columns_before],
            "columns_removed": [name for name in columns_before if name not in columns_after],
        }


def _change(views: TableViews, earlier_file: TableFile | None, later_file: TableFile | None) -> str:
    if earlier_file is None:
        return "added"
    if later_file is None:
        return "removed"
    if _names(earlier_file) != _names(later_file):
        return "changed"
    # From the same published file a key gets the same part.
    is_same = earlier_file.published.sha256 == later_file.published.sha256
    is_same = is_same or read_entry(views, earlier_file).sha256 == read_entry(views, later_file).sha256
    return "unchanged" if is_same else "changed"


def _names(file: TableFile | None) -> list[str]:
    return [] if file is None else [column.name for column in file.columns]


def _rows(views: TableViews, file: TableFile | None) -> int | None:
    if file is None:
        return None
    return read_entry(views, file).rows if file.link.table in BOOK_ROWS_TABLES else file.published.rows
