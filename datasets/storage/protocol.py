"""The interface of storage backends: a datasets root, or another folder of files, on one kind of store.

A backend is one class that implements :class:`Storage`, in a module of :mod:`datasets.storage.backends` named after its
scheme. Code outside this package does not depend on the backend.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import SnapshotCorrupt

if TYPE_CHECKING:
    from datasets.storage.cache import Cache

MAX_DOCUMENT_BYTES: Final = 16 << 20
"""Maximum bytes of a manifest, pointer or other document; the size of a table is in its manifest."""
DRAFT_SUFFIX: Final = ".tmp"
"""Suffix of drafts in the staging folder."""

Signature = tuple[Any, ...]
"""Signature of a file's version; the second entry is the size in bytes."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in a listing.

    Attributes
    ----------
    path
        Path relative to the root.
    size
        Size in bytes.
    modified
        Time of the last write, by the clock of the disk or the store.
    """

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """A file's bytes and version.

    Attributes
    ----------
    data
        Bytes of the file; None if it did not exist.
    tag
        Identifies this version of the file; None if it did not exist.
    """

    data: bytes | None
    tag: str | None = None


Renew = Callable[[], None]
"""Renews a lock if due. Call it before every step that needs the lock; raises StorageUnavailable if the lock was lost."""


class Storage(ABC):
    """Reads, atomic writes and locks below one root.

    Paths are relative to the root, with forward slashes. Every method raises StorageUnavailable if the store does
    not answer or denies access, or if a disk fails, is full or denies access.

    Attributes
    ----------
    address
        The address without user names, passwords and query strings, so that messages may show it.
    base
        Path of the root within the store.
    folder
        The root as a local folder; None on a remote store.
    identity
        Unique name of the store and address, usable as a folder name.
    cache
        The configured cache of a remote root; None for a local folder, or if none was configured.
    """

    address: str
    base: str
    identity: str
    folder: Path | None = None
    cache: Cache | None = None

    @abstractmethod
    def url(self, relative: str) -> str:
        """Return the address of a file for other programs: a path in a local folder, else a URL.

        The empty path is the root. A path that leaves the root raises ValueError, here and in every other method.
        """

    @property
    def missing(self) -> bool:
        """Whether the root is a local folder that does not exist; always False on a remote store, which has no folders."""
        return False

    @abstractmethod
    def read(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
        """Return a file's bytes; raises FileNotFoundError if it does not exist.

        Raises
        ------
        SnapshotCorrupt
            When it exceeds the limit, or is a pipe or a device; it is not read.
        """

    def read_many(self, relatives: Sequence[str]) -> dict[str, bytes | None]:
        """Return the bytes of many small files: None for missing files, empty for unreadable ones."""
        return {relative: self._content(relative) for relative in relatives}

    def _content(self, relative: str) -> bytes | None:
        try:
            return self.read(relative)
        except FileNotFoundError:
            return None
        except SnapshotCorrupt:
            return b""

    @abstractmethod
    def read_version(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> Version:
        """Read a small file and its version."""

    @abstractmethod
    def intact_file(self, relative: str, size: int, sha256: str) -> str:
        """Return the local path of an immutable file, or of its copy in the cache.

        Raises
        ------
        SnapshotCorrupt
            When it is missing, or its size or digest differs.
        """

    @abstractmethod
    def intact_document(self, relative: str, sha256: str) -> bytes:
        """Return the verified bytes of a small immutable file; raises FileNotFoundError.

        Raises
        ------
        SnapshotCorrupt
            When the digest differs.
        """

    @abstractmethod
    def signature(self, relative: str = "") -> Signature | None:
        """Return the signature of a file (tag or time, size); None if it does not exist."""

    @abstractmethod
    def children(self, relative: str) -> dict[str, Signature | None]:
        """List the entries of a folder in one listing: name -> signature of a file, None for a folder.

        A missing folder counts as empty, because object stores have no folders.
        """

    def entries(self, relative: str) -> dict[str, Signature]:
        """List the files directly in a folder: name -> signature."""
        return {name: mark for name, mark in self.children(relative).items() if mark is not None}

    def folders(self, relative: str) -> list[str]:
        """List the names of the folders directly below a folder, ascending; empty if it does not exist."""
        return sorted(name for name, mark in self.children(relative).items() if mark is None)

    @abstractmethod
    def files_below(self, relative: str) -> dict[str, StoredFile]:
        """List every file below a folder: path relative to that folder -> entry of the listing."""

    @abstractmethod
    def find_named(self, name: str) -> dict[str, Signature]:
        """Find the files with a given name at any depth: path -> signature.

        A backend may skip the subfolders of a folder that has such a file.
        """

    @abstractmethod
    def put(self, relative: str, content: bytes | Path) -> None:
        """Write a file atomically.

        Parameters
        ----------
        content
            Its bytes, or a finished local file (on the root's own disk, if the root is local), which is moved or
            removed.
        """

    @abstractmethod
    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        """Write a small file unless another process has written it since it was read.

        Parameters
        ----------
        tag
            Tag that :meth:`read_version` returned.

        Returns
        -------
        bool
            False if another process wrote the file first; it is then left unchanged.

        Raises
        ------
        SettingsError
            As in :meth:`require_safe_writers`.
        StorageUnavailable
            When the store does not answer; the file may or may not have been written.
        """

    @abstractmethod
    def remove_files(self, relatives: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""

    def require_safe_writers(self) -> None:  # noqa: B027 - local folders need no check, because writers use locks
        """Raise if the store does not support safe concurrent writers; call it before expensive work.

        Raises
        ------
        SettingsError
            When the store does not honour conditional writes, and single-writer mode is off.
        """

    @abstractmethod
    def lock(self, name: str, holder: str) -> AbstractContextManager[Renew]:
        """Hold a named lock that one process at a time may have; yields the function that renews it.

        Raises
        ------
        StorageUnavailable
            When another process holds it, or the root cannot be written.
        """


_UNESCAPED: Final = re.compile(r":(?!\d*$)")
"""A colon in the host part that is not followed by a port: a password starts there."""


def without_secrets(address: str) -> str:
    """Remove user names, passwords and query strings from an address; local paths are unchanged."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    host, slash, path = rest.partition("/")
    if "@" not in host and _UNESCAPED.search(host):
        # The password contains an unescaped slash, so it ends at the last @.
        host, slash, path = path.rpartition("@")[2].partition("/")
    if "?" in host.rpartition("@")[0]:
        return f"{scheme}://…"  # a password or a query string whose end is unknown
    return scheme + separator + (host.rpartition("@")[2] + slash + path).split("?", 1)[0]
