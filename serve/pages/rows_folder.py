"""Rendered tables in a folder of this machine: one copy for all serving processes, and for the next start.

::

    <folder>/v<format>/<root>/alphas/alpha_id=<id>/snapshot=<id>/<digest of what was rendered>.rows
                                                                 <the same>.part     being written, locked by its writer

A file gets its name when it is complete; whoever dies leaves a `.part` that nobody has locked, and the next to come writes it
anew or removes it. What was used longest ago makes room for what is new. A file that is removed while it is read stays
readable until it is closed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

import structlog

from datasets.layout import snapshot_path
from datasets.storage.disk import writing
from serve.pages.rows_file import RowsDamaged
from serve.pages.rows_format import FORMAT, RowsReader, RowsWriter

if TYPE_CHECKING:
    from serve.cache.lru import SnapshotKey

_log = structlog.get_logger("serve.rows")
_OTHER_FORMAT_SECONDS: Final = 3600.0
"""How long files of another format outlast their last use: an upgrade may be under way, or be undone."""
_SWEEP_SECONDS: Final = 600.0
"""Between two looks for what belongs to no snapshot that is read."""
_LIST_SECONDS: Final = 60.0
"""How long the sum of what all processes wrote is relied on, while there is room."""
_TARGET_SHARE: Final = 0.9
"""Share of the bound that is left in use when room is made."""
_MIN_FREE_SHARE: Final = 0.05
"""Share of the disk that is left free for others."""
_ROWS: Final = ".rows"
_PART: Final = ".part"


class FolderCounts(NamedTuple):
    """How a folder did since it was opened, and what it holds as of the last look.

    Attributes
    ----------
    hits, misses
        Tables this process opened, and tables it had to render.
    entries, bytes, limit
        Files of all processes.
    evictions
        Files this process removed to make room.
    """

    hits: int
    misses: int
    entries: int
    bytes: int
    limit: int
    evictions: int


class _File(NamedTuple):
    used: float
    size: int
    path: Path


class RowsFolder:
    """Rendered tables on disk, bounded in bytes. Safe between threads and between processes.

    Parameters
    ----------
    folder
        Made when it is not there, for this user alone. Nothing else may be in it.
    limit
        Bytes of all files.
    identity
        Of the datasets root.

    Raises
    ------
    OSError
        When the folder cannot be used, or may be used by others.
    """

    def __init__(self, folder: Path, limit: int, identity: str) -> None:
        self.limit: Final = limit
        self._all = folder
        self._root = folder / f"v{FORMAT}" / identity
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EPERM, "it is not a folder that this user alone may use", str(folder))
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._root):
            pass
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0
        self._entries = 0
        self.bytes = 0
        """Of all files, as of the last look."""
        self._swept = self._listed = float("-inf")
        self._make_room(0)

    @property
    def counts(self) -> FolderCounts:
        """How it did."""
        return FolderCounts(self._hits, self._misses, self._entries, self.bytes, self.limit, self._evictions)

    def holds_any(self, owner: SnapshotKey) -> bool:
        """Whether any process rendered a table of a snapshot: without one, no table needs to be named to be looked for."""
        return (self._root / snapshot_path(*owner)).is_dir()

    def open(self, owner: SnapshotKey, made_of: str) -> RowsReader | None:
        """Return a table's file; None when there is none. One that is damaged is removed.

        Parameters
        ----------
        owner
            The snapshot.
        made_of
            What was rendered of it.
        """
        path = self._path(owner, made_of)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            os.close(descriptor)
            return None
        try:
            reader = RowsReader(descriptor, status.st_size, made_of)
        except RowsDamaged as error:
            _log.warning("rendered_rows_damaged", alpha=owner[0], path=str(path), reason=str(error))
            self._remove_if_same(path, status)
            return None
        reader.file.used = True
        with self._lock:
            self._hits += 1
        return reader

    def discard(self, owner: SnapshotKey, made_of: str) -> None:
        """Remove a table's file."""
        self._path(owner, made_of).unlink(missing_ok=True)

    @contextlib.contextmanager
    def writer(self, owner: SnapshotKey, made_of: str, size: int) -> Iterator[RowsWriter | None]:
        """Yield what a table is written with, None while another process or thread is at it; name the file at the end.

        Parameters
        ----------
        size
            Bytes it is estimated to take.

        Raises
        ------
        DiskUnavailable
            When the disk takes no more; nothing is left of what was written.
        """
        path = self._path(owner, made_of)
        part = path.with_suffix(_PART)
        with writing(path):
            self._make_room(size)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = _locked_part(part)
            if descriptor is None:
                yield None
                return
            with os.fdopen(descriptor, "r+b") as file:
                if path.exists():
                    part.unlink()
                    yield None
                    return
                try:
                    with RowsWriter(file, lambda: self._spool(path.parent)) as writer:
                        yield writer
                    part.replace(path)
                except BaseException:
                    part.unlink(missing_ok=True)  # while it is locked: it is nobody else's
                    raise
                with self._lock:
                    self._misses += 1
                    self._entries += 1
                    self.bytes += file.seek(0, os.SEEK_END)

    def drop_unread(self, is_read: Callable[[SnapshotKey], bool]) -> None:
        """Remove the files of every snapshot that nobody reads any more; most calls find that done lately."""
        if time.monotonic() - self._swept < _SWEEP_SECONDS:
            return
        self._swept = time.monotonic()
        for snapshot in self._root.glob("alphas/alpha_id=*/snapshot=*"):
            alpha, edition = (x.name.partition("=")[2] for x in (snapshot.parent, snapshot))
            if not is_read((alpha, edition)):
                self._remove_folder(snapshot)

    def drop(self, owner: SnapshotKey) -> None:
        """Remove the files of a snapshot."""
        self._remove_folder(self._root / snapshot_path(*owner))

    def _remove_folder(self, snapshot: Path) -> None:
        shutil.rmtree(snapshot, ignore_errors=True)
        with contextlib.suppress(OSError):  # other snapshots of the alpha
            snapshot.parent.rmdir()

    def _path(self, owner: SnapshotKey, made_of: str) -> Path:
        name = hashlib.sha256(made_of.encode()).hexdigest()[:32]
        return self._root / snapshot_path(*owner) / f"{name}{_ROWS}"

    def _spool(self, folder: Path) -> BinaryIO:
        return cast(BinaryIO, tempfile.TemporaryFile(dir=folder))

    def _remove_if_same(self, path: Path, status: os.stat_result) -> None:
        """Remove a file unless it was replaced meanwhile."""
        with contextlib.suppress(OSError):
            if path.stat().st_ino == status.st_ino:
                path.unlink()

    def _make_room(self, size: int) -> None:
        """Remove what was used longest ago until so many bytes fit, and what the dead left.

        Raises
        ------
        OSError
            When they do not fit all the same: the bound is smaller, or the disk.
        """
        if self.bytes + size <= self.limit and time.monotonic() - self._listed < _LIST_SECONDS:
            self._require_space(size)
            return
        self._listed = time.monotonic()
        files = self._files()
        used = sum(file.size for file in files)
        entries = len(files)
        if used + size > self.limit:
            for file in sorted(files):
                if used + size <= self.limit * _TARGET_SHARE:
                    break
                file.path.unlink(missing_ok=True)
                used, entries = used - file.size, entries - 1
                self._evictions += 1
                with contextlib.suppress(OSError):  # not empty yet
                    for parent in file.path.relative_to(self._all).parents[:-1]:
                        (self._all / parent).rmdir()
        with self._lock:
            self._entries, self.bytes = entries, used
        self._require_space(size)

    def _require_space(self, size: int) -> None:
        if size > self.limit:
            raise OSError(errno.ENOSPC, "the bound is smaller than this table")
        disk = os.statvfs(self._root)
        if (disk.f_bavail * disk.f_frsize) - size < disk.f_blocks * disk.f_frsize * _MIN_FREE_SHARE:
            raise OSError(errno.ENOSPC, "hardly any space would be left on the disk")

    def _files(self) -> list[_File]:
        """List all files but those at work; those of the dead, and old ones of other formats, go."""
        found = []
        now = time.time()
        for parent, _, names in os.walk(self._all):
            for name in names:
                path = Path(parent, name)
                with contextlib.suppress(OSError):
                    if path.suffix == _PART:
                        _remove_if_unlocked(path)
                        continue
                    status = path.stat(follow_symlinks=False)
                    other = not path.is_relative_to(self._root.parent)
                    if other and now - status.st_atime > _OTHER_FORMAT_SECONDS:
                        path.unlink()
                        continue
                    # By its time of use; a file of another format goes before all of this one's.
                    used = 0.0 if other else status.st_atime
                    found.append(_File(used, status.st_size, path))
        return found


def open_folder(folder: Path, limit: int, identity: str) -> RowsFolder | None:
    """Open a folder of rendered tables; None, and a line in the log, when it cannot be used."""
    try:
        return RowsFolder(folder.expanduser().absolute(), limit, identity)
    except (OSError, RuntimeError) as error:  # the latter when there is no home
        reason = getattr(error, "strerror", None) or str(error)
        _log.warning("rendered_rows_in_memory", folder=str(folder), reason=reason)
        return None


def _locked_part(part: Path) -> int | None:
    """Open a file to write, and lock it; None while another has."""
    while True:
        descriptor = os.open(part, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if part.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass  # named or removed between the two
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _remove_if_unlocked(part: Path) -> None:
    descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if part.stat().st_ino == os.fstat(descriptor).st_ino:
            part.unlink()
    finally:
        os.close(descriptor)
