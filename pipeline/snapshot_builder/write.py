"""Writes published Parquet files, tuned for fast reads."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import polars as pl
from polars.io.plugins import register_io_source

from datasets.disk import writing
from datasets.layout import table_path
from datasets.manifest import FileEntry
from datasets.publication.publish import Publication
from pipeline.snapshot_builder.ledgers import Books, Span
from schemas.arrow import stored_schema
from schemas.tables import PUBLISHED_TABLES

COMPRESSION: Final = "lz4"
"""Decompresses several times faster than zstd, with files 10% larger; see decision 7."""
ROW_GROUP_ROWS: Final = 20_000
"""Rows of a group: few enough that a page of one week reads one group, enough that headers do not slow a scan."""
_ROW_GROUPS: Final = 32
"""Maximum number of row groups of a file: a query decodes the statistics of all groups before it reads a row."""
_DISK_ERROR: Final = re.compile(r"\(os error (\d+)\)")
"""Number of a disk error in a message of Polars."""


def _options(dataset: str, columns: list[str], n_rows: int) -> dict[str, Any]:
    """Return the Parquet options of a file."""
    return {
        "compression": COMPRESSION,
        "row_group_size": max(ROW_GROUP_ROWS, math.ceil(n_rows / _ROW_GROUPS)),
        "statistics": True,
        "arrow_schema": stored_schema(PUBLISHED_TABLES[dataset], columns),
    }


class SnapshotWriter:
    """Writes the files of a snapshot.

    Attributes
    ----------
    files
        Entries of the written files, in the order of the calls.
    columns
        Dataset -> published columns that are present, in declared order.
    spans
        Dataset and book -> span of the table.
    """

    def __init__(self, publication: Publication) -> None:
        self._publication = publication
        self.files: list[FileEntry] = []
        self.columns: dict[str, tuple[str, ...]] = {}
        self.spans: dict[tuple[str, str | None], Span] = {}

    def table(self, dataset: str, rows: pl.DataFrame, book: str | None = None) -> None:
        """Write a file; the same rows always give the same bytes.

        Parameters
        ----------
        dataset, book
            Dataset and book of the rows.
        rows
            Stored columns in declared order, rows in the order of the table.
        """
        self._declare(dataset, rows.columns, book)
        buffer = io.BytesIO()
        rows.write_parquet(buffer, **_options(dataset, rows.columns, rows.height))
        entry = self._written(table_path(dataset, book), dataset, buffer.getbuffer())
        span = self.spans[dataset, book] = Span.of(rows)
        first, last = span.ends
        self.files.append(replace(entry, book=book, rows=span.rows, first=first, last=last))

    def by_book(self, dataset: str, parts: Books) -> None:
        """Write a dataset of one file per book."""
        self._declare(dataset, ("book",))
        for book, rows in parts.items():
            self.table(dataset, rows, book)

    def parts(
        self, dataset: str, n_rows: int, parts: Iterator[pl.DataFrame], book: str | None = None
    ) -> None:
        """Write a file of `n_rows` rows from one or more parts, which are derived one after another as they are written.

        Its bytes do not depend on the parts.
        """
        relative = table_path(dataset, book)
        target = self._publication.folder / relative
        first = next(parts)
        self._declare(dataset, first.columns, book)
        span = Span()

        def source(*_: object) -> Iterator[pl.DataFrame]:
            nonlocal span
            for part in itertools.chain([first], parts):
                span += Span.of(part)
                yield part

        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                lazy = register_io_source(source, schema=first.schema)
                lazy.sink_parquet(target, **_options(dataset, first.columns, n_rows))
            except pl.exceptions.ComputeError as error:
                if (disk_error := _DISK_ERROR.search(str(error))) is None:
                    raise
                # Polars reports a full disk as a damaged file.
                raise OSError(int(disk_error[1]), str(error)) from error
            with target.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        assert span.rows == n_rows
        self.spans[dataset, book] = span
        size = target.stat().st_size
        self.files.append(FileEntry(relative, dataset, book, n_rows, size, sha256, *span.ends))

    def document(self, relative: str, dataset: str, data: bytes) -> None:
        """Write a JSON document."""
        self.files.append(self._written(relative, dataset, data))

    def _written(self, relative: str, dataset: str, data: bytes | memoryview) -> FileEntry:
        """Write a file from memory, or link the same bytes of the earlier snapshot; return its entry without rows."""
        # Digested in memory: reading the file back would double the I/O of the build.
        sha256 = hashlib.sha256(data).hexdigest()
        if not self._publication.link_unchanged(relative, sha256):
            target = self._publication.folder / relative
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        return FileEntry(relative, dataset, None, 0, memoryview(data).nbytes, sha256)

    def _declare(self, dataset: str, present: Iterable[str], book: str | None = None) -> None:
        names = {*present} if book is None else {*present, "book"}
        self.columns[dataset] = tuple(
            column.name for column in PUBLISHED_TABLES[dataset].published_columns if column.name in names
        )
