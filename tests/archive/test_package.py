"""Delivery to a folder and to memory; delivery to an object store is tested in tests/s3."""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from datasets.provenance.archives import (
    ArchiveState,
    archive_state_path,
    read_archive_state,
    write_archive_state,
)
from datasets.storage import Storage, open_storage
from pipeline.archive.exclusions import DEFAULT_EXCLUDE
from pipeline.archive.package import package
from pipeline.seal import Seal
from schemas.errors import AlphaNotPublished, SnapshotCorrupt
from tests.support.pipeline_command import build
from tests.support.seals import make_seal, resign, rewrite
from tests.support.small_disk import small_disk

LITTER = {
    ".env",
    "__pycache__/signal.cpython-311.pyc",
    "books/__pycache__/ledger.cpython-311.pyc",
    "keys/id_rsa",
}
"""What of the sealed source no archive may hold; the reference engine seals most of it on purpose."""


@pytest.fixture
def seal_folder(tmp_path: Path) -> Path:
    folder = make_seal(tmp_path / "seals", weeks=14, raw=False)
    for name, content in {"keys/id_rsa": "private", "lib/more.py": "x = 1\n"}.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return resign(folder)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(tmp_path / "published")


def opened(folder: Path) -> Seal:
    return Seal.open(str(folder))


def delivered(state: ArchiveState | None) -> ArchiveState:
    assert state is not None
    assert (state.status, state.reason) == ("delivered", None)
    return state


def test_an_archive_is_delivered_and_recorded(seal_folder: Path, storage: Storage, tmp_path: Path) -> None:
    seal = opened(seal_folder)
    state = delivered(package(seal, storage, str(tmp_path / "archives")))
    assert read_archive_state(storage, "Test_small", seal.digest) == state
    assert state.key == f"Test_small/{state.sha256}.zip"
    content = (tmp_path / "archives" / state.key).read_bytes()
    assert (len(content), hashlib.sha256(content).hexdigest()) == (state.size_bytes, state.sha256)
    assert (state.filename, state.left_out, state.exclude) == ("Test_small.zip", len(LITTER), DEFAULT_EXCLUDE)
    with zipfile.ZipFile(io.BytesIO(content)) as result:
        names = set(result.namelist())
        assert names == set(seal.source_files()) - LITTER
        assert len(names) == state.files
        for name in names:
            assert result.read(name) == (seal_folder / "source" / name).read_bytes()


def test_packaging_is_idempotent(seal_folder: Path, storage: Storage, tmp_path: Path) -> None:
    address = str(tmp_path / "archives")
    first = delivered(package(opened(seal_folder), storage, address))
    assert first.key is not None
    before = (tmp_path / "archives" / first.key).stat().st_mtime_ns
    assert package(opened(seal_folder), storage, address) == first
    assert (tmp_path / "archives" / first.key).stat().st_mtime_ns == before


def test_a_lost_archive_is_delivered_again(seal_folder: Path, storage: Storage, tmp_path: Path) -> None:
    address = str(tmp_path / "archives")
    first = delivered(package(opened(seal_folder), storage, address))
    assert first.key is not None
    (tmp_path / "archives" / first.key).unlink()
    again = delivered(package(opened(seal_folder), storage, address))
    assert (again.key, again.sha256) == (first.key, first.sha256)
    assert (tmp_path / "archives" / first.key).is_file()


