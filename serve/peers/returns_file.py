"""A file of daily returns on this machine: one record a snapshot, appended by one process and read by all.

::

    <folder>/v<format>/<root>/<digest of the book>.returns
        a line that names the format, padded to 32 bytes
        records: header, alpha, snapshot, days (int32), returns (float64), each part padded to 8 bytes

A record counts once it is there in whole, with the checksum its header names. A record is never changed: what a writer that
died left behind, and what is damaged, is left out when the next to write writes the file anew. Replaced snapshots are left out when the file is written anew, under another inode, by
which readers notice.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import structlog

from datasets.maths.series import Floats
from serve.peers.returns import DailyReturns, Days

_log = structlog.get_logger("serve.peers")
FORMAT: Final = 1
_LINE: Final = f"alpha-results daily returns {FORMAT}\n".encode().ljust(32, b"\0")
_HEADER: Final = struct.Struct("<4sIIHHI4x")
_MAGIC: Final = b"RETN"
_MAX_SESSIONS: Final = 2**20
"""More than any run has; a header that says so is damaged."""


class ReturnsDamaged(Exception):
    """The file is not what was written, or its disk fails."""


class Record(NamedTuple):
    """Where the returns of one snapshot are.

    Attributes
    ----------
    alpha_id, snapshot
        Whose.
    sessions
        How many there are; 0 where the run has none of the book.
    place
        Of the days in the file; the returns follow them.
    """

    alpha_id: str
    snapshot: str
    sessions: int
    place: int

    @property
    def values_place(self) -> int:
        """Place of the returns in the file."""
        return self.place + _padded(4 * self.sessions)


class ReturnsFile:
    """Records of one book. Reads are safe between threads; one thread reads on and appends.

    Parameters
    ----------
    path
        The file; made when it is not there. None makes one that nobody else sees and that goes with the process.

    Raises
    ------
    OSError
        When it cannot be opened or made, or belongs to another user.
    """

    def __init__(self, path: Path | None) -> None:
        self._descriptor = -1
        self._path = path
        self._descriptor = _opened(path)
        self._end = len(_LINE)
        self._writes = False

    def __del__(self) -> None:
        """Close it, and let others write: with the last reference, for a search may still read it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    @property
    def size(self) -> int:
        """Bytes of the records read so far."""
        return self._end - len(_LINE)

    @property
    def has_remains(self) -> bool:
        """Whether something follows that is not a whole record: what a writer that died left behind, or damage."""
        return os.fstat(self._descriptor).st_size > self._end

    @property
    def replaced(self) -> bool:
        """Whether the file of this name is another one by now."""
        if self._path is None:
            return False
        try:
            return self._path.stat().st_ino != os.fstat(self._descriptor).st_ino
        except OSError:
            return True

    def may_write(self) -> bool:
        """Whether this process is the one that appends; it becomes so when no other is."""
        if not self._writes:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._writes = not self.replaced
        return self._writes

    def release(self) -> None:
        """Let another process write."""
        if self._writes:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._writes = False

    def read_on(self) -> Iterator[tuple[Record, DailyReturns]]:
        """Yield the records that were appended since the last call; ends before the first that is not whole."""
        while True:
            head = os.pread(self._descriptor, _HEADER.size, self._end)
            if len(head) < _HEADER.size:
                return
            magic, size, checksum, alpha, snapshot, sessions = _HEADER.unpack(head)
            if magic != _MAGIC or sessions > _MAX_SESSIONS or size != _size(alpha + snapshot, sessions):
                return
            body = os.pread(self._descriptor, size - _HEADER.size, self._end + _HEADER.size)
            if len(body) < size - _HEADER.size or zlib.crc32(body) != checksum:
                return
            place = self._end + _HEADER.size + _padded(alpha + snapshot)
            names = body[: alpha + snapshot].decode("utf-8", "replace")
            record = Record(names[:alpha], names[alpha:], sessions, place)
            days_at = _padded(alpha + snapshot)
            values_at = days_at + _padded(4 * sessions)
            self._end += size
            yield (
                record,
                DailyReturns(
                    np.frombuffer(body, np.int32, sessions, days_at),
                    np.frombuffer(body, np.float64, sessions, values_at),
                ),
            )

    def append(self, alpha_id: str, snapshot: str, returns: DailyReturns) -> Record:
        """Append a record; only for the process that may write, and when nothing follows what it has read.

        Raises
        ------
        OSError
            When the disk takes no more; nothing is left of what was written.
        """
        names = (alpha_id + snapshot).encode()
        sessions = int(returns.days.size)
        body = b"".join(
            part.ljust(_padded(len(part)), b"\0")
            for part in (
                names,
                returns.days.astype(np.int32).tobytes(),
                returns.values.astype(np.float64).tobytes(),
            )
        )
        size = _HEADER.size + len(body)
        head = _HEADER.pack(
            _MAGIC, size, zlib.crc32(body), len(alpha_id.encode()), len(snapshot.encode()), sessions
        )
        try:
            write_whole(self._descriptor, head + body, self._end)
        except OSError:
            os.ftruncate(self._descriptor, self._end)
            raise
        place = self._end + _HEADER.size + _padded(len(names))
        self._end += size
        return Record(alpha_id, snapshot, sessions, place)

    def days(self, record: Record) -> Days:
        """Read the days of a record; ReturnsDamaged when they are not there."""
        found = np.empty(record.sessions, np.int32)
        self._fill(found.data.cast("B") if found.size else memoryview(b""), record.place)
        return found

    def fill(self, rows: Floats, records: Iterable[Record], starts: Iterable[int]) -> None:
        """Read returns into the rows of an array, of each record from a session on; ReturnsDamaged when they are not there."""
        width = rows.shape[1] * rows.itemsize
        buffer = rows.data.cast("B") if rows.size else memoryview(b"")
        for number, (record, start) in enumerate(zip(records, starts, strict=True)):
            self._fill(buffer[number * width : (number + 1) * width], record.values_place + 8 * start)

    def _fill(self, buffer: memoryview, place: int) -> None:
        try:
            read = os.preadv(self._descriptor, [buffer], place) if len(buffer) else 0
        except OSError as error:
            raise ReturnsDamaged(str(error)) from error
        if read != len(buffer):
            raise ReturnsDamaged("the file of daily returns ends too early")

    def rewrite(self, records: Iterable[Record]) -> tuple[ReturnsFile, list[Record]]:
        """Write some records alone to a new file in the place of this one; this one stays as it is for whoever reads it.

        Returns
        -------
        tuple
            The new file, which this process may write, and the records in it.
        """
        part = None if self._path is None else self._path.with_suffix(".part")
        if part is not None:
            part.unlink(missing_ok=True)
        fresh = ReturnsFile(part)
        fresh.may_write()
        found = [fresh.append(x.alpha_id, x.snapshot, self.whole(x)) for x in records]
        if part is not None and self._path is not None:
            part.replace(self._path)
            fresh._path = self._path
        return fresh, found

    def whole(self, record: Record) -> DailyReturns:
        """Read a record; ReturnsDamaged when it is not there."""
        values = np.empty((1, record.sessions))
        self.fill(values, [record], [0])
        return DailyReturns(self.days(record), values[0])

    def remove(self) -> None:
        """Remove it, so that whoever opens it next begins anew."""
        if self._path is not None and not self.replaced:
            self._path.unlink(missing_ok=True)


