"""Answers on disk, each with the entity tag it came with, and files of tables by their digest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

DEFAULT_BYTES = 1 << 30
_PARQUET = ".parquet"


class Stored(NamedTuple):
    """An answer as it was: its tag and its body."""

    etag: str
    body: bytes


class DiskCache:
    """A folder of answers that only its owner reads. Several processes may share it.

    An answer is used only while the service confirms its entity tag, and a file when the service names its digest, so
    no stale entry is ever read; a damaged one is ignored. Above `limit` bytes those longest unused are removed.

    Parameters
    ----------
    folder
        Made when it is missing.
    limit
        Bytes the entries may take together.
    """

    def __init__(self, folder: str | os.PathLike[str], limit: int = DEFAULT_BYTES) -> None:
        self._folder = Path(folder).expanduser()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._limit = limit

    def __repr__(self) -> str:
        return f"DiskCache({str(self._folder)!r})"

    def read(self, identity: str, target: str) -> Stored | None:
        """Return the answer stored for a target; None if there is none, or it is damaged."""
        path = self._path(identity, target)
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            facts = json.loads(head)
            etag, digest = str(facts["etag"]), str(facts["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if hashlib.sha256(body).hexdigest() != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return Stored(etag, body)

    def write(self, identity: str, target: str, etag: str, body: bytes) -> None:
        """Store an answer atomically; on a full or read-only disk the entry is lost, and the call succeeds."""
        head = json.dumps({"etag": etag, "sha256": hashlib.sha256(body).hexdigest()}).encode()
        self._store(self._path(identity, target), head + b"\n", body)

    def read_file(self, sha256: str) -> bytes | None:
        """Return the file of a digest; None if it is not stored, or damaged."""
        path = self._file(sha256)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest() != sha256:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def write_file(self, sha256: str, data: bytes) -> None:
        """Store a file once, whichever calls are answered from it; what is larger than the bound is not stored."""
        if len(data) <= self._limit:
            self._store(self._file(sha256), data)

    def _store(self, path: Path, *parts: bytes) -> None:
        with contextlib.suppress(OSError):
            descriptor, draft = tempfile.mkstemp(dir=self._folder, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.writelines(parts)
                Path(draft).replace(path)
            except OSError:
                Path(draft).unlink()
                raise
            self._make_room()

    def _file(self, sha256: str) -> Path:
        return self._folder / f"{sha256}{_PARQUET}"

    def _path(self, identity: str, target: str) -> Path:
        return self._folder / hashlib.sha256(f"{identity} {target}".encode()).hexdigest()

    def _make_room(self) -> None:
        entries = sorted((stat.st_mtime, stat.st_size, path) for path, stat in self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries[:-1]:  # the last is the one just written
            if total <= self._limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size

    def _entries(self) -> list[tuple[Path, os.stat_result]]:
        entries = []
        for path in self._folder.iterdir():
            if len(path.name.removesuffix(_PARQUET)) == hashlib.sha256().digest_size * 2:
                with contextlib.suppress(OSError):
                    entries.append((path, path.stat()))
        return entries
