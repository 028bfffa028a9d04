"""Read-through cache of a remote root's immutable files.

::

    <folder>/<root>/alphas/alpha_id=<id>/snapshot=<id>/…      copies, under the paths they have in the root
    <folder>/.filling/…                                       unfinished copies, named by the digest of their path
    <folder>/.locks/…                                         locks: one writer per copy, and no eviction during use

A copy is renamed to its final path once it is complete, verified and flushed, so a process may be killed at any moment. The
least recently used copy, by access time, is evicted first. Several processes may share a folder. Each counts its own copies
and measures the folder once a minute, so together they may exceed the limit by a minute's copies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from datasets.disk import locked, writing
from datasets.layout import SAVED_CATALOGUE
from datasets.storage.file_digests import DIGESTS
from schemas.errors import DiskUnavailable, SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.settings import SETTINGS

DEFAULT_BYTES: Final[int] = SETTINGS["cache_bytes"].default
IN_USE_SECONDS: Final = 30.0
"""Minimum seconds that a copy stays after its last use, so that the reader can open the returned path."""
_FRESH_SECONDS: Final = 2.0
"""Minimum seconds between two updates of a copy's access time."""
_SCAN_SECONDS: Final = 60.0
"""Seconds between two measurements of the folder's size while copies are added."""
_TARGET_SHARE: Final = 0.9
"""Share of the limit to which an eviction shrinks the cache, so that not every new copy evicts another."""
_REFUSAL_SECONDS: Final = 10.0
"""Seconds after a failed write during which the cache reports a full disk, unless a later write succeeds."""
_STRIPES: Final = 256
_TRANSFERS: Final = 2
"""Downloads of a file before it counts as damaged, because a single transfer may be corrupted."""


class Source(Protocol):
    """Source of the copies: a root on a remote store."""

    identity: str

    def url(self, relative: str) -> str:
        """Return the address of a file, for messages."""

    def read(self, relative: str) -> bytes:
        """Return the bytes of a small document."""

    def download(self, relative: str, target: Path, size: int) -> None:
        """Download a file of a given size to a local path."""


