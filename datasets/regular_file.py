"""Bounded reads of regular files, for untrusted paths."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from datasets.disk import reading

_PART_BYTES: Final = 1 << 24


class NotRegular(Exception):
    """The path is a folder, a link, a pipe or a device, which the message names."""


class TooLarge(Exception):
    """The file exceeds the limit.

    Attributes
    ----------
    size
        Its bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"it has {size} bytes")
        self.size = size


def read_regular(path: str, limit: int, *, follow: bool = False) -> bytes:
    """Return the bytes of a regular file; errors as in :func:`read_parts`."""
    parts = list(read_parts(path, limit, follow=follow))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_parts(path: str, limit: int, *, follow: bool = False) -> Iterator[bytes]:
    """Yield the bytes of a regular file in parts, never blocking on other kinds of files.

    A pipe that nobody writes to, a device without an end and a link to either are recognised by their kind; none of them is
    opened to be read.

    Parameters
    ----------
    path
        Where it is.
    limit
        Most bytes to read.
    follow
        Read what the last part of the path leads to when that is a link.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        When no file is there.
    NotRegular
        When it is a folder, a link, a pipe, a socket or a device.
    TooLarge
        When it holds more.
    StorageUnavailable
        When the disk fails, or does not permit it.
    """
    with reading(path):
        # Checked before it is opened, because opening a device may have effects.
        _require_regular(os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - the path of an own storage, which is text
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
            # At most one byte beyond the limit, because the file may grow meanwhile.
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
