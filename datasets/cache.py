"""Read-through cache of a remote root's immutable files.

::

    <folder>/<root>/alphas/alpha_id=<id>/snapshot=<id>/…      copies, under the paths they have in the root
    <folder>/.filling/…                                       copies being made, named by the digest of their path
    <folder>/.locks/…                                         one writer at a time for each copy; use against eviction

A copy gets its name when it is complete, digested and flushed, so a process may be killed at any moment. The least recently
used copy, by access time, is evicted first. Several processes may share a folder. Each counts its own
copies and measures the folder once a minute, so together they may exceed the bound by a minute's copies.
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
from datasets.file_digests import DIGESTS
from datasets.layout import SAVED_CATALOGUE
from schemas.errors import DiskUnavailable, SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.settings import SETTINGS

DEFAULT_BYTES: Final[int] = SETTINGS["cache_bytes"].default
IN_USE_SECONDS: Final = 30.0
"""Seconds that a copy stays after its last use, in which a reader opens the returned path."""
_FRESH_SECONDS: Final = 2.0
"""Seconds between two records of a copy's use."""
_SCAN_SECONDS: Final = 60.0
"""Seconds between two measurements of the folder's size while copies are made."""
_TARGET_SHARE: Final = 0.9
"""Share of the bound to which an eviction reduces the cache, so that not every new copy evicts."""
_REFUSAL_SECONDS: Final = 10.0
"""Seconds that a cache counts as refusing copies after a failed write without a later success."""
_STRIPES: Final = 256
_TRANSFERS: Final = 2
"""Times that a file is read from the root before it counts as damaged: one transfer may be corrupt by itself."""


class Source(Protocol):
    """Source of copies: a root on a remote store."""

    identity: str

    def url(self, relative: str) -> str:
        """Return the address of a file, for messages."""

    def read(self, relative: str) -> bytes:
        """Return the bytes of a small document."""

    def download(self, relative: str, target: Path, size: int) -> None:
        """Copy a file of a given size to a local path."""