def test_a_delivery_removes_the_drafts_of_killed_ones(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    staging = tmp_path / "archives" / ".staging"
    staging.mkdir(parents=True)
    killed, running = staging / "killed.tmp", staging / "running.tmp"
    for draft in (killed, running):
        draft.write_bytes(b"part of an archive")
    two_hours_ago = time.time() - 7200
    os.utime(killed, (two_hours_ago, two_hours_ago))
    delivered(package(opened(seal_folder), storage, str(tmp_path / "archives")))
    assert [path.name for path in staging.glob("*.tmp")] == ["running.tmp"]


def test_changed_exclusions_change_the_archive(seal_folder: Path, storage: Storage, tmp_path: Path) -> None:
    address = str(tmp_path / "archives")
    first = delivered(package(opened(seal_folder), storage, address))
    more = delivered(package(opened(seal_folder), storage, address, exclude=(*DEFAULT_EXCLUDE, "more.py")))
    assert more.left_out == first.left_out + 1
    assert more.key != first.key
    assert first.key is not None
    assert (tmp_path / "archives" / first.key).is_file(), "an address signed before keeps its meaning"


def test_each_seal_of_an_alpha_keeps_its_own_archive(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    address = str(tmp_path / "archives")
    first = opened(seal_folder)
    package(first, storage, address)
    (seal_folder / "source" / "lib" / "more.py").write_text("x = 2\n")
    second = opened(resign(seal_folder))
    package(second, storage, address)
    states = [read_archive_state(storage, "Test_small", seal.digest) for seal in (first, second)]
    assert len({delivered(state).sha256 for state in states}) == 2


def test_a_run_without_source_records_no_archive(tmp_path: Path, storage: Storage) -> None:
    seal = opened(make_seal(tmp_path / "seals", weeks=14, raw=False, source=False))
    assert package(seal, storage, str(tmp_path / "archives")) is None
    assert package(seal, storage, None) is None
    assert read_archive_state(storage, "Test_small", seal.digest) is None
    assert not (tmp_path / "archives").exists()


def test_a_source_of_private_files_only_is_not_archived(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    state = package(opened(seal_folder), storage, str(tmp_path / "archives"), exclude=("*",))
    assert state is not None
    assert state.status == "failed"
    assert state.reason is not None
    assert "exclusion patterns" in state.reason
    assert read_archive_state(storage, "Test_small", opened(seal_folder).digest) == state


def test_patterns_that_leave_no_file_are_reported_once_and_need_other_patterns(
    seal_folder: Path, tmp_path: Path
) -> None:
    options = ("--from", str(seal_folder.parent), "--archives", str(tmp_path / "archives"), "--json")
    first = build(tmp_path / "root", *options, "--exclude", "*")
    assert (first.exit_code, first.json["summary"]["built"]) == (2, 1)
    entry = first.json["seals"][0]
    assert "ALPHA_RESULTS_ARCHIVE_EXCLUDE" in entry["archive"]["reason"]
    assert entry["retryable"] is False
    again = build(tmp_path / "root", *options, "--exclude", "*")
    assert (again.exit_code, again.json["summary"]["unchanged"]) == (0, 1)
    assert "archive" not in again.json["seals"][0]
    changed = build(tmp_path / "root", *options, "--exclude", "*.pyc").json["seals"][0]
    assert changed["archive"]["status"] == "delivered"


def test_an_empty_source_folder_is_no_source(seal_folder: Path, tmp_path: Path) -> None:
    rewrite(seal_folder, "seal", _without_source_files)
    result = build(tmp_path / "root", str(seal_folder), "--archives", str(tmp_path / "archives"), "--json")
    assert result.exit_code == 0
    assert result.json["seals"][0]["archive"] is None
    assert not (tmp_path / "archives").exists()


def _without_source_files(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest["kinds"]["source"]["files"] = {}
    return manifest


def test_a_failed_delivery_is_recorded_and_retried(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    blocked = tmp_path / "archives"
    blocked.write_text("a file where the folder should be")
    state = package(opened(seal_folder), storage, str(blocked))
    assert state is not None
    assert state.status == "failed"
    assert state.reason
    assert read_archive_state(storage, "Test_small", opened(seal_folder).digest) == state
    blocked.unlink()
    delivered(package(opened(seal_folder), storage, str(blocked)))


def test_an_archive_that_fails_on_a_full_disk_does_not_claim_to_undo_the_publication(
    seal_folder: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.full():
        result = build(tmp_path / "root", "--archives", str(disk.folder / "archives"), str(seal_folder))
    assert result.exit_code == 6
    assert "no space is left on its disk" in result.output
    assert "is unchanged" not in result.output


def test_a_failure_keeps_the_archive_that_was_delivered_before(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    first = delivered(package(opened(seal_folder), storage, str(tmp_path / "archives")))
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    state = package(opened(seal_folder), storage, str(blocked))
    assert state is not None
    assert state.status == "failed"
    assert read_archive_state(storage, "Test_small", opened(seal_folder).digest) == first


def test_a_source_file_changed_after_sealing_is_never_packaged(
    seal_folder: Path, storage: Storage, tmp_path: Path
) -> None:
    (seal_folder / "source" / "lib" / "more.py").write_text("changed behind the seal")
    state = package(opened(seal_folder), storage, str(tmp_path / "archives"))
    assert state is not None
    assert state.status == "failed"
    assert state.reason is not None
    assert "more.py" in state.reason


def test_a_damaged_record_is_named_and_replaced(seal_folder: Path, storage: Storage, tmp_path: Path) -> None:
    seal = opened(seal_folder)
    path = archive_state_path("Test_small", seal.digest)
    for damage in (b"{}", b"no json", b"[]", b'{"status": "delivered"}'):
        storage.put(path, damage)
        with pytest.raises(SnapshotCorrupt, match="seal="):
            read_archive_state(storage, "Test_small", seal.digest)
    delivered(package(seal, storage, str(tmp_path / "archives")))


def test_no_record_is_stored_outside_its_folder(storage: Storage) -> None:
    with pytest.raises(AlphaNotPublished):
        archive_state_path("../x", "0" * 64)
    with pytest.raises(SnapshotCorrupt):
        write_archive_state(storage, ArchiveState("Test_a", "../../x", "failed", "", "Test_a.zip"))


def test_a_file_in_place_of_the_folder_of_archives_is_refused_before_the_build(
    seal_folder: Path, tmp_path: Path
) -> None:
    archives = tmp_path / "archives"
    archives.write_text("mine")
    result = build(tmp_path / "root", str(seal_folder), "--archives", str(archives))
    assert result.exit_code == 2
    assert f"--archives: '{archives}' is a file, not a folder" in result.output
    assert not (tmp_path / "root").exists()


def test_a_build_reports_the_archive_and_delivers_a_lost_one_again(seal_folder: Path, tmp_path: Path) -> None:
    archives = tmp_path / "archives"
    options = (str(seal_folder), "--archives", str(archives), "--json")
    archives.mkdir()
    (archives / "Test_small").write_text("a file where the folder should be")
    bad = build(tmp_path / "published", *options)
    assert bad.exit_code == 6
    assert bad.json["seals"][0]["archive"]["status"] == "failed"
    (archives / "Test_small").unlink()
    good = build(tmp_path / "published", *options)
    assert good.exit_code == 0
    (result,) = good.json["seals"]
    archive = result["archive"]
    assert (result["outcome"], archive["status"], archive["left_out"]) == (
        "unchanged", "delivered", len(LITTER),
    )  # fmt: skip
    (archives / archive["key"]).unlink()
    build(tmp_path / "published", *options)
    assert (archives / archive["key"]).is_file()
