"""Storage behaviour, on a folder and on a real bucket."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasets.publication.publish import Publication, sweep_staging
from datasets.storage import Storage, open_storage
from datasets.storage.lock import object_lock
from datasets.storage.object_store import ObjectStorage
from schemas.errors import SettingsError, StorageUnavailable
from tests.support.bucket import Bucket
from tests.support.pipeline_command import run_pipeline


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        return open_storage(tmp_path / "root")
    bucket: Bucket = request.getfixturevalue("bucket")
    return open_storage(bucket.url("root"))


def test_written_files_are_read_and_listed(storage: Storage) -> None:
    assert storage.entries("a") == {}
    assert storage.signature("a/x") is None
    storage.put("a/x", b"one")
    storage.put("a/deeper/y", b"two")
    assert storage.read("a/x") == b"one"
    assert list(storage.entries("a")) == ["x"]
    assert storage.signature("a") is None, "a folder is not a file"
    with pytest.raises(FileNotFoundError):
        storage.read("a/z")


def test_a_rewritten_file_has_another_signature(storage: Storage) -> None:
    storage.put("a/x", b"one")
    before, listed = storage.signature("a/x"), storage.entries("a")["x"]
    assert storage.signature("a/x") == before
    storage.put("a/x", b"two")
    assert storage.signature("a/x") != before
    assert storage.entries("a")["x"] != listed


def test_an_address_may_be_a_file_itself(storage: Storage) -> None:
    storage.put("prices.parquet", b"bytes")
    file = open_storage(f"{storage.address}/prices.parquet")
    assert file.signature() is not None
    assert file.read("") == b"bytes"


def test_a_lock_is_held_by_the_writer_whose_retry_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_storage(tmp_path / "root")
    write = storage.put_if
    monkeypatch.setattr(storage, "put_if", lambda *arguments: write(*arguments) and False)
    with (
        object_lock(storage, "gc", "one"),
        pytest.raises(StorageUnavailable, match=r"\(one\) is at work"),
        object_lock(storage, "gc", "two"),
    ):
        pytest.fail("two had the lock at once")
    with object_lock(storage, "gc", "two"):
        pass


def test_a_finished_file_is_moved_to_its_place(storage: Storage, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.write_bytes(b"table")
    storage.put("deep/er/table.parquet", draft)
    assert storage.read("deep/er/table.parquet") == b"table"
    assert not draft.exists()


@pytest.mark.parametrize("finished", [True, False], ids=["a finished file", "bytes"])
def test_a_written_file_is_not_lost_when_the_power_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool
) -> None:
    """A file is durable once it, the folder with its entry, and the folder with the entry of each new folder are flushed."""
    root, draft = tmp_path / "root", tmp_path / "draft"
    draft.write_bytes(b"table")
    target = root / "deep" / "er" / "table"
    flushed: dict[str, bool] = {}

    def record(descriptor: int) -> None:
        flushed[str(Path(f"/proc/self/fd/{descriptor}").readlink())] = target.exists()

    monkeypatch.setattr(os, "fsync", record)
    open_storage(root).put("deep/er/table", draft if finished else b"table")
    durable = {path for path, placed in flushed.items() if placed}
    assert {str(path) for path in (root / "deep" / "er", root / "deep", root)} <= durable
    of_files = [placed for path, placed in flushed.items() if not Path(path).is_dir()]
    assert of_files == [False], "the bytes are flushed before they get their name"


@pytest.mark.parametrize("begun_by", ["a build", "a document"])
def test_a_new_root_is_not_lost_when_the_power_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun_by: str
) -> None:
    """The entries of a new root and of its new parents are flushed, too."""
    root = tmp_path / "new" / "root"
    flushed: set[str] = set()

    def record(descriptor: int) -> None:
        flushed.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fsync", record)
    if begun_by == "a build":
        with Publication(open_storage(root), "Test_a"):
            pass
    else:
        open_storage(root).put("refused/x.json", b"{}")
    assert {str(root.parent), str(tmp_path)} <= flushed


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd"])
def test_no_path_leaves_the_root(storage: Storage, path: str) -> None:
    with pytest.raises(ValueError, match="leaves the root"):
        storage.read(path)


def test_many_files_are_read_listed_and_removed_at_once(storage: Storage, tmp_path: Path) -> None:
    paths = [f"runs/{number}/seal.json" for number in range(3)]
    for path in paths:
        storage.put(path, path.encode())
    storage.put("runs/1/ledger.csv", b"1")
    assert storage.read_many([*paths, "runs/9/seal.json"]) == {p: p.encode() for p in paths} | {
        "runs/9/seal.json": None
    }
    assert storage.read_many(paths[:1]) == {paths[0]: paths[0].encode()}
    assert sorted(storage.find_named("seal.json")) == paths
    assert storage.folders("runs") == ["0", "1", "2"]
    assert storage.folders("nothing/here") == []
    if isinstance(storage, ObjectStorage):
        storage.download("runs/1/ledger.csv", tmp_path / "copy", 1)
        assert (tmp_path / "copy").read_bytes() == b"1"
        with pytest.raises(FileNotFoundError):
            storage.download("runs/1/nothing", tmp_path / "copy", 1)
    storage.remove_files([paths[0], paths[1], "runs/1/ledger.csv", "runs/9/seal.json"])
    assert list(storage.files_below("runs")) == ["2/seal.json"]
    assert storage.files_below("runs")["2/seal.json"].size == len(paths[2])


def test_a_name_is_no_pattern(storage: Storage) -> None:
    paths = ["runs/momentum[12-1]/seal.json", "runs/momentum1/seal.json", "runs/reversal[5]/seal.json"]
    for path in paths:
        storage.put(path, path.encode())
    assert storage.read_many(paths) == {path: path.encode() for path in paths}
    assert storage.read_many(paths[2:]) == {paths[2]: paths[2].encode()}


def test_old_drafts_of_dead_processes_are_swept_and_nothing_else(storage: Storage) -> None:
    for path in (".staging/probe-1.tmp", ".staging/gc.turn", "catalog/x.tmp"):
        storage.put(path, b"1")
    now = datetime.now(UTC)
    sweep_staging(storage, now - timedelta(hours=1))
    assert storage.read(".staging/probe-1.tmp")
    sweep_staging(storage, now + timedelta(hours=1))
    with pytest.raises(FileNotFoundError):
        storage.read(".staging/probe-1.tmp")
    assert storage.read(".staging/gc.turn")
    assert storage.read("catalog/x.tmp")


def test_a_lock_has_one_holder(storage: Storage) -> None:
    with storage.lock("gc", "one") as renew:
        renew()
        with pytest.raises(StorageUnavailable, match="another gc"), storage.lock("gc", "two"):
            pytest.fail("two had the lock at once")
    with storage.lock("gc", "two"):
        pass


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    open_storage(tmp_path).put("x", b"1")
    there = open_storage(f"file://{tmp_path}")
    assert there.read("x") == b"1"
    assert there.url("x") == str(tmp_path / "x")


@pytest.mark.parametrize(
    "address",
    [
        "dropbox://root",
        "gs://someone:hunter2@bucket/root?token=abc",
        "http://someone:hunter2@host/root?token=abc",
        "nosuchscheme://someone:hunter2@host/root?token=abc",
        "simplecache::s3://bucket/root",
    ],
)
def test_a_store_that_is_not_supported_is_refused_in_one_line_without_its_password(address: str) -> None:
    with pytest.raises(SettingsError, match=r"is not a supported store; give a folder.* s3://") as refused:
        open_storage(address)
    assert "hunter2" not in str(refused.value)
    assert "abc" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_invalid_path_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match="is not an address of a file system"):
        open_storage("a\0b")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("n" * 300, "its name is too long for the file system; shorten it"),
        ("n\udce9", "its name is not UTF-8; rename the folder"),
    ],
)
def test_a_path_that_cannot_be_used_is_refused_with_the_fix(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=f"is not an address of a file system: {reason}"):
        open_storage(tmp_path / name)


@pytest.mark.parametrize(
    ("address", "fix"),
    [
        ("s3:/bucket/root", "write s3://bucket/root"),
        ("file:/srv/root", "write file:///srv/root"),
        ("~nobody_of_that_name/root", "write ./~nobody_of_that_name/root"),
    ],
)
def test_a_mistyped_address_is_not_taken_for_a_folder_to_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, fix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=re.escape(fix)):
        open_storage(address)


def test_a_folder_whose_name_begins_with_a_tilde_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~scratch").mkdir()
    open_storage("~scratch").put("x", b"1")
    assert (tmp_path / "~scratch" / "x").read_bytes() == b"1"


def test_links_that_lead_to_each_other_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    result = run_pipeline("list", tmp_path / "one")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert f"{tmp_path}/one" in result.output


def test_a_folder_is_one_root_by_any_path_and_another_below_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = []
    for place in ("one", "two"):
        folder = tmp_path / place / "published"
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder.parent)
        roots.append({open_storage(path).identity for path in ("published", "./published/", folder)})
    assert [len(identities) for identities in roots] == [1, 1]
    assert roots[0] != roots[1], "they would share their folders of rows and returns"
