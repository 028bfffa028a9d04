"""File digests are computed once per version of a file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from datasets.storage import file_digests
from datasets.storage.file_digests import FileDigests
from schemas.errors import StorageUnavailable


class Readings:
    """Counts how often a file is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        digest = hashlib.file_digest

        def counted(*arguments: Any) -> Any:
            self.count += 1
            return digest(*arguments)

        monkeypatch.setattr(hashlib, "file_digest", counted)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Readings:
    return Readings(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"content")
    return tmp_path / "file"


CONTENT = hashlib.sha256(b"content").hexdigest()
OTHER = hashlib.sha256(b"c0ntent").hexdigest()


def test_a_file_is_read_once_until_it_is_written_or_replaced(path: Path, readings: Readings) -> None:
    digests = FileDigests(3600)
    for _ in range(3):
        assert digests.intact(path, 7, CONTENT)
        assert not digests.intact(path, 7, OTHER)
    assert readings.count == 1
    path.write_bytes(b"c0ntent")
    assert digests.intact(path, 7, OTHER)
    assert not digests.intact(path, 7, CONTENT)
    assert readings.count == 2
    (path.parent / "new").write_bytes(b"content")
    (path.parent / "new").replace(path)
    assert digests.intact(path, 7, CONTENT)
    linked = path.with_name("linked")
    linked.hardlink_to(path)
    assert digests.intact(linked, 7, CONTENT)
    assert readings.count == 3


def test_a_file_of_another_size_is_not_read_at_all(path: Path, readings: Readings) -> None:
    assert not FileDigests(3600).intact(path, 8, CONTENT)
    assert readings.count == 0


def test_a_digest_expires(path: Path, readings: Readings) -> None:
    digests = FileDigests(3600)
    assert digests.intact(path, 7, CONTENT)
    status = path.stat()
    path.write_bytes(b"c0ntent")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digests.intact(path, 7, CONTENT), "nothing tells that it was changed"
    digests.trust(0.0)
    assert not digests.intact(path, 7, CONTENT)
    assert readings.count == 2


def test_a_mismatching_digest_is_soon_computed_again(
    path: Path, readings: Readings, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = FileDigests(3600)
    assert not digests.intact(path, 7, OTHER)
    assert not digests.intact(path, 7, OTHER)
    assert readings.count == 1
    monkeypatch.setattr(file_digests, "_DOUBTED_SECONDS", 0.0)
    assert not digests.intact(path, 7, OTHER)
    assert readings.count == 2


def test_a_missing_file_and_a_failing_disk_are_reported(path: Path) -> None:
    digests = FileDigests(3600)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        digests.intact(path, 7, CONTENT)
    path.symlink_to("/proc/self/mem")
    with pytest.raises(StorageUnavailable, match="hardware fault"):
        digests.intact(path, 0, CONTENT)


def test_only_a_bounded_number_of_digests_is_remembered(
    tmp_path: Path, readings: Readings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_digests, "_MAX_FILES", 3)
    digests = FileDigests(3600)
    for number in range(4):
        (tmp_path / str(number)).write_bytes(b"content")
    for number in (0, 1, 2, 3, 3, 0):
        assert digests.intact(tmp_path / str(number), 7, CONTENT)
    assert readings.count == 5, "the last is remembered, the first is read again"
