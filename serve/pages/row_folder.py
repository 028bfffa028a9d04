"""Row tables in a local folder: shared by all serving processes, and kept across restarts.

::

    <folder>/<root>/alphas/alpha_id=<id>/snapshot=<id>/<content key>.rows
    <folder>/lock                                       locked by the process that builds a table

A file is an Arrow IPC file followed by its length and CRC-32. It is renamed into place when it is complete and never changed
afterwards; the least recently used files are evicted. A mapped file stays readable after it is removed.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa
import structlog
from isal import isal_zlib

from datasets.disk import locked, make_private, writing
from datasets.layout import snapshot_path
from serve.cache import SnapshotKey
from serve.pages.row_table import MappedFile, NotTabled, RowsDamaged, RowTable

_log = structlog.get_logger("serve.rows")
_ROWS: Final = ".rows"
_PART: Final = ".part"
_TRAILER: Final = struct.Struct("<QI")
"""Length of the Arrow file before it in bytes, and its CRC-32."""
MAX_SHARE: Final = 0.5
"""Maximum share of the limit for one table, so that other tables fit as well."""
_MIN_FREE_SHARE: Final = 0.05
"""Share of the disk that is left free for other programs."""


class RowFolder:
    """Row tables on disk, bounded in bytes. Safe to share between threads and processes.

    Parameters
    ----------
    folder
        Created, private to this user, if it is missing; it must not contain other files.
    limit
        Maximum bytes of all files.
    identity
        Identity of the datasets root.

    Raises
    ------
    OSError
        When the folder cannot be used, or may be used by others.
    """

    def __init__(self, folder: Path, limit: int, identity: str) -> None:
        self.limit: Final = limit
        self._folder = make_private(folder)
        self._root = self._folder / identity
        self._root.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=self._root):
            pass
        self.hits = self.misses = 0
        """Tables that this process opened, and tables that it built."""
        self.evictions = 0
        """Files that this process evicted."""
        self.bytes = 0
        """Bytes of all files, of all processes, at the last check."""
        self._make_room(0)

    def open(self, owner: SnapshotKey, digest: str) -> RowTable | None:
        """Open a table; None if there is no intact file. A damaged file is removed."""
        path = self._path(owner, digest)
        with contextlib.suppress(OSError):
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            try:
                table = _map(MappedFile(path, status.st_ino, status.st_size))
            except (RowsDamaged, pa.ArrowException, struct.error) as error:
                _log.warning("rendered_rows_damaged", alpha=owner[0], path=str(path), reason=str(error))
                path.unlink()
                return None
            with contextlib.suppress(OSError):  # the disk may have turned read-only, and evicts nothing then
                os.utime(path, (time.time(), status.st_mtime))
            self.hits += 1
            return table
        return None

    def write(
        self,
        owner: SnapshotKey,
        digest: str,
        size: int,
        make: Callable[[Callable[[], BinaryIO]], pa.RecordBatch],
    ) -> None:
        """Build a table and write it, unless its file exists.

        Parameters
        ----------
        size
            Estimated bytes of the table.
        make
            Builds the batch; its argument opens temporary files for the columns.

        Raises
        ------
        BlockingIOError
            While another process builds a table.
        DiskUnavailable
            If the disk is full; the partial file is removed.
        NotTabled
            When the table is larger than its share of the limit.
        """
        path = self._path(owner, digest)
        with writing(path), self._only_writer():
            if path.exists():
                return
            self._make_room(size)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = path.with_suffix(_PART)
            try:
                with contextlib.ExitStack() as spools:
                    batch = make(
                        lambda: cast(BinaryIO, spools.enter_context(tempfile.TemporaryFile(dir=path.parent)))
                    )
                    _write(part, batch)
                    del batch
                written = part.stat().st_size
                if written > self.limit * MAX_SHARE:
                    raise NotTabled("it would take too much of the folder")
                self._make_room(written)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            self.misses += 1
            self.bytes += written

    def drop_unserved(self, is_served: Callable[[SnapshotKey], bool]) -> None:
        """Remove the files of every snapshot that is no longer served."""
        pattern = "alphas/alpha_id=*/snapshot=*"
        names = glob.iglob(pattern, root_dir=self._root)  # noqa: PTH207 - it skips folders that another process removes meanwhile
        for snapshot in map(self._root.joinpath, names):
            owner = snapshot.parent.name.partition("=")[2], snapshot.name.partition("=")[2]
            if not is_served(owner):
                shutil.rmtree(snapshot, ignore_errors=True)
                with contextlib.suppress(OSError):  # other snapshots of the alpha
                    snapshot.parent.rmdir()

    def _path(self, owner: SnapshotKey, digest: str) -> Path:
        return self._root / snapshot_path(*owner) / f"{digest}{_ROWS}"

    @contextlib.contextmanager
    def _only_writer(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._folder / "lock", wait=False):
            for part in self._files_ending_in(_PART):  # its writer has died
                part.unlink(missing_ok=True)
            yield

    def _make_room(self, size: int) -> None:
        """Evict the least recently used files until `size` bytes fit.

        Raises
        ------
        OSError
            When too little of the disk would stay free.
        """
        files = sorted(self._tables_by_use())
        self.bytes = sum(size for _, size, _ in files)
        for _, freed, path in files:
            if self.bytes + size <= self.limit:
                break
            path.unlink(missing_ok=True)
            self.bytes -= freed
            self.evictions += 1
        disk = shutil.disk_usage(self._folder)
        if size and disk.free - size < disk.total * _MIN_FREE_SHARE:
            raise OSError(errno.ENOSPC, "hardly any space would be left on the disk")

    def _tables_by_use(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the last use, the bytes and the path of every table, of any root and format."""
        for path in self._files_ending_in(_ROWS):
            with contextlib.suppress(OSError):
                status = path.lstat()
                yield status.st_atime, status.st_size, path

    def _files_ending_in(self, suffix: str) -> Iterator[Path]:
        """Yield the files of any root with a suffix, without folders that another process removes meanwhile."""
        for folder, _, names in os.walk(self._folder):  # `Path.rglob` fails on such a folder in Python 3.11
            yield from (Path(folder, name) for name in names if name.endswith(suffix))


def open_folder(folder: Path, limit: int, identity: str) -> RowFolder | None:
    """Open a folder of row tables; if it cannot be used, log a warning and return None."""
    try:
        return RowFolder(folder, limit, identity)
    except OSError as error:
        reason = error.strerror or str(error)
        _log.warning("rendered_rows_in_memory", folder=str(folder), reason=reason)
        return None


def _write(path: Path, batch: pa.RecordBatch) -> None:
    path.touch(mode=0o600, exist_ok=False)
    with path.open("wb") as file:
        with pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        with pa.memory_map(str(path)) as written:
            content = written.read_buffer()
        file.write(_TRAILER.pack(content.size, isal_zlib.crc32(content)))


def _map(mapped: MappedFile) -> RowTable:
    """Map a file.

    Raises
    ------
    RowsDamaged
        When the file differs from what was written.
    """
    with pa.memory_map(str(mapped.path)) as file:
        content = file.read_buffer()  # the mapping needs no open file and ends with its last user
    if content.size != mapped.size or content.size < _TRAILER.size:
        raise RowsDamaged("its end is missing")
    arrow = content.slice(0, content.size - _TRAILER.size)
    length, digest = _TRAILER.unpack(content.slice(arrow.size))
    if length != arrow.size or digest != isal_zlib.crc32(arrow):
        raise RowsDamaged("its bytes are not those that were written")
    return RowTable(pa.ipc.open_file(pa.BufferReader(arrow)).get_batch(0), mapped)
