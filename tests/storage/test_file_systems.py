"""One behaviour on every file system: here a folder and fsspec's memory; buckets have a suite of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from polars.testing import assert_frame_equal

import datasets
from datasets.catalogue import Catalogue
from datasets.storage import Storage
from pipeline.build import build_seal
from schemas.errors import SettingsError
from tests.seals import make_seal


@pytest.fixture
def memory() -> Iterator[str]:
    address = f"memory://{uuid.uuid4().hex}"
    yield address
    fsspec.filesystem("memory").store.clear()


@pytest.fixture(params=["folder", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, memory: str) -> Storage:
    return Storage(tmp_path / "root" if request.param == "folder" else memory)


def test_what_was_written_is_read_and_listed(storage: Storage) -> None:
    assert storage.entries("a") == {}
    assert storage.signature("a/x") is None
    assert not storage.exists("a/x")
    storage.write("a/x", b"one")
    storage.write("a/deeper/y", b"two")
    assert storage.read("a/x") == b"one"
    assert storage.exists("a/x")
    assert list(storage.entries("a")) == ["x"]
    assert storage.signature("a") is None, "a folder is no file"
    with pytest.raises(FileNotFoundError):
        storage.read("a/z")


def test_a_rewritten_file_has_another_signature(storage: Storage) -> None:
    storage.write("a/x", b"one")
    before, listed = storage.signature("a/x"), storage.entries("a")["x"]
    assert storage.signature("a/x") == before
    storage.write("a/x", b"two")
    assert storage.signature("a/x") != before
    assert storage.entries("a")["x"] != listed


def test_an_address_may_be_a_file_itself(tmp_path: Path, memory: str) -> None:
    for parent in (str(tmp_path), memory):
        Storage(parent).write("prices.parquet", b"bytes")
        file = Storage(f"{parent}/prices.parquet")
        assert file.signature() is not None
        assert file.read("") == b"bytes"


def test_a_finished_file_is_moved_to_its_place(storage: Storage, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.write_bytes(b"table")
    storage.place(draft, "deep/er/table.parquet")
    assert storage.read("deep/er/table.parquet") == b"table"
    assert not draft.exists()


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd"])
def test_no_path_leaves_the_root(storage: Storage, path: str) -> None:
    with pytest.raises(ValueError, match="leaves the root"):
        storage.read(path)


def test_a_run_is_published_and_read_in_memory(memory: str, tmp_path: Path) -> None:
    seal = make_seal(tmp_path, weeks=14, raw=False)
    catalogue = Catalogue(Storage(memory))
    assert not catalogue.refresh()
    assert build_seal(str(seal), memory).changed
    assert not build_seal(str(seal), memory).changed
    assert catalogue.refresh()
    assert not catalogue.refresh()
    build_seal(str(seal), tmp_path / "published")
    inside = datasets.open(memory)["Test_small"]
    outside = datasets.open(tmp_path / "published")["Test_small"]
    assert inside.manifest == outside.manifest
    for name in outside.datasets():
        assert_frame_equal(inside.scan(name).collect(), outside.scan(name).collect())
        assert inside.arrow(name).count_rows() == outside.arrow(name).count_rows()


def test_an_address_nobody_answers_to_is_refused_without_its_password() -> None:
    with pytest.raises(SettingsError, match="no address of a file system") as refused:
        Storage("nosuchscheme://someone:hunter2@host/root?token=abc")
    assert "hunter2" not in str(refused.value)
    assert "abc" not in str(refused.value)
    assert Storage("memory://user:hunter2@root").address == "memory://root"
