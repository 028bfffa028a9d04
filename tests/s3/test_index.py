"""The index of a bucket's pointers: requests saved, and stale entries never served for long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from datasets.catalogue.live import Catalogue
from datasets.catalogue.pointer_index import INDEX_PATH, MOVED_PATH, read_index, rebuild
from datasets.layout import pointer_path
from datasets.pointer import Pointer
from datasets.publication.decisions import Author, withdraw
from datasets.publication.pointers import compare_and_swap, moment
from datasets.storage import Storage, open_storage
from datasets.storage.backends.s3 import S3Storage
from pipeline.group import cli
from tests.support.bucket import Bucket
from tests.support.pointers import synthetic_pointer
from tests.support.s3_requests import counted_requests
from tests.support.waiting import eventually

ALPHAS = 30
HOUR = 3600.0


def put(storage: Storage, pointer: Pointer) -> None:
    """Move a pointer like a publisher that is killed right after."""
    storage.put(pointer_path(pointer.alpha_id), pointer.encode())


def publish(storage: Storage, pointer: Pointer) -> None:
    compare_and_swap(storage, pointer.alpha_id, lambda _: replace(pointer, published_at=moment()))


def poll(bucket: Bucket, catalogue: Catalogue) -> tuple[bool, Counter[str]]:
    with counted_requests(bucket.server) as requests:
        changed = catalogue.refresh()
    return changed, requests


def names(catalogue: Catalogue) -> dict[str, str]:
    return {pointer.alpha_id: pointer.name for pointer in catalogue.listing.pointers}


@pytest.fixture
def storage(bucket: Bucket) -> Storage:
    opened = open_storage(bucket.url("root"))
    for number in range(ALPHAS):
        put(opened, synthetic_pointer(number))
    rebuild(opened)
    return opened


def test_a_first_refresh_reads_the_index_and_an_idle_poll_is_one_request(
    bucket: Bucket, storage: Storage
) -> None:
    catalogue = Catalogue(storage, HOUR)
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 2})
    assert len(catalogue.listing.pointers) == ALPHAS
    assert names(catalogue)[synthetic_pointer(7).alpha_id] == synthetic_pointer(7).name
    assert poll(bucket, catalogue) == (False, {"GET": 1})
    publish(storage, replace(synthetic_pointer(7), name="Published again"))
    publish(storage, replace(synthetic_pointer(9), name="Published beside it"))
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 3}), "none of the others is read"
    assert names(catalogue)[synthetic_pointer(7).alpha_id] == "Published again"
    assert names(catalogue)[synthetic_pointer(9).alpha_id] == "Published beside it"
    assert poll(bucket, catalogue) == (False, {"GET": 1})


def test_a_withdrawal_is_seen_by_the_next_poll(storage: Storage) -> None:
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    withdraw(storage, synthetic_pointer(3).alpha_id, Author("somebody@here"))
    assert catalogue.refresh()
    assert catalogue.resolve(synthetic_pointer(3).alpha_id) is None
    assert len(catalogue.listing.pointers) == ALPHAS - 1


def test_a_pointer_moved_by_a_killed_publisher_is_found_by_the_next_listing(
    storage: Storage,
) -> None:
    catalogue = Catalogue(storage, 0.3)
    catalogue.refresh()
    put(storage, replace(synthetic_pointer(7), name="Moved and not recorded"))
    eventually(catalogue.refresh)
    assert names(catalogue)[synthetic_pointer(7).alpha_id] == "Moved and not recorded"


def test_a_stale_index_is_not_used(bucket: Bucket, storage: Storage) -> None:
    put(storage, replace(synthetic_pointer(7), name="Newer than the index"))
    catalogue = Catalogue(storage, HOUR)
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 3})
    assert names(catalogue)[synthetic_pointer(7).alpha_id] == "Newer than the index"


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "of another format"])
def test_a_damaged_index_only_costs_reads(storage: Storage, damage: str) -> None:
    data = storage.read(INDEX_PATH)
    if damage == "gone":
        storage.remove_files([INDEX_PATH, MOVED_PATH])
    else:
        changed = data.replace(b'"format":2', b'"format":1')
        storage.put(
            INDEX_PATH,
            {"cut": data[:-9], "changed": data[:-9] + b"123456789"}.get(damage, changed),
        )
    catalogue = Catalogue(storage, HOUR)
    assert catalogue.refresh()
    assert len(catalogue.listing.pointers) == ALPHAS
    put(storage, replace(synthetic_pointer(7), name="Listed"))
    if damage == "gone":
        assert catalogue.refresh(), "where nothing says what moved every poll is a listing"
    rebuild(storage)
    assert len(read_index(storage)) == ALPHAS
    catalogue.refresh()
    assert not catalogue.refresh()


def test_a_batch_and_gc_leave_an_index_of_all_alphas(
    bucket: Bucket, small_seal: Callable[..., Path], tmp_path: Path
) -> None:
    seals = tmp_path / "searched"
    seals.mkdir()
    small_seal().rename(seals / "one")
    where = ("--datasets", bucket.url("root"))
    done = CliRunner().invoke(cli, ["build", "--from", str(seals), *where])
    assert done.exit_code == 0, done.output
    storage = open_storage(bucket.url("root"))
    assert list(read_index(storage)) == ["Test_small"]
    storage.remove_files([INDEX_PATH])
    assert CliRunner().invoke(cli, ["gc", *where]).exit_code == 0
    assert list(read_index(storage)) == ["Test_small"]


def test_a_failed_index_write_does_not_fail_a_publication(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written = S3Storage.put

    def refused(self: S3Storage, relative: str, content: bytes | Path) -> None:
        if relative == MOVED_PATH:
            raise PermissionError(relative)
        written(self, relative, content)

    monkeypatch.setattr(S3Storage, "put", refused)
    publish(storage, replace(synthetic_pointer(7), name="Published all the same"))
    assert "list all pointers next" in caplog.text
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    assert names(catalogue)[synthetic_pointer(7).alpha_id] == "Published all the same"


def test_an_index_larger_than_a_document_is_read(storage: Storage) -> None:
    for number in range(9):
        pointer = synthetic_pointer(number)
        put(storage, replace(pointer, tldr="x" * (2 << 20)))
    storage.remove_files([INDEX_PATH])
    rebuild(storage)
    catalogue = Catalogue(storage, HOUR)
    assert (storage.signature(INDEX_PATH) or (0, 0))[1] > 16 << 20
    assert catalogue.refresh()
    assert len(catalogue.listing.pointers) == ALPHAS
    assert len(read_index(storage)) == ALPHAS


def test_without_an_index_a_poll_is_one_listing_and_one_read_for_each_pointer_that_changed(
    bucket: Bucket,
) -> None:
    storage = open_storage(bucket.url("root"))
    for number in range(ALPHAS):
        put(storage, synthetic_pointer(number))
    catalogue = Catalogue(storage)
    # One read of the missing index, which is tried for this many pointers.
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": ALPHAS + 1})
    for _ in range(2):
        assert poll(bucket, catalogue) == (False, {"LIST": 1})
    put(storage, replace(synthetic_pointer(7), name="Published again"))
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 1})
    assert poll(bucket, catalogue) == (False, {"LIST": 1})
    storage.remove_files([pointer_path(synthetic_pointer(8).alpha_id)])
    assert poll(bucket, catalogue) == (True, {"LIST": 1})
    assert len(catalogue.listing.pointers) == ALPHAS - 1
