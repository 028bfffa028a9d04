"""Whether the disk of a cache takes copies."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from datasets.disk import writing
from schemas.errors import DiskUnavailable

_MIN_FREE_BYTES: Final = 1 << 20
"""A disk with less room than this counts as full: hardly a published table is smaller."""


class CacheDisk:
    """Remembers why the disk refused a copy, until it would take one of that size again.

    Parameters
    ----------
    folder
        The cache.
    drafts
        Folder in it for copies being made.
    """

    def __init__(self, folder: Path, drafts: Path) -> None:
        self._folder = folder
        self._drafts = drafts
        self._refused_bytes = 0
        self.refusal: str | None = None
        """Why no copy can be made; None when one can, as far as is known."""

    @contextlib.contextmanager
    def copying(self, size: int) -> Iterator[None]:
        """Note whether a copy of so many bytes is refused.

        Raises
        ------
        DiskUnavailable
            As the work inside does.
        """
        try:
            yield
        except DiskUnavailable as error:
            self._refused_bytes, self.refusal = size, str(error)
            raise

    def look(self) -> None:
        """Find out whether a copy could be made now: of the size that was refused last, or of a small one."""
        try:
            with writing(self._folder):
                self._probe()
        except (DiskUnavailable, OSError) as error:
            self.refusal = str(error)

    def _probe(self) -> None:
        status = os.statvfs(self._folder)
        free = status.f_bavail * status.f_frsize
        if status.f_flag & os.ST_RDONLY:
            self.refusal = f"the file system of {self._folder} is mounted read-only"
        elif free < _MIN_FREE_BYTES:
            self.refusal = f"{free} bytes are left on the disk of {self._folder}"
        elif self.refusal is not None:
            self._try_out(max(1, self._refused_bytes))
            self._refused_bytes, self.refusal = 0, None

    def _try_out(self, size: int) -> None:
        draft = self._drafts / f"{uuid.uuid4().hex}.{size}.tmp"
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
