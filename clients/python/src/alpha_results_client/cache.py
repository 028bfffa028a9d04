"""Disk cache of answers with their entity tags, and of table files by digest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from alpha_results_client.errors import AlphaResultsClientError

DEFAULT_BYTES = 1 << 30
_SUFFIX = ".answer"
_DRAFT = f"{_SUFFIX}.draft"
_DRAFT_SECONDS = 3600
"""Age beyond which an unfinished entry belongs to a process that was killed."""


class Stored(NamedTuple):
    """A stored answer: its tag and body."""

    etag: str
    body: bytes


class DiskCache:
    """A private folder of answers. Several processes may share it.

    An answer is used only if the service confirms its entity tag, and a file only if the service names its digest, so
    no stale entry is ever read; a damaged one is ignored. Above `limit` bytes the least recently used are removed.

    Parameters
    ----------
    folder
        Created if it is missing.
    limit
        Maximum total bytes of the entries.
    """

    def __init__(self, folder: str | os.PathLike[str], limit: int = DEFAULT_BYTES) -> None:
        self._folder = Path(folder).expanduser()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise AlphaResultsClientError(
                f"cache must be a folder that can be written; {self._folder} cannot: {error.strerror}"
            ) from error
        self._limit = limit

    def __repr__(self) -> str:
        return f"DiskCache({str(self._folder)!r})"

    def read(self, name: str) -> Stored | None:
        """Return the entry with a name; None if it is missing or damaged."""
        path = self._path(name)
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            header = json.loads(head)
            etag, digest = str(header["etag"]), str(header["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if hashlib.sha256(body).hexdigest() != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return Stored(etag, body)

    def write(self, name: str, etag: str, body: bytes) -> None:
        """Store an entry atomically, unless it exceeds the limit; a full or read-only disk is ignored."""
        if len(body) > self._limit:
            return
        head = json.dumps({"etag": etag, "sha256": hashlib.sha256(body).hexdigest()}).encode()
        with contextlib.suppress(OSError):
            descriptor, draft = tempfile.mkstemp(_DRAFT, ".", self._folder)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.writelines((head, b"\n", body))
                Path(draft).replace(self._path(name))
            except OSError:
                Path(draft).unlink()
                raise
            self._evict()

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()}{_SUFFIX}"

    def _evict(self) -> None:
        for draft in self._folder.glob(f".*{_DRAFT}"):
            with contextlib.suppress(FileNotFoundError):  # another process has finished or removed it
                if time.time() - draft.stat().st_mtime > _DRAFT_SECONDS:
                    draft.unlink()
        with contextlib.suppress(FileNotFoundError):  # another process has evicted the entry
            stats = [(path, path.stat()) for path in self._folder.glob(f"*{_SUFFIX}")]
            entries = sorted((stat.st_mtime, stat.st_size, path) for path, stat in stats)
            total = sum(size for _, size, _ in entries)
            for _, size, path in entries[:-1]:  # the last one was just written
                if total <= self._limit:
                    break
                path.unlink()
                total -= size
