"""Local folders: writes are renames, and locks end with their processes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, Final

from datasets.disk import NotRegular, TooLarge, flush, locked, make_folder, read_regular, reading, writing
from datasets.layout import STAGING
from datasets.storage.file_digests import DIGESTS
from datasets.storage.protocol import (
    DRAFT_SUFFIX,
    MAX_DOCUMENT_BYTES,
    Renew,
    Signature,
    Storage,
    StoredFile,
    Version,
)
from schemas.errors import SnapshotCorrupt, StorageUnavailable

EXAMPLE: Final = "a folder"
_PREFIX = "file://"
_RESERVED: Final = "lost+found"
"""Folder of the file system check at the top of a disk, which only root may list and which holds no seals."""
_UNSEEN: Final[Signature] = (0, 0, 0)
"""Signature of a file that this user may not stat."""


class LocalStorage(Storage):
    """A root in a local folder.

    Parameters
    ----------
    address
        A path, or a ``file://`` URL.
    _
        Keyword arguments of other backends; ignored, because a local root needs neither a cache nor single-writer mode.
    """

    folder: Path

    def __init__(self, address: str, **_: Any) -> None:
        self.address = address
        path = os.path.expanduser(address.removeprefix(_PREFIX))  # noqa: PTH111 - Path.expanduser refuses a folder named so
        if path.startswith("~") and not Path(path).exists():
            name = path.partition("/")[0]
            raise ValueError(f"there is no user {name}; write ./{path} for a folder of that name")
        _require_usable(path)
        self.folder = Path(path).resolve()
        self.base = str(self.folder).rstrip("/")
        self.identity = hashlib.sha256(os.fsencode(f" {self.base}")).hexdigest()[:16]

    @property
    def missing(self) -> bool:
        """Whether the folder is missing; raises StorageUnavailable if this user may not look."""
        with reading(self.base):
            return not self.folder.is_dir()

    def url(self, relative: str) -> str:
        """Return the path of a file."""
        if relative.startswith("/") or ".." in relative.split("/"):
            raise ValueError(f"{relative!r} leaves the root")
        return f"{self.base}/{relative}" if relative else str(self.folder)

    def _path(self, relative: str) -> Path:
        return Path(self.url(relative))

    def read(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
        """Return a file's bytes; raises SnapshotCorrupt if it exceeds the limit, or is a pipe or a device."""
        path = self.url(relative)
        try:
            return read_regular(path, limit, follow=True)
        except NotRegular as error:
            raise SnapshotCorrupt(f"{path} is not read, because {error}; remove it") from error
        except TooLarge as error:
            raise SnapshotCorrupt(
                f"{path} is not read, because {error} and at most {limit} are expected; remove it"
            ) from error

    def read_version(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> Version:
        """Read a small file; its version is the digest of its bytes."""
        try:
            data = self.read(relative, limit)
        except FileNotFoundError:
            return Version(None)
        return Version(data, hashlib.sha256(data).hexdigest())

    def intact_file(self, relative: str, size: int, sha256: str) -> str:
        """Return the path of a file, verified when this process first opens it and after every change."""
        path = self.url(relative)
        try:
            intact = DIGESTS.intact(path, size, sha256)
        except FileNotFoundError as error:
            raise SnapshotCorrupt(f"{relative} is missing; verify the snapshot") from error
        if not intact:
            raise SnapshotCorrupt(f"{relative} is not what its manifest says; verify the snapshot")
        return path

    def intact_document(self, relative: str, sha256: str) -> bytes:
        """Return the verified bytes of a small file."""
        version = self.read_version(relative)
        if version.data is None:
            raise FileNotFoundError(relative)
        if version.tag != sha256:
            raise SnapshotCorrupt(f"{relative} is not what its pointer or manifest names (SHA-256 differs)")
        return version.data

    def signature(self, relative: str = "") -> Signature | None:
        """Return time, size and inode of a file; None if it does not exist."""
        path = self._path(relative)
        with reading(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = path.stat()
            return _signature(status) if S_ISREG(status.st_mode) else None
        return None

    def children(self, relative: str) -> dict[str, Signature | None]:
        """List the entries of a folder; pipes are listed, and their reader reports them."""
        signatures = {}
        path = self._path(relative)
        gone = (FileNotFoundError, NotADirectoryError)
        with reading(path), contextlib.suppress(*gone), os.scandir(path) as entries:
            for entry in entries:
                # A file removed during the scan must not make the folder look empty.
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    signatures[entry.name] = None if S_ISDIR(status.st_mode) else _signature(status)
        return signatures

    def files_below(self, relative: str) -> dict[str, StoredFile]:
        """List every file below a folder: relative path -> entry of the listing."""
        base = self.url(relative)
        files = {}
        with reading(base):
            for below in sorted(_files_below(base)):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(f"{base}/{below}")  # noqa: PTH116 - many paths, which are text
                    if S_ISREG(status.st_mode):
                        path = f"{relative}/{below}".lstrip("/")
                        modified = datetime.fromtimestamp(status.st_mtime, UTC)
                        files[below] = StoredFile(path, status.st_size, modified)
        return files

    def find_named(self, name: str) -> dict[str, Signature]:
        """Find what has a given name at any depth, including links and folders; the caller decides whether to follow them.

        A folder that this user may not list is assumed to contain one, so that it is reported and not skipped.
        """
        closed: list[str] = []
        with reading(self.base):
            below = _files_below(self.base, closed, name)
            paths = [path for path in below if path.rpartition("/")[2] == name]
        signatures = {}
        for path in [*paths, *(f"{folder}/{name}" for folder in closed)]:
            try:
                signatures[path] = _signature(os.lstat(f"{self.base}/{path}"))
            except PermissionError:
                signatures[path] = _UNSEEN
            except FileNotFoundError:
                continue
        return signatures

    def put(self, relative: str, content: bytes | Path) -> None:
        """Flush a file on the root's disk, or bytes in a draft, and rename it into place."""
        target = self._path(relative)
        with writing(target):
            if isinstance(content, Path):
                _place(content, target)
                return
            draft = self._staged(f"{uuid.uuid4().hex}{DRAFT_SUFFIX}")
            try:
                draft.write_bytes(content)
                _place(draft, target)
            finally:
                draft.unlink(missing_ok=True)

    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        """Compare and write while holding the file's lock."""
        with self._locked(relative.replace("/", ".")):
            if self.read_version(relative).tag != tag:
                return False
            self.put(relative, data)
            return True

    @contextlib.contextmanager
    def _locked(self, name: str, *, wait: bool = True) -> Iterator[None]:
        path = self._path(STAGING) / f"{name}.lock"
        with contextlib.ExitStack() as stack:
            with writing(path):
                stack.enter_context(locked(self._staged(path.name), wait=wait))
            yield

    def _staged(self, name: str) -> Path:
        folder = self._path(STAGING)
        make_folder(folder)
        return folder / name

    def remove_files(self, relatives: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        for relative in relatives:
            with writing(self._path(relative)):
                self._path(relative).unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self, name: str, holder: str) -> Iterator[Renew]:  # noqa: ARG002 - the kernel releases a dead holder's lock
        """Acquire a lock that ends with this process; raises StorageUnavailable if it is held."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self._locked(name, wait=False))
            except BlockingIOError:
                raise StorageUnavailable(
                    f"another {name} is at work on {self.address}; wait for it"
                ) from None
            yield lambda: None  # no renewal needed


def _signature(status: os.stat_result) -> Signature:
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _files_below(base: str, closed: list[str] | None = None, folder: str | None = None) -> Iterator[str]:
    """Yield the paths of all entries below a base folder except folders; links to folders are not followed.

    Parameters
    ----------
    closed
        Receives the subfolders that cannot be listed, except those nested too deeply to have a path. If None, such a
        subfolder raises; the base folder always does.
    folder
        Name of folders that are yielded as well.
    """
    # os.walk is recursive in Python 3.11, and folders may be nested deeper than its limit.
    folders = [""]
    while folders:
        below = folders.pop()
        try:
            entries = list(os.scandir(f"{base}/{below}"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if closed is None or not below:
                raise
            if error.errno != errno.ENAMETOOLONG and Path(below).name != _RESERVED:
                closed.append(below)
            continue
        for entry in entries:
            path = f"{below}/{entry.name}".lstrip("/")
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
                if entry.name != folder:
                    continue
            yield path


def _require_usable(path: str) -> None:
    """Raise ValueError for a path that no report can name, or no file system can hold."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ValueError("its name is not UTF-8; rename the folder") from error
    try:
        os.stat(path)  # noqa: PTH116 - Path.exists hides the error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError("its name is too long for the file system; shorten it") from error


def _place(draft: Path, target: Path) -> None:
    """Rename a draft into place, flushed with its entry and with every folder that is made for it."""
    flush(draft)
    made = list(takewhile(lambda folder: not folder.exists(), target.parents))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft.replace(target)
    for folder in (target.parent, *(folder.parent for folder in made)):
        # gc may have removed the snapshot meanwhile, which its publication notices.
        with contextlib.suppress(FileNotFoundError):
            flush(folder)


BACKEND: Final = LocalStorage