class Cache:
    """A folder of copies, bounded in bytes. Safe for threads and processes.

    Parameters
    ----------
    folder
        Folder of the copies; created if missing. It must have no other files.
    max_bytes
        Maximum size of the copies. Those handed out within the last :data:`IN_USE_SECONDS` are never evicted, because
        readers are about to open them.

    Raises
    ------
    SettingsError
        When the folder cannot be used, or the bound is not above 0.

    Attributes
    ----------
    counts
        Of this process: ``hits`` and ``misses`` of reads, ``fetched_bytes`` of copies made, ``evictions`` and
        ``evicted_bytes``.
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
        self._refused_at = float("-inf")
        self._locks, self._drafts = self.folder / ".locks", self.folder / ".filling"
        self._counting = threading.Lock()
        try:
            self._locks.mkdir(parents=True, exist_ok=True)
            self._drafts.mkdir(exist_ok=True)
            # Created ahead, because an eviction on a disk without free inodes must not need a new file.
            (self._locks / "use").touch()
            self._make_room(0)
        except OSError as error:
            raise SettingsError(f"the cache folder {self.folder} cannot be used: {error.strerror}") from error

    @property
    def refuses(self) -> bool:
        """Whether the disk has just refused a copy."""
        return time.monotonic() - self._refused_at < _REFUSAL_SECONDS

    def file(self, storage: Source, relative: str, size: int, sha256: str) -> str:
        """Return the local path of a file's copy, copying it if it is missing or damaged.

        A copy is compared with its digest when this process first opens it, and whenever it was written since.

        Parameters
        ----------
        storage, relative
            Where the file is.
        size, sha256
            Its entry in the manifest.

        Raises
        ------
        SnapshotCorrupt
            When the root's file is missing, or differs from the manifest.
        StorageUnavailable
            When the file is not here and the store does not answer, or this machine's disk takes no more.
        """
        path = self._path(storage, relative)
        if self._usable(path, size, sha256):
            self._count(hits=1)
        else:
            self._count(misses=1)
            with self._exclusive_draft(path, size) as draft:
                if not self._usable(path, size, sha256):  # another thread may have made the copy meanwhile
                    path.unlink(missing_ok=True)
                    self._download(storage, relative, draft, size, sha256)
                    self._commit(draft, path)
        return str(path)

    def read(self, storage: Source, relative: str, sha256: str) -> bytes:
        """Return the bytes of a small document, whose digest is checked every time.

        Raises
        ------
        FileNotFoundError
            When it is neither here nor in the root.
        SnapshotCorrupt, StorageUnavailable
            As :meth:`file`.
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
        # A full disk is no reason to withhold the bytes.
        with contextlib.suppress(StorageUnavailable), self._exclusive_draft(path, len(data)) as draft:
            draft.write_bytes(data)
            self._commit(draft, path)
        return data

    def _count(self, **amounts: int) -> None:
        with self._count_lock:
            self.counts.update(amounts)

    def _path(self, storage: Source, relative: str) -> Path:
        return self.folder / storage.identity / relative

    def _usable(self, path: Path, size: int, sha256: str) -> bool:
        """Whether there is an intact copy; it is then not evicted for :data:`IN_USE_SECONDS`."""
        self._use(path)
        try:
            return DIGESTS.intact(path, size, sha256)
        except FileNotFoundError:
            return False

    def _use(self, path: Path) -> None:
        """Mark a copy as used."""
        # The lock of evictions: either the eviction sees the copy in use, or the caller sees it removed. A disk that
        # turned read-only has neither, nor has a folder that this user may not open.
        with contextlib.suppress(OSError):
            if not _recently_used(path, _FRESH_SECONDS):
                with locked(self._locks / "use"):
                    _mark_used(path)

    @contextlib.contextmanager
    def _exclusive_draft(self, path: Path, size: int) -> Iterator[Path]:
        """Reserve room for a copy, exclude other writers, and yield the path to write it to."""
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
        """Copy and verify a file."""
        for _ in range(_TRANSFERS):
            try:
                storage.download(relative, draft, size)
            except FileNotFoundError as error:
                raise SnapshotCorrupt(f"{storage.url(relative)} is missing; verify the snapshot") from error
            # The digest is remembered by inode and time, so the renamed copy need not be read again.
            if DIGESTS.intact(draft, size, sha256):
                return
            DIGESTS.forget(draft)
        raise SnapshotCorrupt(
            f"{storage.url(relative)} is not what its manifest says (SHA-256 differs); verify the snapshot"
        )

    def _commit(self, draft: Path, path: Path) -> None:
        self._count(fetched_bytes=draft.stat().st_size)
        # Flushed before it is renamed: after a power cut a copy of the right size would pass for a complete one.
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        _mark_used(draft)
        while draft.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # the folder was empty and has just been removed
                draft.replace(path)
        self._refused_at = float("-inf")

    def _make_room(self, size: int) -> None:
        """Reserve bytes for a copy, evicting the least recently used ones if necessary."""
        with self._counting:
            if self.used + size > self.max_bytes or time.monotonic() - self._scanned > _SCAN_SECONDS:
                # Copies that are being made are not in the folder yet.
                self.used = self._reserved + self._evicted(self.max_bytes - self._reserved - size)
                self._scanned = time.monotonic()
            self.used += size
            self._reserved += size

    def _release(self, size: int, *, is_cached: bool) -> None:
        """End a reservation, whose bytes stay in use if the copy was made."""
        with self._counting:
            self._reserved -= size
            if not is_cached:
                self.used -= size

    _scanned = float("-inf")

    def _evicted(self, limit: int) -> int:
        """Evict copies until the rest fits within a limit; return the bytes left."""
        for draft in self._drafts.iterdir():
            if not _recently_used(draft, IN_USE_SECONDS):  # its writer is dead
                draft.unlink(missing_ok=True)
        copies = self._copies()
        used = sum(size for _, size, _ in copies)
        if used <= limit:
            return used
        # The catalogue, which a restart needs while the store is unavailable, is never marked as used: it is evicted last.
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
    """Whether a copy was recently used or written; a time far in the future is due to a clock set back and is ignored."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    now = time.time()
    return abs(now - status.st_atime) < seconds or abs(now - status.st_mtime) < seconds
