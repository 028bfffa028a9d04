"""The bound of a cache: who may still copy, and which copies make room."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from datasets.disk import locked, writing
from datasets.layout import SAVED_CATALOGUE

IN_USE_SECONDS: Final = 30.0
"""How long after its last use a copy is certainly not removed: a reader opens the path it was given within moments."""
_FRESH_SECONDS: Final = 2.0
"""How often the use of a copy is written down, in its time of access: far oftener than it is forgotten."""
_USE_LOCKS: Final = 64
_TARGET_SHARE: Final = 0.9
"""Share of the bound that is left in use when room is made, so that not every new copy has to look for some."""


class CacheQuota:
    """Counts the bytes of a cache folder and makes room in it.

    Parameters
    ----------
    folder
        The cache.
    max_bytes
        Its bound.
    evicted
        Called with the size of each copy that is removed.

    Raises
    ------
    OSError
        When the folder cannot be written.
    """

    def __init__(self, folder: Path, max_bytes: int, evicted: Callable[[int], None] = lambda _: None) -> None:
        self._evicted = evicted
        self._folder = folder
        self._max_bytes = max_bytes
        self.drafts = folder / ".filling"
        """Where copies are made."""
        self._usage = folder / ".usage"
        self._locks = folder / ".locks"
        self._guard = self._locks / "room"
        self.drafts.mkdir(parents=True, exist_ok=True)
        # Made ahead: to make room on a disk that is full to the last inode must not take a new file.
        for number in range(_USE_LOCKS):
            (self._locks / f"use-{number:02x}").touch()
        with locked(self._guard):
            # Counted anew at every start: whatever was killed before may have left drafts and reservations.
            self._record(self._make_room())

    @property
    def used(self) -> int:
        """Bytes cached or reserved, as far as they are on record."""
        return self._recorded() or 0

    def use(self, path: Path, size: int) -> bool:
        """Whether a copy of this size is there, and keep it for :data:`IN_USE_SECONDS` from now if so."""
        if not _fits(path, size):
            return False
        if _used_within(path, _FRESH_SECONDS):
            return True  # nobody removes it for a while yet
        try:
            with locked(self._lock_path(path)):
                if not _fits(path, size):
                    return False
                with contextlib.suppress(
                    PermissionError
                ):  # another user's copy, which this one can still read
                    mark_used(path)
        except OSError:
            # No lock file can be made on a full disk, or opened on one that turned read-only: the copy is there all
            # the same, and whoever would remove it needs that lock as well.
            return _fits(path, size)
        return True

    @contextlib.contextmanager
    def reserve(self, size: int, target: Path) -> Iterator[Path]:
        """Reserve room for a copy and give the path to write it to; a draft that is still there at the end is removed.

        Raises
        ------
        StorageUnavailable
            When the disk takes no more.
        """
        draft = self.drafts / f"{uuid.uuid4().hex}.{size}.tmp"
        with writing(target), locked(self._guard):
            # Made and locked under the guard: else it would be swept between the two as that of a dead process.
            descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                used = self._recorded()
                if used is None or used + size > self._max_bytes:
                    used = self._make_room() - size  # this very draft is among what is reserved
                # Before the copy, never after: a process killed between the two must not leave bytes uncounted.
                self._record(used + size)
            except BaseException:
                draft.unlink(missing_ok=True)
                os.close(descriptor)
                raise
        try:
            yield draft
        finally:
            placed = not draft.exists()
            draft.unlink(missing_ok=True)
            os.close(descriptor)
            if not placed:
                with contextlib.suppress(OSError), locked(self._guard):
                    used = self._recorded()
                    if used is not None:
                        self._record(used - size)

    def _make_room(self) -> int:
        """Remove what was used longest ago until the rest fits; return what is cached or reserved now."""
        copies = self._copies()
        used = self._sweep() + sum(size for _, size, _ in copies)
        if used <= self._max_bytes:
            return used
        # The catalogue is never marked as used, and is what a restart has to serve while the store is away: it goes last.
        for _, size, path in sorted(copies, key=lambda copy: (copy[2].name == SAVED_CATALOGUE, copy)):
            if used <= self._max_bytes * _TARGET_SHARE:
                break
            # The lock that a reader notes its use under: it finds the copy gone, or this finds it in use.
            with locked(self._lock_path(path)):
                if _used_within(path, IN_USE_SECONDS):
                    continue
                path.unlink(missing_ok=True)
            used -= size
            self._evicted(size)
            with contextlib.suppress(OSError):  # not empty yet
                for parent in path.relative_to(self._folder).parents[:-1]:
                    (self._folder / parent).rmdir()
        return used

    def _lock_path(self, path: Path) -> Path:
        return self._locks / f"use-{zlib.crc32(os.fsencode(path)) % _USE_LOCKS:02x}"

    def _copies(self) -> list[tuple[float, int, Path]]:
        found = []
        for parent, folders, names in os.walk(self._folder):
            if parent == str(self._folder):
                folders[:] = [name for name in folders if not name.startswith(".")]
                continue
            for name in names:
                path = Path(parent, name)
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    found.append((status.st_atime, status.st_size, path))
        return found

    def _sweep(self) -> int:
        """Remove the drafts of dead processes; return what the living ones reserved."""
        reserved = 0
        for draft in self.drafts.iterdir():
            try:
                descriptor = os.open(draft, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink(missing_ok=True)
            except BlockingIOError:
                reserved += int(draft.name.split(".")[1])
            finally:
                os.close(descriptor)
        return reserved

    def _recorded(self) -> int | None:
        """Return the count on record; None when there is none that can be read."""
        try:
            return int(self._usage.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def _record(self, used: int) -> None:
        draft = self._usage.with_suffix(".tmp")
        draft.write_text(str(max(0, used)))
        draft.replace(self._usage)


def mark_used(path: Path) -> None:
    """Write down that a copy is used now, in its time of access: its time of modification says whether it was written."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _fits(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _used_within(path: Path, seconds: float) -> bool:
    """Whether a copy was used lately; a time far in the future says that the clock was set back, no more."""
    try:
        return abs(time.time() - path.stat().st_atime) < seconds
    except FileNotFoundError:
        return False