def open_returns(folder: Path | None, book: str) -> ReturnsFile:
    """Open the file of a book in a folder that this user alone may use, and one for this process alone when that fails."""
    if folder is not None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = folder.stat(follow_symlinks=False)
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise PermissionError(
                    errno.EPERM, "it is not a folder that this user alone may use", str(folder)
                )
            name = hashlib.sha256(book.encode()).hexdigest()[:32]
            return ReturnsFile(folder / f"{name}.returns")
        except OSError as error:
            _log.warning("daily_returns_not_shared", folder=str(folder), reason=error.strerror or str(error))
    return ReturnsFile(None)


def _opened(path: Path | None) -> int:
    if path is None:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    else:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _require_own(descriptor)
        if os.pread(descriptor, len(_LINE), 0) != _LINE:
            # New, or damaged at its beginning: whoever else has it open finds nothing there that is whole.
            os.ftruncate(descriptor, 0)
            write_whole(descriptor, _LINE, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_own(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it is not a file of this user's")


def write_whole(descriptor: int, data: bytes, place: int) -> None:
    """Write bytes to a place of a file; OSError when the disk takes no more."""
    written = os.pwrite(descriptor, data, place)
    if written != len(data):
        raise OSError(errno.ENOSPC, "the disk takes no more")


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def _size(names: int, sessions: int) -> int:
    return _HEADER.size + _padded(names) + _padded(4 * sessions) + 8 * sessions
