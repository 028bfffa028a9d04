"""Files of a snapshot: row groups, the order of sealed rows, and disks that fail."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.snapshot_builder import build_seal
from schemas.errors import StorageUnavailable
from tests.support.seals import make_seal, rewrite


@pytest.fixture(scope="module")
def seal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("run"), weeks=14)


def published(seal: Path, root: Path) -> dict[str, str]:
    build_seal(str(seal), root)
    files = {
        str(path.relative_to(root)).split("snapshot=")[-1].partition("/")[2]: path
        for path in root.rglob("*.parquet")
    }
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def test_large_files_have_few_row_groups(tmp_path: Path, seal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.snapshot_builder.write.ROW_GROUP_ROWS", 1)
    build_seal(str(seal), tmp_path)
    groups = [pq.read_metadata(path).num_row_groups for path in tmp_path.rglob("*.parquet")]
    assert max(groups) == 32


@pytest.mark.parametrize("kind", ["decisions", "positions", "pnl"])
def test_an_unsorted_table_is_published_as_a_sorted_one(tmp_path: Path, seal: Path, kind: str) -> None:
    sorted_files = published(seal, tmp_path / "sorted")
    shuffled = make_seal(tmp_path, weeks=14)
    rewrite(shuffled, kind, lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=3))
    assert published(shuffled, tmp_path / "shuffled") == sorted_files


def test_a_file_that_cannot_be_written_ends_the_build(
    seal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pipeline.snapshot_builder.write.os.fsync", full)
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        build_seal(str(seal), tmp_path / "root")
    assert not list((tmp_path / "root").rglob("manifest.json"))
