"""The files of a snapshot, written while the next dataset is derived."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import polars as pl

from datasets.manifest import FileEntry
from datasets.publication.publish import Publication
from pipeline.snapshot_builder.ledgers import Books
from pipeline.snapshot_builder.write import write_document, write_parts, write_table
from schemas.tables import PUBLISHED_TABLES


class SnapshotWriter:
    """Writes files on threads while the next dataset is being derived: Parquet encoding releases the interpreter.

    Attributes
    ----------
    files
        What was written, in the order of the calls; complete after :meth:`finish`.
    columns
        Dataset -> published columns that are present, in declared order.
    """

    def __init__(self, publication: Publication) -> None:
        self._publication = publication
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="write")
        self._written: list[Any] = []
        self.files: list[FileEntry] = []
        self.columns: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def table(self, dataset: str, rows: pl.DataFrame) -> None:
        """Begin to write a dataset that is one file."""
        self._declare(dataset, rows.columns)
        self._written.append(self._pool.submit(write_table, self._publication, dataset, rows))

    def by_book(self, dataset: str, parts: Books) -> None:
        """Begin to write a dataset that is a file a book."""
        present = next(iter(parts.values())).columns if parts else ()
        self._declare(dataset, ["book", *present])
        for book, rows in parts.items():
            self._written.append(self._pool.submit(write_table, self._publication, dataset, rows, book))

    def parts(self, dataset: str, rows: Iterable[pl.DataFrame], book: str | None = None) -> None:
        """Write a file whose rows come in parts: while one is written the next is derived."""
        waiting: queue.Queue[pl.DataFrame | None] = queue.Queue(maxsize=1)
        writing = self._pool.submit(write_parts, self._publication, dataset, _taken(waiting), book)
        self._written.append(writing)
        for part in rows:
            self._declare(dataset, part.columns if book is None else ["book", *part.columns])
            if not _handed(waiting, part, writing):
                break
        _handed(waiting, None, writing)
        writing.result()

    def document(self, relative: str, dataset: str, data: bytes) -> None:
        """Write a JSON document."""
        self.files.append(write_document(self._publication, relative, dataset, data))

    def finish(self) -> None:
        """Wait until every file is written, or raise what prevented one."""
        self.files = [future.result() for future in self._written] + self.files

    def _declare(self, dataset: str, present: Iterable[str]) -> None:
        names = set(present)
        self.columns[dataset] = tuple(
            column.name for column in PUBLISHED_TABLES[dataset].published_columns if column.name in names
        )


def _taken(waiting: queue.Queue[pl.DataFrame | None]) -> Iterator[pl.DataFrame]:
    while (part := waiting.get()) is not None:
        yield part


def _handed(
    waiting: queue.Queue[pl.DataFrame | None], part: pl.DataFrame | None, writing: Future[FileEntry]
) -> bool:
    """Hand a part over, or tell that nobody takes it any more, because writing failed."""
    while not writing.done():
        try:
            waiting.put(part, timeout=0.5)
        except queue.Full:
            continue
        return True
    return False