class Cache:
    """A folder of copies with a size limit in bytes. Safe for threads and processes.

    Parameters
    ----------
    folder
        Folder of the copies; created if missing. It must not contain other files.
    max_bytes
        Maximum size of all copies. A copy used within the last :data:`IN_USE_SECONDS` is never evicted, because its reader
        may be about to open it.

    Raises
    ------
    SettingsError
        When the folder cannot be used, or `max_bytes` is not above 0.

    Attributes
    ----------
    counts
        Counters of this process: ``hits`` and ``misses`` of reads, ``fetched_bytes``, ``evictions`` and ``evicted_bytes``.
    used
        Bytes cached or reserved, as known to this process.
    """

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int) -> None:
        if max_bytes <= 0:
            raise SettingsError(f"a cache of {max_bytes} bytes holds no file; give it a bound above 0")
        self.folder = Path(folder).absolute()
        self.max_bytes = max_bytes
        self.counts: Counter[str] = Counter()
        self._count_lock = threading.Lock()
        self.used = self._reserved = 0
        self._refused_at = self._scanned = float("-inf")
        self._locks, self._drafts = self.folder / ".locks", self.folder / ".filling"
        self._space_lock = threading.Lock()
        try:
            self._locks.mkdir(parents=True, exist_ok=True)
            self._drafts.mkdir(exist_ok=True)
            # Created now, because an eviction on a disk without free inodes must not need a new file.
            (self._locks / "use").touch()
            self._make_room(0)
        except OSError as error:
            raise SettingsError(f"the cache folder {self.folder} cannot be used: {error.strerror}") from error

    @property
    def refuses(self) -> bool:
        """Whether the disk has recently refused a copy."""
        return time.monotonic() - self._refused_at < _REFUSAL_SECONDS

    def file(self, storage: Source, relative: str, size: int, sha256: str) -> str:
        """Return the local path of a file's copy, downloading it if it is missing or damaged.

        A copy is compared with its digest when this process first opens it, and again after every write.

        Parameters
        ----------
        storage, relative
            Root and path of the file.
        size, sha256
            Size and digest in the manifest.

        Raises
        ------
        SnapshotCorrupt
            When the file is missing from the root, or differs from the manifest.
        StorageUnavailable
            When there is no copy and the store does not answer, or the local disk is full or read-only.
        """
        path = self._path(storage, relative)
        if self._usable(path, size, sha256):
            self._count(hits=1)
        else:
            self._count(misses=1)
            with self._exclusive_draft(path, size) as draft:
                if not self._usable(path, size, sha256):  # another thread may have downloaded it meanwhile
                    path.unlink(missing_ok=True)
                    self._download(storage, relative, draft, size, sha256)
                    self._commit(draft, path)
        return str(path)

    def read(self, storage: Source, relative: str, sha256: str) -> bytes:
        """Return the bytes of a small document, verified on every read.

        Raises
        ------
        FileNotFoundError
            When it is neither in the cache nor in the root.
        SnapshotCorrupt, StorageUnavailable
            As in :meth:`file`.
        """
        path = self._path(storage, relative)
        data = None
        with contextlib.suppress(OSError):  # no copy, or one that this user may not read
            data = path.read_bytes()
        if data is not None and hashlib.sha256(data).hexdigest() == sha256:
            self._count(hits=1)
            self._use(path)
            return data
        self._count(misses=1)
        for _ in range(_TRANSFERS):
            data = storage.read(relative)
            if hashlib.sha256(data).hexdigest() == sha256:
                break
        else:
            raise SnapshotCorrupt(f"{relative} is not what its pointer or manifest names (SHA-256 differs)")
        # Return the bytes even if the disk is full.
        with contextlib.suppress(StorageUnavailable), self._exclusive_draft(path, len(data)) as draft:
            draft.write_bytes(data)
            self._commit(draft, path)
        return data

    def _count(self, **amounts: int) -> None:
        with self._count_lock:
            self.counts.update(amounts)

    def _path(self, storage: Source, relative: str) -> Path:
        storage.url(relative)  # refuses a path that leaves the root, and so the folder
        return self.folder / storage.identity / relative

    def _usable(self, path: Path, size: int, sha256: str) -> bool:
        """Whether an intact copy exists; marks it as used, so that it is not evicted for :data:`IN_USE_SECONDS`."""
        self._use(path)
        try:
            return DIGESTS.intact(path, size, sha256)
        except FileNotFoundError:
            return False

    def _use(self, path: Path) -> None:
        """Mark a copy as used."""
        # Under the eviction lock, either the eviction sees the use, or the caller sees the removal. On a disk that became
        # read-only, and in a folder that this user may not open, nothing is evicted or marked.
        with contextlib.suppress(OSError):
            if not _recently_used(path, _FRESH_SECONDS):
                with locked(self._locks / "use"):
                    _mark_used(path)

    @contextlib.contextmanager
    def _exclusive_draft(self, path: Path, size: int) -> Iterator[Path]:
        """Reserve space for a copy, exclude other writers, and yield the path to write to."""
        name = hashlib.sha256(os.fsencode(path)).hexdigest()
        draft = self._drafts / name
        try:
            with writing(path), locked(self._locks / f"{int(name[:8], 16) % _STRIPES:02x}"):
                self._make_room(size)
                try:
                    yield draft
                finally:
                    self._release(size, is_cached=path.exists())
                    draft.unlink(missing_ok=True)
        except DiskUnavailable:
            self._refused_at = time.monotonic()
            raise

    def _download(self, storage: Source, relative: str, draft: Path, size: int, sha256: str) -> None:
        """Download and verify a file."""
        for _ in range(_TRANSFERS):
            try:
                storage.download(relative, draft, size)
            except FileNotFoundError as error:
                raise SnapshotCorrupt(f"{storage.url(relative)} is missing; verify the snapshot") from error
            # Digests are cached by inode and time, so the renamed copy need not be read again.
            if DIGESTS.intact(draft, size, sha256):
                return
            DIGESTS.forget(draft)
        raise SnapshotCorrupt(
            f"{storage.url(relative)} is not what its manifest says (SHA-256 differs); verify the snapshot"
        )

    def _commit(self, draft: Path, path: Path) -> None:
        self._count(fetched_bytes=draft.stat().st_size)
        # Flush before renaming: after a power cut, an incomplete copy could have the final name and the right size.
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        _mark_used(draft)
        while draft.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # an eviction has just removed the empty folder
                draft.replace(path)
        self._refused_at = float("-inf")

    def _make_room(self, size: int) -> None:
        """Reserve bytes for a copy, evicting the least recently used ones if necessary."""
        with self._space_lock:
            if self.used + size > self.max_bytes or time.monotonic() - self._scanned > _SCAN_SECONDS:
                # Copies in progress are reserved but not yet measured.
                self.used = self._reserved + self._evict(self.max_bytes - self._reserved - size)
                self._scanned = time.monotonic()
            self.used += size
            self._reserved += size

    def _release(self, size: int, *, is_cached: bool) -> None:
        """End a reservation; its bytes count as used if the copy exists."""
        with self._space_lock:
            self._reserved -= size
            if not is_cached:
                self.used -= size

    def _evict(self, limit: int) -> int:
        """Evict copies until the rest fits a limit; return the remaining bytes."""
        for draft in self._drafts.iterdir():
            if not _recently_used(draft, IN_USE_SECONDS):  # its writer is dead
                draft.unlink(missing_ok=True)
        copies = self._copies()
        used = sum(size for _, size, _ in copies)
        if used <= limit:
            return used
        # The saved catalogue is evicted last: its use is not recorded, and a restart needs it if the store is unavailable.
        for _, size, path in sorted(copies, key=lambda copy: (copy[2].name == SAVED_CATALOGUE, copy)):
            if used <= limit * _TARGET_SHARE:
                break
            with locked(self._locks / "use"):
                if _recently_used(path, IN_USE_SECONDS):
                    continue
                path.unlink(missing_ok=True)
            used -= size
            self._count(evictions=1, evicted_bytes=size)
            with contextlib.suppress(OSError):  # not empty yet
                for parent in path.relative_to(self.folder).parents[:-1]:
                    (self.folder / parent).rmdir()
        return used

    def _copies(self) -> list[tuple[float, int, Path]]:
        copies = []
        for parent, folders, names in os.walk(self.folder):
            if parent == str(self.folder):
                folders[:] = [name for name in folders if not name.startswith(".")]
                continue
            for name in names:
                path = Path(parent, name)
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    copies.append((status.st_atime, status.st_size, path))
        return copies


def _mark_used(path: Path) -> None:
    """Record the use of a copy in its access time; the modification time records writes."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _recently_used(path: Path, seconds: float) -> bool:
    """Whether a copy was recently used or written; times far in the future, after a clock was set back, are ignored."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    now = time.time()
    return abs(now - status.st_atime) < seconds or abs(now - status.st_mtime) < seconds
