"""SHA-256 digests of local files, cached by file version."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

from datasets.disk import raise_disk_error
from schemas.settings import SETTINGS

_MAX_FILES: Final = 200_000
"""Maximum number of cached digests, about 300 bytes each."""
_DOUBTED_SECONDS: Final = 10.0
"""Seconds that a mismatch is cached: a damaged file is not read again sooner, and one that was only misread recovers."""

FileVersion = tuple[int, int, int, int]
"""Device, inode, size and modification time in nanoseconds: the version of a file."""


class _Digest(NamedTuple):
    sha256: str
    computed: float


class FileDigests:
    """Cache of the SHA-256 of files by version. Thread-safe.

    A file is read on first use, after it was written or replaced, and when its digest has expired.

    Parameters
    ----------
    seconds
        Seconds for which a digest is trusted.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._digests: dict[FileVersion, _Digest] = {}
        self._lock = threading.Lock()

    def trust(self, seconds: float) -> None:
        """Set for how many seconds digests are trusted."""
        self._seconds = seconds

    def forget(self, path: str | os.PathLike[str]) -> None:
        """Drop the digest of a file about to be rewritten, because the rewrite may leave the same modification time."""
        version = _version(os.stat(path))  # noqa: PTH116 - as below
        with self._lock:
            self._digests.pop(version, None)

    def intact(self, path: str | os.PathLike[str], size: int, sha256: str) -> bool:
        """Whether a file has the size and the digest of its manifest entry.

        Raises
        ------
        FileNotFoundError
            When the file does not exist.
        StorageUnavailable
            When the disk fails or denies access.
        """
        try:
            version = _version(os.stat(path))  # noqa: PTH116 - most callers have text
            if version[2] != size:
                return False
            entry = self._fresh_digest(path, version, self._seconds)
            if entry.sha256 != sha256:
                entry = self._fresh_digest(path, version, _DOUBTED_SECONDS)
        except OSError as error:
            raise_disk_error(path, error)
            raise
        return entry.sha256 == sha256

    def _fresh_digest(self, path: str | os.PathLike[str], version: FileVersion, seconds: float) -> _Digest:
        entry = self._digests.get(version)
        if entry is not None and time.monotonic() - entry.computed <= seconds:
            return entry
        return self._compute(path, version)

    def _compute(self, path: str | os.PathLike[str], version: FileVersion) -> _Digest:
        started = time.monotonic()
        with open(path, "rb") as stream:  # noqa: PTH123 - as above
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            unchanged = _version(os.fstat(stream.fileno())) == version
        entry = _Digest(sha256, started)
        if unchanged:  # a file written during the read is read again by the next call
            with self._lock:
                self._digests.pop(version, None)
                self._digests[version] = entry
                while len(self._digests) > _MAX_FILES:
                    self._digests.pop(next(iter(self._digests)))
        return entry


def _version(status: os.stat_result) -> FileVersion:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a local file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


DIGESTS: Final = FileDigests(SETTINGS["verify_seconds"].default)
"""Shared by the process, because a digest depends only on the version of a file."""
