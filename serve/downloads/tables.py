"""Which files of a snapshot a key may have, what they are, and how they are opened."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from datasets.snapshot import Snapshot
from schemas.downloads import BOOK_ROWS_TABLES, is_raw_book, visible_columns
from schemas.errors import ApiError, SnapshotCorrupt
from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from serve.downloads.links import AS_BUILT, WITHOUT_RAW, TableLink
from serve.downloads.views import FileFacts, TableViews
from serve.pages.books import holds_book


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file that a key may have.

    Attributes
    ----------
    link
        Which table of which snapshot, and whether as it was published.
    columns
        Its columns.
    """

    snapshot: Snapshot
    link: TableLink
    columns: tuple[Column, ...]


def offered(snapshot: Snapshot, readable: Collection[str], *, raw: bool) -> Iterator[TableFile]:
    """Yield the files of a snapshot that a key may have, tables in declared order, books in canonical order.

    `readable` are the tables of :func:`schemas.endpoints.readable_tables`.
    """
    for table in snapshot.datasets():
        if table not in readable:
            continue
        books = snapshot.books(table) if PUBLISHED_TABLES[table].partition else (None,)
        for book in books:
            found = select_file(snapshot, table, book, raw=raw)
            if found is not None:
                yield found


def select_file(snapshot: Snapshot, table: str, book: str | None, *, raw: bool) -> TableFile | None:
    """Return one file as a key may have it; None when there is none, or none for this key.

    The published file itself is for a key without raw access only when every column that the manifest names of it is
    declared and visible: what is not declared, as when a later version wrote it, stays closed.
    """
    if not snapshot.has(table, book) or (book is None) == bool(PUBLISHED_TABLES[table].partition):
        return None
    if not raw and book is not None and is_raw_book(book):
        return None
    present = snapshot.columns(table)
    columns = visible_columns(table, present, raw=raw)
    if not columns:
        return None
    whole = raw or (
        set(present) - {"book"} <= {x.name for x in columns} and not _has_raw_rows(snapshot, table)
    )
    view = AS_BUILT if whole else WITHOUT_RAW
    return TableFile(snapshot, TableLink(snapshot.alpha_id, snapshot.id, view, table, book), columns)


def _has_raw_rows(snapshot: Snapshot, table: str) -> bool:
    return table in BOOK_ROWS_TABLES and any(
        entry.book is not None and is_raw_book(entry.book) for entry in snapshot.manifest.files
    )


def asked_for(
    snapshot: Snapshot, table: str, book: str | None, readable: Collection[str], *, raw: bool
) -> TableFile:
    """Return the file a caller names.

    Raises
    ------
    ApiError
        ``unknown_book`` as everywhere; ``table_not_found`` when the run has no such table, or the key may not have it:
        nobody is told which.
    """
    if book is not None and table in readable:
        holds_book(snapshot, table, book, raw=raw)
    found = select_file(snapshot, table, book, raw=raw) if table in readable else None
    if found is None:
        tables = dict.fromkeys(x.link.table for x in offered(snapshot, readable, raw=raw))
        raise ApiError(
            "table_not_found",
            "The run has no such table, or of this book none, among those this key can read.",
            {"available": list(tables)},
        )
    return found


def read_facts(views: TableViews, file: TableFile) -> FileFacts:
    """Return rows, size and digest of a file."""
    link = file.link
    if link.view == WITHOUT_RAW:
        return views.facts(file.snapshot, link.table, link.book, file.columns)
    entry = file.snapshot.entry(link.table, link.book)
    return FileFacts(entry.rows, entry.bytes, entry.sha256)


def opened(views: TableViews, file: TableFile) -> tuple[FileFacts, int]:
    """Return what a file is and a descriptor to read it by, which the caller closes.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When it is not there, or is not what was published.
    """
    link = file.link
    if link.view == WITHOUT_RAW:
        return views.open(file.snapshot, link.table, link.book, file.columns)
    path = file.snapshot.file(link.table, link.book)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise SnapshotCorrupt(f"{link.path} is missing; verify the snapshot") from error
    facts = read_facts(views, file)
    if os.fstat(descriptor).st_size != facts.size:
        os.close(descriptor)
        raise SnapshotCorrupt(f"{link.path} is not what its manifest says; verify the snapshot")
    return facts, descriptor


def row(views: TableViews, file: TableFile) -> Mapping[str, Any]:
    """Return a file as the list shows it."""
    facts, entry = read_facts(views, file), file.snapshot.entry(file.link.table, file.link.book)
    return {
        "table": file.link.table,
        "book": file.link.book,
        "rows": facts.rows,
        "size_bytes": facts.size,
        "sha256": facts.sha256,
        "from": entry.first,
        "to": entry.last,
        "columns": [
            {"name": x.name, "type": x.type.value, "unit": x.unit.value, "meaning": x.meaning}
            for x in file.columns
        ],
    }
