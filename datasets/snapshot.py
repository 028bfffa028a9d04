"""An immutable snapshot, opened for reading."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import polars as pl

from datasets.disk import raise_disk_error
from datasets.figures.series import Window
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from datasets.figures.withheld import withheld_payload
from datasets.layout import MANIFEST, figures_path, snapshot_path
from datasets.manifest import FileEntry, Manifest
from datasets.pointer import Pointer
from datasets.storage import Storage
from schemas.errors import (
    KindNotPublished,
    SettingsError,
    SnapshotCorrupt,
    SnapshotUnreadable,
    StorageUnavailable,
)
from schemas.metrics.families import FAMILIES, WHOLE_RUN
from schemas.metrics.statistic import LEDGER
from schemas.tables import PUBLISHED_TABLES

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.dataset as pads

# Polars imports NumPy lazily, which is not safe in two threads at once.
pl.Series(np.zeros(1))


class Snapshot:
    """The published data of one build of an alpha.

    Files are read on first use. They never change, so an opened snapshot stays valid and
    consistent while newer ones are published.

    Parameters
    ----------
    storage
        The datasets root.
    pointer
        Pointer to the snapshot.
    """

    def __init__(self, storage: Storage, pointer: Pointer) -> None:
        self.pointer = pointer
        self._storage = storage
        self.alpha_id: Final = pointer.alpha_id
        """The alpha's address."""
        self.id: Final = pointer.snapshot
        """The snapshot's id, a digest of its inputs."""
        self.key: Final = pointer.key
        """Identifies the snapshot among all alphas."""
        self.published_at: Final = pointer.first_published_at
        """First publication, ISO-8601 UTC; a rollback to it does not change it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.alpha_id!r}, snapshot={self.pointer.snapshot!r})"

    @cached_property
    def _folder(self) -> str:
        return snapshot_path(self.pointer.alpha_id, self.pointer.snapshot)

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest.

        Raises
        ------
        SnapshotCorrupt
            When the file is missing, or its digest differs from the pointer's.
        """
        path = f"{self._folder}/{MANIFEST}"
        with self.named_in_errors():
            return Manifest.decode(self._document(path, self.pointer.manifest_sha256), path)

    def with_pointer(self, pointer: Pointer) -> Snapshot:
        """Return the same snapshot with another pointer, without reading its manifest again."""
        snapshot = Snapshot(self._storage, pointer)
        if self.opened:
            snapshot.__dict__["manifest"] = self.manifest
        return snapshot

    @property
    def opened(self) -> bool:
        """Whether the manifest has been read."""
        return "manifest" in self.__dict__

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name this snapshot in the errors of reading it, because an answer may read several."""
        try:
            yield
        except (SnapshotCorrupt, StorageUnavailable) as error:
            error.snapshot_key = self.key
            raise

    @contextmanager
    def decoding(self, path: str) -> Iterator[None]:
        """Translate the errors of Arrow for one of its files, whose digest is intact, and name this snapshot in them.

        Raises
        ------
        SnapshotUnreadable, DiskUnavailable
            In place of an ArrowException or OSError.
        """
        import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second to import

        with self.named_in_errors():
            try:
                yield
            except (OSError, pa.ArrowException) as error:
                if isinstance(error, OSError):
                    raise_disk_error(path, error)
                raise SnapshotUnreadable(f"a published file cannot be read: {error}") from error

    def _document(self, path: str, sha256: str) -> bytes:
        with self.named_in_errors():
            try:
                return self._storage.intact_document(path, sha256)
            except FileNotFoundError as error:
                raise SnapshotCorrupt(f"{path} is missing; build the seal again or roll back") from error

    @cached_property
    def _entries(self) -> Mapping[tuple[str, str | None], FileEntry]:
        return {(entry.dataset, entry.book): entry for entry in self.manifest.files}

    def datasets(self) -> tuple[str, ...]:
        """Return the datasets present, in declared order."""
        return tuple(name for name in PUBLISHED_TABLES if name in self.manifest.columns)

    def has(self, dataset: str, book: str | None = None) -> bool:
        """Whether the dataset, or one of its books, was published."""
        _require_names(dataset=dataset, book=book)
        if book is None:
            return dataset in self.manifest.columns
        return (dataset, book) in self._entries

    def has_rows(self, dataset: str, book: str | None = None) -> bool:
        """Whether the dataset, or one of its books, has rows."""
        return self.n_rows(dataset, book) > 0

    def n_rows(self, dataset: str, book: str | None = None) -> int:
        """Return the number of published rows; 0 for an absent dataset or book."""
        _require_names(dataset=dataset, book=book)
        entry = self._entries.get((dataset, book))
        return 0 if entry is None else entry.rows

    def books(self, dataset: str) -> tuple[str, ...]:
        """Return the books of a partitioned dataset in canonical order; empty for other datasets."""
        return tuple(entry.book for entry in self.manifest.files if entry.dataset == dataset and entry.book)

    def columns(self, dataset: str) -> tuple[str, ...]:
        """Return the published columns of a dataset in declared order; empty for an absent dataset."""
        _require_names(dataset=dataset)
        return tuple(self.manifest.columns.get(dataset, ()))

    def entry(self, dataset: str, book: str | None = None) -> FileEntry:
        """Return the manifest's entry of one file.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the file.
        SettingsError
            When `dataset` or `book` is not one name.
        """
        _require_names(dataset=dataset, book=book)
        try:
            return self._entries[dataset, book]
        except KeyError:
            described = dataset if book is None else f"{dataset} of book {book}"
            if books := self.books(dataset):
                available = f"it is stored by book: name one of {', '.join(books)}"
            elif (dataset, None) in self._entries:
                available = "it is not stored by book: name none"
            elif self.has(dataset):
                available = "the table is empty"
            else:
                available = f"it holds {', '.join(self.datasets()) or 'no tables'}"
            raise KindNotPublished(f"{self.alpha_id} has no {described}; {available}") from None

    def file(self, dataset: str, book: str | None = None) -> str:
        """Return the local path of one file, for DuckDB, Polars and Arrow.

        Returns
        -------
        str
            For a remote root, the path of the cached copy, which stays there for at least
            :data:`datasets.storage.cache.IN_USE_SECONDS`.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the file.
        SnapshotCorrupt
            When the file is missing, or differs from the manifest. A local file is compared with its digest when this
            process first opens it, and again after every write.
        StorageUnavailable
            When the cache has no copy and cannot fetch one, or the file cannot be read from disk.
        """
        entry = self.entry(dataset, book)
        with self.named_in_errors():
            return self._storage.intact_file(f"{self._folder}/{entry.path}", entry.bytes, entry.sha256)

    def read(self, dataset: str, columns: Sequence[str], book: str | None = None) -> pl.DataFrame:
        """Read columns of one file, all rows in stored order, in the calling thread.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the file, or the file lacks a column (`book` is not stored in it).
        SettingsError
            When `columns` is not a list.
        SnapshotCorrupt, StorageUnavailable
            As in :meth:`file`, and when the file cannot be decoded.
        """
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            example = columns if isinstance(columns, str) else "date"
            raise SettingsError(f"columns={columns!r}: give a list of columns, such as [{example!r}]")
        import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        path = self.file(dataset, book)
        with self.decoding(path), pa.OSFile(path) as source, pq.ParquetFile(source) as file:
            present = file.schema_arrow.names  # Arrow would leave out a column that the file lacks
            if missing := [name for name in columns if name not in present]:
                raise KindNotPublished(
                    f"{self.alpha_id} has no column {missing[0]!r} in its {dataset}; there are {', '.join(present)}"
                )
            rows = pl.from_arrow(file.read(list(columns), use_threads=False))
        assert isinstance(rows, pl.DataFrame)
        return rows

    def scan(self, dataset: str, book: str | None = None) -> pl.LazyFrame:
        """Open a dataset as a Polars LazyFrame.

        Parameters
        ----------
        dataset : str
            One of :meth:`datasets`.
        book : str or None
            Book to read; None for all books.

        Returns
        -------
        polars.LazyFrame
            The published columns in declared order, rows in the table's order.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the dataset or book.
        SnapshotCorrupt, StorageUnavailable
            As in :meth:`file`.
        """
        if not self.has(dataset, book):
            self.entry(dataset, book)
        table = PUBLISHED_TABLES[dataset]
        columns = list(self.columns(dataset))
        if not table.partition:
            return self._open(dataset, None).select(columns)
        books = self.books(dataset) if book is None else (book,)
        parts = [self._open(dataset, name).with_columns(pl.lit(name).alias("book")) for name in books]
        if not parts:
            return pl.DataFrame(self._empty_table(dataset)).lazy()
        return pl.concat(parts).select(columns)

    def _empty_table(self, dataset: str) -> pa.Table:
        """Return an empty table with the columns of a partitioned dataset that has no files."""
        import pyarrow as pa  # noqa: PLC0415 - slow to load

        from schemas.arrow import arrow_field  # noqa: PLC0415 - as above

        present = self.columns(dataset)
        fields = [arrow_field(x) for x in PUBLISHED_TABLES[dataset].published_columns if x.name in present]
        return pa.schema(fields).empty_table()

    def _open(self, dataset: str, book: str | None) -> pl.LazyFrame:
        return pl.scan_parquet(self.file(dataset, book), hive_partitioning=False, glob=False)

    def relation(
        self, dataset: str, book: str | None = None, *, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Open a dataset as a DuckDB relation, on a given or a new connection.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the dataset or book.
        """
        import duckdb  # noqa: PLC0415 - readers that only want Polars need not load the engine

        connection = duckdb.connect() if connection is None else connection
        return connection.from_arrow(self.scan(dataset, book).collect().to_arrow())

    def arrow(self, dataset: str) -> pads.Dataset:
        """Open a dataset as an Arrow dataset, with units and meanings in the fields' metadata.

        Raises
        ------
        KindNotPublished
            When the snapshot lacks the dataset.
        """
        if not self.has(dataset):
            self.entry(dataset)
        import pyarrow as pa  # noqa: PLC0415 - only Arrow readers need it, and it is slow to load
        import pyarrow.dataset as pads  # noqa: PLC0415 - as above

        table = PUBLISHED_TABLES[dataset]
        if not table.partition:
            return pads.dataset(self.file(dataset), format="parquet")
        paths = [self.file(dataset, book) for book in self.books(dataset)]
        if not paths:
            return pads.dataset(self._empty_table(dataset))
        partitioning = pads.partitioning(flavor="hive", schema=pa.schema([("book", pa.string())]))
        # The folder of the dataset, from which Arrow reads the partition keys.
        base = paths[0].rpartition(f"/{dataset}/")[0] + f"/{dataset}"
        return pads.dataset(paths, format="parquet", partitioning=partitioning, partition_base_dir=base)

    def description(self) -> dict[str, Any] | None:
        """Return the sealed description; None if the run sealed none.

        Raises
        ------
        SnapshotCorrupt
            When the document is missing or damaged.
        """
        return self._parsed("description")

    def figures(self, name: str) -> dict[str, Any] | None:
        """Return figures computed at publication, by book; None if the snapshot has none of this name.

        Raises
        ------
        SnapshotCorrupt
            When the document is missing or damaged.
        """
        return self._parsed(figures_path(name))

    def _parsed(self, dataset: str) -> dict[str, Any] | None:
        entry = self._entries.get((dataset, None))
        if entry is None:
            return None
        document: dict[str, Any] = orjson.loads(self._document(f"{self._folder}/{entry.path}", entry.sha256))
        return document

    def research(self, family: str, book: str | None = None) -> dict[str, Any]:
        """Return a family of research figures, as computed at publication.

        Parameters
        ----------
        family : str
            One of :data:`schemas.metrics.families.FAMILIES`.
        book : str or None
            Name of the book, if the family has one object per book.

        Returns
        -------
        dict
            The declared payload, including raw parts. If the run has no figures, all are withheld with the reason.

        Raises
        ------
        SettingsError
            When there is no such family, or `book` is not one name.
        SnapshotCorrupt
            When the document is missing or damaged.
        """
        _require_names(family=family, book=book)
        if family not in FAMILIES:
            raise SettingsError(f"family={family!r}: there are {', '.join(FAMILIES)}")
        payload = FAMILIES[family].payload
        labels = {} if book is None else {"book": book}
        stored = self.figures(family)
        if stored is None:
            reason = "the snapshot was built before this figure existed; build its seal again"
            return withheld_payload(payload, Unavailable(MISSING_KIND, reason), **labels)
        figures: dict[str, Any] | None = stored.get(book or WHOLE_RUN)
        if figures is not None:
            return figures
        message = f"the run holds no {LEDGER.kind} of this book"
        return withheld_payload(payload, Unavailable(MISSING_KIND, message, LEDGER.kind), **labels)


def _require_names(**names: object) -> None:
    for name, value in names.items():
        if not (value is None or isinstance(value, str)):
            raise SettingsError(f"{name}={value!r}: give one name, as text")


def in_window(window: Window) -> pl.Expr:
    """Return a Polars condition that ``date`` is within a window, both ends included."""
    return pl.col("date").is_between(window.first or dt.date.min, window.last or dt.date.max)
