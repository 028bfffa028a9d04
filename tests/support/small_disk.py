"""A small disk that tests can fill or mount read-only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import eventually

FILLER = "filler"


class SmallDisk:
    """A disk in memory; created by `small_disk`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Fill the disk."""
        descriptor = os.open(self.folder / FILLER, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        try:
            while True:
                os.write(descriptor, bytes(4096))
        except OSError:
            pass
        finally:
            os.close(descriptor)
        assert self.free == 0

    def leave(self, room: int) -> None:
        """Fill the disk until that many bytes are free."""
        (self.folder / FILLER).unlink(missing_ok=True)
        with (self.folder / FILLER).open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, self.free - room)

    def make_room(self) -> None:
        """Free the disk again."""
        (self.folder / FILLER).unlink()

    @property
    def free(self) -> int:
        """Return the free bytes."""
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    def mount(self, options: str) -> None:
        """Remount it read-only (``ro``) or writable (``rw``)."""
        # Refused while a process has a file on it open for writing.
        command = ["mount", "-o", f"remount,{options}", str(self.folder)]
        eventually(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, options)

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Keep the disk full within the block."""
        self.fill()
        try:
            yield
        finally:
            self.make_room()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Mount read-only within the block."""
        self.mount("ro")
        try:
            yield
        finally:
            self.mount("rw")


@contextlib.contextmanager
def small_disk(folder: Path, size: int = 16 << 20) -> Iterator[SmallDisk]:
    """Create a folder and mount a disk at it for the length of the block; skip the test if mounting is not permitted."""
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if os.getuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
