"""Failures of a local disk, in words an operator can act on."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.errors import StorageUnavailable

REASONS: Final = {
    errno.ENOSPC: "no space is left on its disk; free some",
    errno.EDQUOT: "the quota of its disk is used up; free some space",
    errno.EROFS: "its file system is mounted read-only",
    errno.EACCES: "this user may not write there",
    errno.EPERM: "this user may not write there",
    errno.EIO: "its disk reports a hardware fault",
}
"""What the operating system says -> what to tell; any other failure is a mistake of the program's own."""


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file that a full, read-only or failing disk kept from being written.

    Raises
    ------
    StorageUnavailable
        In place of the OSError, which names no file when a write runs out of space.
    """
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0)
        if reason is None:
            raise
        raise StorageUnavailable(
            f"{os.fspath(path)} cannot be written: {reason}, then try again. What was published is unchanged"
        ) from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a path, made where it is not there; whoever dies lets it go.

    Processes and threads exclude each other alike, since every call opens the file anew. It is not to be taken
    twice by one thread.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
