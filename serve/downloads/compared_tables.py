"""The published tables of two snapshots compared by digest, as far as a key may have them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from datasets.snapshot import Snapshot
from schemas.downloads import BOOK_ROWS_TABLES
from schemas.tables import PUBLISHED_TABLES
from serve.downloads.tables import TableFile, offered, read_facts
from serve.downloads.views import TableViews

_Files = dict[tuple[str, str | None], TableFile]


def compared_tables(
    views: TableViews, earlier: Snapshot, later: Snapshot, tables: Collection[str], *, raw: bool
) -> Iterator[dict[str, Any]]:
    """Yield what became of each table, or of its part of a book, in declared order.

    Parameters
    ----------
    tables
        Those the key may read.
    raw
        Whether it sees columns and books of the unconditioned signal.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file that the key has only in part is gone or cannot be read.
    """
    before, after = (_files(one, tables, raw=raw) for one in (earlier, later))
    order = list(PUBLISHED_TABLES)
    for table, book in sorted(dict.fromkeys((*after, *before)), key=lambda one: order.index(one[0])):
        was, is_now = before.get((table, book)), after.get((table, book))
        columns_before, columns_after = _columns(was), _columns(is_now)
        yield {
            "dataset": table,
            "book": book,
            "change": _change(views, was, is_now),
            "rows_before": _rows(views, was),
            "rows_after": _rows(views, is_now),
            "columns_added": [name for name in columns_after if name not in columns_before],
            "columns_removed": [name for name in columns_before if name not in columns_after],
        }


def _files(snapshot: Snapshot, tables: Collection[str], *, raw: bool) -> _Files:
    return {(x.link.table, x.link.book): x for x in offered(snapshot, tables, raw=raw)}


def _columns(file: TableFile | None) -> tuple[str, ...]:
    return () if file is None else tuple(column.name for column in file.columns)


def _change(views: TableViews, was: TableFile | None, is_now: TableFile | None) -> str:
    if was is None:
        return "added"
    if is_now is None:
        return "removed"
    if _columns(was) != _columns(is_now):
        return "changed"
    # Of the same published file every key has the same part.
    same = _published_digest(was) == _published_digest(is_now)
    same = same or read_facts(views, was).sha256 == read_facts(views, is_now).sha256
    return "unchanged" if same else "changed"


def _published_digest(file: TableFile) -> str:
    return file.snapshot.entry(file.link.table, file.link.book).sha256


def _rows(views: TableViews, file: TableFile | None) -> int | None:
    if file is None:
        return None
    if file.link.table in BOOK_ROWS_TABLES:
        return read_facts(views, file).rows
    return file.snapshot.entry(file.link.table, file.link.book).rows
