"""Immutable files of a remote root, copied to this machine the first time they are read.

::

    <folder>/<root>/alphas/alpha_id=<id>/snapshot=<id>/…      copies, under the paths they have in the root
    <folder>/.filling/<id>.<bytes>.tmp                        copies being made; their maker holds their lock
    <folder>/.locks/…                                         one copy at a time of one file; use against removal
    <folder>/.usage                                           bytes cached or reserved; its lock guards the bound

Several processes may share a folder, and any of them may be killed at any moment: a copy gets its name when it
is whole, digested and flushed; room is reserved before the copy begins, so that a crash can only overstate what
is used, and whoever finds no room counts again. What was used longest ago makes room for what is new.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Final, Protocol

from datasets.cache.disk import CacheDisk
from datasets.cache.quota import CacheQuota, mark_used
from datasets.disk import locked, writing
from datasets.file_digests import DIGESTS, FileDigests
from schemas.errors import SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.settings import SETTINGS

DEFAULT_BYTES: Final[int] = SETTINGS["cache_bytes"].default
_STRIPES: Final = 256
_TRIES: Final = 2


class Source(Protocol):
    """What copies are made of: a root on a remote store."""

    identity: str

    def require_answering(self, relative: str) -> None:
        """Refuse at once a store that left a request unanswered a moment ago: StorageUnavailable."""

    def url(self, relative: str) -> str:
        """Return the address of a file, for messages."""

    def read(self, relative: str) -> bytes:
        """Return the bytes of a small document."""

    def download(self, relative: str, target: Path, size: int) -> None:
        """Copy a file of a size to a local path."""


class CacheCounts:
    """What a cache did in this process since it was opened. Safe between threads.

    Attributes
    ----------
    hits, misses
        Files that were here, and files that had to be copied.
    fetched_bytes
        Bytes of the copies made.
    evictions, evicted_bytes
        Copies that made room for others, and their bytes.
    """

    def __init__(self) -> None:
        self.hits = self.misses = self.fetched_bytes = self.evictions = self.evicted_bytes = 0
        self._lock = threading.Lock()

    def read(self, *, hit: bool) -> None:
        """Count a file that was asked for."""
        with self._lock:
            self.hits += hit
            self.misses += not hit

    def fetched(self, size: int) -> None:
        """Count the bytes of a copy made."""
        with self._lock:
            self.fetched_bytes += size

    def evicted(self, size: int) -> None:
        """Count a copy that made room."""
        with self._lock:
            self.evictions += 1
            self.evicted_bytes += size


class Cache:
    """A folder of copies, bounded in bytes. Safe between threads and between processes.

    Parameters
    ----------
    folder
        Folder of the copies; made when it is not there. Nothing else may be in it.
    max_bytes
        How much may be cached. Copies handed out within the last :data:`~datasets.cache.quota.IN_USE_SECONDS` are
        never removed, so that what readers are about to open is there; only they can take more.

    Raises
    ------
    SettingsError
        When the folder cannot be used, or the bound is not above 0.
    """

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int) -> None:
        if max_bytes <= 0:
            raise SettingsError(f"a cache of {max_bytes} bytes keeps nothing; give it a bound above 0")
        self.folder = Path(folder).absolute()
        self.max_bytes = max_bytes
        self._locks = self.folder / ".locks"
        self.counts = CacheCounts()
        try:
            self._locks.mkdir(parents=True, exist_ok=True)
            self._room = CacheQuota(self.folder, max_bytes, self.counts.evicted)
            self._disk = CacheDisk(self.folder, self._room.drafts)
        except OSError as error:
            raise SettingsError(f"the cache folder {self.folder} cannot be used: {error.strerror}") from error

    @property
    def used(self) -> int:
        """Bytes cached or reserved, as far as they are on record."""
        return self._room.used

    @property
    def refusal(self) -> str | None:
        """Why the disk takes no more copies; None when it does, as of the last copy or look."""
        return self._disk.refusal

    def look(self) -> None:
        """Find out whether the disk takes copies; it may touch the disk, so it is not for the event loop."""
        self._disk.look()

    def file(self, storage: Source, relative: str, size: int, sha256: str) -> str:
        """Return the local path of a file's copy, which is made when there is none or it is damaged.

        A copy is compared with its digest when this process first opens it, and whenever it was written since.

        Parameters
        ----------
        storage, relative
            Where the file is.
        size, sha256
            What its manifest says of it.

        Raises
        ------
        SnapshotCorrupt
            When the root's file is missing, or is not what the manifest says.
        StorageUnavailable
            When the file is not here and the store does not answer, or this machine's disk takes no more.
        """
        path = self._path(storage, relative)
        here = self._usable(path, size, sha256)
        self.counts.read(hit=here)
        if not here:
            storage.require_answering(relative)
            stripe = f"{int(hashlib.sha256(str(path).encode()).hexdigest()[:8], 16) % _STRIPES:02x}"
            with self._disk.copying(size), writing(path), locked(self._locks / stripe):
                if not self._usable(path, size, sha256):  # another process may have made the copy meanwhile
                    storage.require_answering(relative)  # or found that the store hangs
                    path.unlink(missing_ok=True)
                    self._fill(storage, relative, path, size, sha256)
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
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = None
        if data is not None and hashlib.sha256(data).hexdigest() == sha256:
            self.counts.read(hit=True)
            self._room.use(path, len(data))
            return data
        self.counts.read(hit=False)
        storage.require_answering(relative)
        data = storage.read(relative)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise SnapshotCorrupt(f"{relative} is not what its pointer or manifest names (SHA-256 differs)")
        try:
            self._keep(path, data)
        except StorageUnavailable:
            return data  # a full disk is not a reason to withhold what was read
        return data

    def verify(self, storage: Source, relative: str, sha256: str) -> bool:
        """Whether the copy is intact, by its digest; a damaged one is removed, and none at all is intact."""
        path = self._path(storage, relative)
        try:
            intact = FileDigests(0.0).intact(path, path.stat().st_size, sha256)
        except FileNotFoundError:
            return True
        if not intact:
            path.unlink(missing_ok=True)
        return intact

    def _usable(self, path: Path, size: int, sha256: str) -> bool:
        """Whether an intact copy is there, which then stays for a while."""
        try:
            return self._room.use(path, size) and DIGESTS.intact(path, size, sha256)
        except FileNotFoundError:  # it made room at this very moment
            return False

    def _path(self, storage: Source, relative: str) -> Path:
        return self.folder / storage.identity / relative

    def _fill(self, storage: Source, relative: str, path: Path, size: int, sha256: str) -> None:
        """Copy, check and name a file; a copy that came out damaged is made once more."""
        for attempt in range(_TRIES):
            with self._room.reserve(size, path) as draft:
                try:
                    storage.download(relative, draft, size)
                except FileNotFoundError as error:
                    raise SnapshotCorrupt(
                        f"{storage.url(relative)} is missing; verify the snapshot"
                    ) from error
                # By its inode and time, which it keeps with its name: the copy need not be read again to be used.
                if DIGESTS.intact(draft, size, sha256):
                    self._name(draft, path)
                    return
            if attempt == _TRIES - 1:
                raise SnapshotCorrupt(
                    f"{storage.url(relative)} is not what its manifest says (SHA-256 differs); verify the snapshot"
                )

    def _keep(self, path: Path, data: bytes) -> None:
        with self._disk.copying(len(data)), self._room.reserve(len(data), path) as draft, writing(path):
            draft.write_bytes(data)
            self._name(draft, path)

    def _name(self, draft: Path, path: Path) -> None:
        with writing(path):
            self.counts.fetched(draft.stat().st_size)
            # Flushed before it is named: after a power cut a copy of the right size would be taken for whole.
            with draft.open("rb") as stream:
                os.fsync(stream.fileno())
            mark_used(draft)
            while True:
                path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    draft.replace(path)
                except FileNotFoundError:
                    continue  # the folder was empty, and was removed as such at this moment
                break
