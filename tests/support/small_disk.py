"""A small disk that tests can fill or mount read-only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import eventually


class SmallDisk:
    """A disk in memory; created by `small_disk`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Fill the disk."""
        descriptor = os.open(self.folder / "filler", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        try:
            while True:
                os.write(descriptor, bytes(4096))
        except OSError:
            pass
        finally:
            os.close(descriptor)
        assert os.statvfs(self.folder).f_bavail == 0

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
            (self.folder / "filler").unlink()

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
