"""Errors of a local disk, with messages for operators."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.errors import DiskUnavailable

_LOST: Final = {
    errno.EIO: "its disk reports a hardware fault; look after the disk",
    errno.ENODEV: "its disk is gone; mount it again",
    errno.ENXIO: "its disk is gone; mount it again",
    errno.ESTALE: "its file system is gone on the server; mount it again",
    errno.ENOTCONN: "its file system is no longer connected; mount it again",
    errno.ETIMEDOUT: "its file system does not answer",
}
_FULL: Final = {
    errno.ENOSPC: "no space is left on its disk; free some",
    errno.EDQUOT: "the quota of its disk is used up; free some space",
    errno.EFBIG: "it would be larger than a file may be here; raise the limit (ulimit -f)",
    errno.EROFS: "its file system is mounted read-only; mount it for writing",
    errno.EACCES: "this user may not write there; permit it",
    errno.EPERM: "this user may not write there; permit it",
}
_CLOSED: Final = {
    errno.EACCES: "this user may not read it; permit it",
    errno.EPERM: "this user may not read it; permit it",
}
# Error number -> message; other errors are bugs.


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of a full, read-only or failing disk while writing, and name the file.

    Raises
    ------
    DiskUnavailable
        In place of the OSError, which names no file when a write runs out of space.
    """
    try:
        yield
    except OSError as error:
        reason = (_FULL | _LOST).get(error.errno or 0)
        if reason is None:
            raise
        raise DiskUnavailable(
            f"{os.fspath(path)} cannot be written: {reason}, then try again. What was published is unchanged"
        ) from error


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of a failing disk or missing permissions while reading, and name the file.

    Raises
    ------
    DiskUnavailable
        In place of the OSError. That a file is not there stays a FileNotFoundError: it is no fault of the disk.
    """
    try:
        yield
    except OSError as error:
        raise_disk_error(path, error)
        raise


def raise_disk_error(path: str | os.PathLike[str], error: OSError) -> None:
    """Raise DiskUnavailable if a failure to read a file is due to its disk or permissions."""
    reason = (_CLOSED | _LOST).get(error.errno or 0)
    if reason is not None:
        raise DiskUnavailable(f"{os.fspath(path)} cannot be read: {reason}, then try again") from error


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Acquire the lock of a path, creating the file; the lock ends with its process.

    Processes and threads exclude each other alike, since every call opens the file again. One thread must not acquire it
    twice. The kernel queues those that wait; the package `filelock` polls, and takes 50 times as long for a free lock.

    Raises
    ------
    BlockingIOError
        When another has it and is not to be waited for.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
