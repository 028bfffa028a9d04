"""File digests are computed once per version of a file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from datasets.storage import file_digests
from datasets.storage.file_digests import FileDigests
from schemas.errors import StorageUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"content")
    return tmp_path / "file"


CONTENT = hashlib.sha256(b"content").hexdigest()
OTHER = hashlib.sha256(b"c0ntent").hexdigest()


def write_unseen(path: Path, content: bytes) -> None:
    """Write a file of the same size without a trace in its status, so that only reading it again tells."""
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_file_is_read_once_until_it_is_written_or_replaced(path: Path) -> None:
    digests = FileDigests(3600)
    assert digests.intact(path, 7, CONTENT)
    write_unseen(path, b"c0ntent")
    assert digests.intact(path, 7, CONTENT)
    assert not digests.intact(path, 7, OTHER)
    path.write_bytes(b"c0ntent")
    assert digests.intact(path, 7, OTHER)
    assert not digests.intact(path, 7, CONTENT)
    (path.parent / "new").write_bytes(b"content")
    (path.parent / "new").replace(path)
    assert digests.intact(path, 7, CONTENT)
    linked = path.with_name("linked")
    linked.hardlink_to(path)
    write_unseen(path, b"c0ntent")
    assert digests.intact(linked, 7, CONTENT)


def test_a_file_of_another_size_is_not_read_at_all(path: Path) -> None:
    path.unlink()
    path.symlink_to("/proc/self/mem")  # reading it fails
    assert not FileDigests(3600).intact(path, 8, CONTENT)


def test_a_digest_expires(path: Path) -> None:
    digests = FileDigests(3600)
    assert digests.intact(path, 7, CONTENT)
    write_unseen(path, b"c0ntent")
    assert digests.intact(path, 7, CONTENT)
    digests.trust(0.0)
    assert not digests.intact(path, 7, CONTENT)


def test_a_mismatching_digest_is_soon_computed_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = FileDigests(3600)
    assert not digests.intact(path, 7, OTHER)
    write_unseen(path, b"c0ntent")
    assert not digests.intact(path, 7, OTHER)
    monkeypatch.setattr(file_digests, "_DOUBTED_SECONDS", 0.0)
    assert digests.intact(path, 7, OTHER)


def test_a_missing_file_and_a_failing_disk_are_reported(path: Path) -> None:
    digests = FileDigests(3600)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        digests.intact(path, 7, CONTENT)
    path.symlink_to("/proc/self/mem")
    with pytest.raises(StorageUnavailable, match="hardware fault"):
        digests.intact(path, 0, CONTENT)


def test_only_a_bounded_number_of_digests_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_digests, "_MAX_FILES", 3)
    digests = FileDigests(3600)
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        path.write_bytes(b"content")
        assert digests.intact(path, 7, CONTENT)
        write_unseen(path, b"c0ntent")
    assert digests.intact(paths[-1], 7, CONTENT), "the last is remembered"
    assert digests.intact(paths[0], 7, OTHER), "the first is read again"
