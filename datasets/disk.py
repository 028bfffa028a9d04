"""Local files: disk errors with messages for operators, locks, and bounded reads of untrusted paths."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from schemas.errors import DiskFull, DiskUnavailable

_LOST: Final = {
    errno.EIO: "its disk reports a hardware fault; check the disk",
    errno.ENODEV: "its disk is gone; mount it again",
    errno.ENXIO: "its disk is gone; mount it again",
    errno.ESTALE: "its file system is gone on the server; mount it again",
    errno.ENOTCONN: "its file system is no longer connected; mount it again",
    errno.ETIMEDOUT: "its file system does not answer",
}
_NO_LOCKS: Final = (
    "its file system does not support locks (flock), which keep two processes from writing at once; start the lock service of "
    "the network file system, or choose a folder on a local disk"
)
_BLOCKED: Final = "a file is where one of its folders should be; remove that file"
_FULL: Final = {
    errno.ENOSPC: "no space is left on its disk; free some",
    errno.EDQUOT: "the quota of its disk is used up; free some space",
}
_UNWRITABLE: Final = {
    errno.EFBIG: "it would exceed the maximum size of a file; raise the limit (ulimit -f)",
    errno.EROFS: "its file system is mounted read-only; mount it for writing",
    errno.EACCES: "this user may not write there; permit it",
    errno.EPERM: "this user may not write there; permit it",
    errno.EXDEV: "it is on another disk than .staging, from which files are renamed into place; keep the complete root on one",
    errno.ENOTDIR: _BLOCKED,
    errno.EEXIST: _BLOCKED,
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
    errno.EOPNOTSUPP: _NO_LOCKS,
}
_CLOSED: Final = {
    errno.EACCES: "this user may not read it; permit it",
    errno.EPERM: "this user may not read it; permit it",
}
# Error number -> message; other errors are not translated, because they are bugs.

_PART_BYTES: Final = 1 << 24
"""Bytes read at a time."""


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of a disk that is full, read-only, failing or without locks, and of a file in place of a folder; name the path.

    Raises
    ------
    DiskFull
        When no space is left.
    DiskUnavailable
        In place of every other such OSError.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        reason = (_FULL | _UNWRITABLE | _LOST).get(number)
        if reason is None:
            raise
        raise (DiskFull if number in _FULL else DiskUnavailable)(
            f"{os.fspath(path)} cannot be written: {reason}, then try again. Published snapshots stay as they are"
        ) from error


def temporary_folder() -> str:
    """Return the folder for temporary files; raises DiskFull if none can be written."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise DiskFull(f"{error.strerror}; free space in one, or name another in TMPDIR") from error


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of a failing disk or missing permissions while reading, and name the file.

    Raises
    ------
    DiskUnavailable
        In place of the OSError. FileNotFoundError is not converted, because a missing file is not a disk fault.
    """
    try:
        yield
    except OSError as error:
        raise_disk_error(path, error)
        raise


def raise_disk_error(path: str | os.PathLike[str], error: OSError) -> None:
    """Raise DiskUnavailable if a read failed because of the disk or permissions."""
    reason = (_CLOSED | _LOST).get(error.errno or 0)
    if reason is not None:
        raise DiskUnavailable(f"{os.fspath(path)} cannot be read: {reason}, then try again") from error


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a file, creating it if necessary; the kernel releases the lock when the process ends.

    The lock excludes both threads and processes, because every call opens the file again. A thread must not acquire it
    twice. The kernel queues waiters; the package `filelock` polls, and takes 50 times as long to acquire a free lock.

    Raises
    ------
    BlockingIOError
        If another process or thread holds the lock and `wait` is False.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create a folder with its missing parents, and flush the entry of each, so that a power cut loses none.

    Raises
    ------
    DiskUnavailable
        If its file system takes no new folders.
    OSError
        If it cannot be created for another reason.
    """
    made = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:  # an automounter or /proc, where no user can create a folder
        raise DiskUnavailable(
            f"{folder} cannot be created: its file system takes no new folders; name another folder"
        ) from error
    for each in made:
        flush(each.parent)


def flush(path: Path) -> None:
    """Flush a file or the entries of a folder to disk, so that after a power cut no renamed file lacks its bytes or its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(folder: Path) -> Path:
    """Create a folder that only this user may use, and return its absolute path.

    Raises
    ------
    PermissionError
        If it exists and others may use it.
    OSError
        If it cannot be created, or is below the home directory of a user who has none.
    """
    try:
        folder = folder.expanduser().absolute()
    except RuntimeError as error:  # there is no home directory
        raise OSError(str(error)) from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat(follow_symlinks=False)
    if not S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "it is not a folder that this user alone may use", str(folder))
    return folder


class NotRegular(Exception):
    """The path is a folder, a link, a pipe or a device; the message says which."""


class TooLarge(Exception):
    """The file exceeds the limit.

    Attributes
    ----------
    size
        Size of the file in bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"it has {size} bytes")
        self.size = size


def read_regular(path: str, limit: int, *, follow: bool = False) -> bytes:
    """Return the bytes of a regular file; errors as in :func:`read_parts`."""
    return b"".join(read_parts(path, limit, follow=follow))


def read_parts(path: str, limit: int, *, follow: bool = False) -> Iterator[bytes]:
    """Yield the bytes of a regular file in parts, never blocking on other kinds of files.

    Other kinds, such as pipes without a writer and endless devices, are recognised by their file type and not opened.

    Parameters
    ----------
    path
        Path of the file.
    limit
        Maximum number of bytes.
    follow
        Whether to follow a link in the last part of the path.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        When the file does not exist.
    NotRegular
        When the path is a folder, a link, a pipe, a socket or a device.
    TooLarge
        When the file exceeds the limit.
    StorageUnavailable
        When the disk fails or denies access.
    """
    with reading(path):
        # Check before opening, because opening a device may have side effects.
        _require_regular(os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - callers have text
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, flags)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise NotRegular("it is a link") from error
            raise
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, which pathlib cannot open
            status = os.fstat(descriptor)
            _require_regular(status)
            if status.st_size > limit:
                raise TooLarge(status.st_size)
            # Read one byte beyond the limit, to notice a file that grows meanwhile.
            remaining = limit + 1
            while remaining > 0 and (part := os.read(file.fileno(), min(remaining, _PART_BYTES))):
                remaining -= len(part)
                if remaining <= 0:
                    raise TooLarge(limit + 1)
                yield part


def _require_regular(status: os.stat_result) -> None:
    if S_ISLNK(status.st_mode):
        raise NotRegular("it is a link")
    if S_ISDIR(status.st_mode):
        raise NotRegular("it is a folder")
    if not S_ISREG(status.st_mode):
        raise NotRegular("it is not a regular file")
