"""What is left of a published file without its raw columns and rows: made once in this process, as a file without a name.

The disk gives the bytes back when the view is forgotten or the process ends, however it ends; nothing lies about under a
name that somebody else could open.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.snapshot import Snapshot
from datasets.storage.disk import writing
from schemas.arrow import arrow_field
from schemas.downloads import BOOK_ROWS_TABLES
from schemas.errors import SnapshotCorrupt
from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import RAW_PREFIX
from serve.cache import SnapshotKey

OPEN_FILES: Final = 16
"""Views whose bytes are on the disk; each takes a file descriptor."""
DESCRIBED: Final = 10_000
"""Views whose size and digest are remembered after their bytes are gone: the same ones are written again."""
COMPRESSION: Final = "lz4"
"""As of published files."""
_READ: Final = 2**20

_ViewKey = tuple[SnapshotKey, str, str | None]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a caller is told of a file before it is fetched."""

    rows: int
    size: int
    sha256: str


@dataclass(slots=True)
class _Written:
    facts: FileFacts
    file: IO[bytes]


class TableViews:
    """Makes and keeps open the views of this process. Safe between threads.

    The same file gives the same view wherever it is made by the same release of the Parquet library: rows in their order,
    row groups as they are, the declared columns that are visible.
    """

    def __init__(self) -> None:
        self._written: OrderedDict[_ViewKey, _Written] = OrderedDict()
        self._described: OrderedDict[_ViewKey, FileFacts] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def facts(self, snapshot: Snapshot, table: str, book: str | None, columns: Sequence[Column]) -> FileFacts:
        """Return rows, size and digest of a view, which is made where that is not known.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            When the published file cannot be read, or there is no room for what is made of it.
        """
        key = (snapshot.key, table, book)
        with self._lock:
            found = self._described.get(key)
        return found if found is not None else self._made(key, snapshot, columns)[0]

    def open(
        self, snapshot: Snapshot, table: str, book: str | None, columns: Sequence[Column]
    ) -> tuple[FileFacts, int]:
        """Return a view and a descriptor of its own of the file, which the caller closes; errors as of :meth:`facts`."""
        key = (snapshot.key, table, book)
        with self._lock:
            written = self._written.get(key)
            if written is not None:
                self._written.move_to_end(key)
                return written.facts, os.dup(written.file.fileno())
        return self._made(key, snapshot, columns, opened=True)

    def drop_unread(self, is_read: Callable[[SnapshotKey], bool]) -> None:
        """Forget the views of snapshots that nobody reads any more."""
        with self._lock:
            for key in [x for x in self._written if not is_read(x[0])]:
                self._written.pop(key).file.close()
            for key in [x for x in self._described if not is_read(x[0])]:
                del self._described[key]

    def close(self) -> None:
        """Give all bytes back."""
        self.drop_unread(lambda _: False)

    def _made(
        self, key: _ViewKey, snapshot: Snapshot, columns: Sequence[Column], *, opened: bool = False
    ) -> tuple[FileFacts, int]:
        _, table, book = key
        with self._making:  # one at a time: it takes a row group's memory
            with self._lock:
                written = self._written.get(key)
            if written is None:
                written = _write(snapshot.file(table, book), table, columns)
            with self._lock:
                self._written[key] = written
                self._described[key] = written.facts
                descriptor = os.dup(written.file.fileno()) if opened else -1
                while len(self._written) > OPEN_FILES:
                    self._written.popitem(last=False)[1].file.close()
                while len(self._described) > DESCRIBED:
                    self._described.popitem(last=False)
        return written.facts, descriptor


def _write(path: str, table: str, visible: Sequence[Column]) -> _Written:
    """Write some columns of a published file, one row group after the other, and say of them what is declared now."""
    columns = [column.name for column in visible]
    with pq.ParquetFile(path) as source:
        stored = source.schema_arrow
        if not set(columns) <= set(stored.names):
            raise SnapshotCorrupt(f"{path} lacks columns that its manifest names")
        metadata = {"table": table, "meaning": PUBLISHED_TABLES[table].meaning}
        schema = pa.schema(
            [stored.field(x.name).with_metadata(arrow_field(x).metadata) for x in visible], metadata=metadata
        )
        with writing(tempfile.gettempdir()):
            file = cast("IO[bytes]", tempfile.TemporaryFile(prefix="alpha-results-table-"))  # noqa: SIM115 - closed when it is forgotten
            rows = 0
            try:
                with pq.ParquetWriter(file, schema, compression=COMPRESSION) as sink:
                    for group in range(source.num_row_groups):
                        part = source.read_row_group(group, columns=columns)
                        if table in BOOK_ROWS_TABLES:
                            part = part.filter(pc.invert(pc.starts_with(part["book"], RAW_PREFIX)))
                        sink.write_table(part.cast(schema), row_group_size=max(1, part.num_rows))
                        rows += part.num_rows
                file.flush()
                return _Written(FileFacts(rows, file.tell(), _digest(file)), file)
            except BaseException:
                file.close()
                raise


def _digest(file: IO[bytes]) -> str:
    found, at = hashlib.sha256(), 0
    while piece := os.pread(file.fileno(), _READ, at):
        found.update(piece)
        at += len(piece)
    return found.hexdigest()
