"""Concurrent writers of one pointer in a bucket: exactly one wins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import datasets
from datasets.manifest import digest
from datasets.pointer import Pointer, RollbackScope
from datasets.publication.pointers import compare_and_swap, served
from datasets.storage import Version, open_storage
from schemas.errors import StorageUnavailable
from tests.support.bucket import Bucket
from tests.support.pipeline_command import build_at_once

Seals = Callable[..., Path]


def test_a_write_over_a_newer_version_is_refused(bucket: Bucket) -> None:
    storage = open_storage(bucket.url("root"))
    assert storage.put_if("x", b"one", None)
    assert not storage.put_if("x", b"two", None), "somebody was first"
    seen = storage.read_version("x")
    assert seen.data == b"one"
    assert storage.put_if("x", b"two", seen.tag)
    assert not storage.put_if("x", b"three", seen.tag)
    assert storage.read_version("x").data == b"two"
    assert storage.read_version("y") == Version(None)
    bucket.client.delete_object(Bucket=bucket.name, Key="root/x")
    assert not storage.put_if("x", b"four", seen.tag), "removed meanwhile"


def test_concurrent_changes_are_all_kept(bucket: Bucket, small_seal: Seals) -> None:
    from pipeline.snapshot_builder import build_seal  # noqa: PLC0415 - loads the engine, which tests of the server alone do not need

    build_seal(str(small_seal()), bucket.url())

    def mark(name: str) -> None:
        storage = open_storage(bucket.url())
        for number in range(5):
            compare_and_swap(
                storage,
                "Test_small",
                partial(_judge, snapshot=f"{name}{number}"),
            )

    writers = [threading.Thread(target=mark, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    result = served(open_storage(bucket.url()), "Test_small")
    assert result is not None
    assert sorted(result.rolled_back) == sorted(f"{name}{n}" for name in "abcd" for n in range(5))


@pytest.mark.parametrize("later_first", [False, True])
def test_two_builds_at_once_end_with_the_later_seal_complete(
    bucket: Bucket, small_seal: Seals, tmp_path: Path, later_first: bool
) -> None:
    later = _moved(small_seal(seed=2, sealed_at="2026-01-02T00:00:00Z"), tmp_path / "later")
    seals = [small_seal(seed=1, sealed_at="2026-01-01T00:00:00Z"), later]
    for result in build_at_once(bucket.url(), seals[::-1] if later_first else seals):
        assert "--force" in result
    snapshot = datasets.open(bucket.url())["Test_small"]
    assert snapshot.manifest.sealed_at == "2026-01-02T00:00:00Z"
    storage = open_storage(bucket.url())
    folder = f"alphas/alpha_id=Test_small/snapshot={snapshot.id}"
    for entry in snapshot.manifest.files:
        assert digest(storage.read(f"{folder}/{entry.path}")) == entry.sha256
    assert snapshot.scan("positions").collect().height


def test_the_lock_has_one_holder_and_expires_with_it(bucket: Bucket) -> None:
    storage = open_storage(bucket.url("root"))
    with storage.lock("gc", "one"):
        with (
            pytest.raises(StorageUnavailable, match=r"another gc \(one\) is at work"),
            storage.lock("gc", "two"),
        ):
            pytest.fail("two had the turn at once")
        # As left by a killed holder, long ago.
        seen = storage.read_version(".staging/gc.turn")
        assert seen.data is not None
        storage.put_if(".staging/gc.turn", b'{"holder": "one", "until": "2020-01-01T00:00:00Z"}', seen.tag)
        with storage.lock("gc", "two"):
            pass
    with storage.lock("gc", "three"):
        pass


def _judge(pointer: Pointer | None, snapshot: str) -> Pointer | None:
    if pointer is None:
        return None
    return replace(pointer, rolled_back={**pointer.rolled_back, snapshot: RollbackScope(None, None)})


def _moved(seal: Path, parent: Path) -> Path:
    parent.mkdir()
    return seal.rename(parent / seal.name)
