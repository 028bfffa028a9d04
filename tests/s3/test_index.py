"""The index of a bucket's pointers: what it saves, and that nothing it says or leaves out is served for long."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from benchmarks.catalogue import make_pointer
from datasets import change_hints
from datasets.catalogue import Catalogue
from datasets.layout import INDEX, pointer_path
from datasets.pointer import Pointer
from datasets.pointer_index import rebuild, record, write
from datasets.pointer_index.format import HEAD, Head, base_path
from datasets.pointer_index.read import read_base
from datasets.publication.decisions import Author, withdraw
from datasets.publication.pointers import compare_and_swap, moment
from datasets.storage import Storage, Version, open_storage
from datasets.storage.s3 import S3Storage
from tests.support.bucket import Bucket
from tests.support.s3_requests import asked

ALPHAS = 30
HOUR = 3600.0


def put(storage: Storage, pointer: Pointer) -> None:
    """Move a pointer as a publisher does that is killed right after."""
    storage.write(pointer_path(pointer.alpha_id), pointer.encode())


def publish(storage: Storage, pointer: Pointer) -> None:
    compare_and_swap(storage, pointer.alpha_id, lambda _: replace(pointer, published_at=moment()))


def poll(bucket: Bucket, catalogue: Catalogue, wanted: tuple[str, ...] = ()) -> tuple[bool, Counter[str]]:
    with asked(bucket.server) as requests:
        changed = catalogue.refresh(wanted)
    return changed, requests


def head_of(storage: Storage) -> Head:
    return Head.decode(storage.read(HEAD))


def names(catalogue: Catalogue) -> dict[str, str]:
    return {pointer.alpha_id: pointer.name for pointer in catalogue.pointers()}


@pytest.fixture
def storage(bucket: Bucket) -> Storage:
    opened = open_storage(bucket.url("root"))
    for number in range(ALPHAS):
        put(opened, make_pointer(number))
    assert rebuild(opened)
    return opened


def test_a_first_look_reads_the_index_and_a_poll_is_one_conditional_read(
    bucket: Bucket, storage: Storage
) -> None:
    catalogue = Catalogue(storage, HOUR)
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 2})
    assert len(catalogue.pointers()) == ALPHAS
    assert names(catalogue)[make_pointer(7).alpha_id] == make_pointer(7).name
    assert poll(bucket, catalogue) == (False, {"GET": 1})
    publish(storage, replace(make_pointer(7), name="Published again"))
    assert poll(bucket, catalogue) == (True, {"GET": 2})
    assert names(catalogue)[make_pointer(7).alpha_id] == "Published again"
    assert poll(bucket, catalogue) == (False, {"GET": 1})


def test_a_publication_makes_the_index_of_a_root_that_had_none(bucket: Bucket) -> None:
    storage = open_storage(bucket.url("root"))
    for number in range(ALPHAS):
        put(storage, make_pointer(number))
    publish(storage, make_pointer(ALPHAS))
    catalogue = Catalogue(storage, HOUR)
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 2})
    assert len(catalogue.pointers()) == ALPHAS + 1


def test_publishers_of_different_alphas_lose_none_of_each_others_entries(storage: Storage) -> None:
    def some(start: int) -> None:
        for number in range(start, start + 5):
            publish(storage, make_pointer(number))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(some, range(100, 130, 5)))
    assert {make_pointer(number).alpha_id for number in range(100, 130)} <= head_of(storage).changes.keys()


def test_a_late_entry_never_says_an_older_thing_than_the_one_before(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = S3Storage.compare_and_swap
    between = iter([True])

    def interrupted(self: S3Storage, relative: str, data: bytes, seen: Version) -> bool:
        if relative == HEAD and next(between, False):
            publish(storage, replace(make_pointer(7), name="The later one"))
        return swap(self, relative, data, seen)

    monkeypatch.setattr(S3Storage, "compare_and_swap", interrupted)
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    publish(storage, replace(make_pointer(7), name="The earlier one"))
    tag = storage.entries("catalog")[f"{make_pointer(7).alpha_id}.json"][0]
    assert head_of(storage).changes[make_pointer(7).alpha_id][0] == tag
    assert catalogue.refresh()
    assert names(catalogue)[make_pointer(7).alpha_id] == "The later one"


def test_what_a_withdrawal_says_is_seen_by_the_next_poll(storage: Storage) -> None:
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    withdraw(storage, make_pointer(3).alpha_id, Author("somebody@here"))
    assert catalogue.refresh()
    assert catalogue.resolve(make_pointer(3).alpha_id) is None
    assert len(catalogue.pointers()) == ALPHAS - 1


def test_a_pointer_moved_without_the_index_is_found_by_the_next_listing_and_then_by_every_poll(
    bucket: Bucket, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_hints, "_ALLOWANCE_SECONDS", -1.0)
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    put(storage, replace(make_pointer(7), name="Moved and not told"))
    assert poll(bucket, catalogue) == (False, {"GET": 1}), "the index says nothing of it"
    catalogue._hints.list_next()  # noqa: SLF001 - an hour passes
    assert catalogue.refresh()
    assert names(catalogue)[make_pointer(7).alpha_id] == "Moved and not told"
    assert catalogue.index_fault == "pointers moved that it did not tell of"
    put(storage, replace(make_pointer(8), name="Moved by it too"))
    assert poll(bucket, catalogue) == (True, {"LIST": 1, "GET": 2})


def test_a_new_alpha_that_the_index_does_not_know_is_found_when_it_is_asked_for(
    bucket: Bucket, storage: Storage
) -> None:
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    unknown = make_pointer(500)
    put(storage, unknown)
    assert poll(bucket, catalogue, (unknown.alpha_id, "Test_none")) == (True, {"GET": 4})
    assert catalogue.resolve(unknown.alpha_id) is not None
    again = poll(bucket, catalogue, ("Test_none",))
    assert again == (False, {"GET": 1}), "a caller cannot have the store asked for the same again and again"


@pytest.mark.parametrize("damaged", ["head", "base", "base gone"])
def test_a_damaged_index_is_passed_over_and_made_anew(storage: Storage, damaged: str) -> None:
    base = base_path(head_of(storage).base)
    if damaged == "base gone":
        storage.remove_files([base])
    else:
        path = HEAD if damaged == "head" else base
        storage.write(path, storage.read(path)[:-9] + b"123456789")
    catalogue = Catalogue(storage, HOUR)
    assert catalogue.refresh()
    assert len(catalogue.pointers()) == ALPHAS
    assert catalogue.index_fault is not None
    put(storage, replace(make_pointer(7), name="Listed"))
    assert catalogue.refresh(), "without an index every poll is a listing"
    if damaged == "head":
        publish(storage, make_pointer(8))
    else:
        assert rebuild(storage)
    fresh = Catalogue(storage, HOUR)
    assert fresh.refresh()
    assert fresh.index_fault is None
    assert len(read_base(storage, head_of(storage)).texts) == ALPHAS


def test_many_changes_become_a_new_base_and_the_old_one_goes(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "FOLD_AT", 4)
    monkeypatch.setattr(write, "_FOLD_EVERY", 1)
    first = head_of(storage).base
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    for number in range(ALPHAS, ALPHAS + 6):
        publish(storage, make_pointer(number))
    head = head_of(storage)
    assert head.base != first
    assert len(head.changes) < 4
    assert storage.entries(INDEX).keys() == {"head.json", f"{head.base}.json"}
    assert catalogue.refresh()
    assert len(catalogue.pointers()) == ALPHAS + 6


def test_an_index_that_cannot_be_written_does_not_keep_a_publication_from_being_one(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_if = S3Storage.put_if

    def refused(self: S3Storage, relative: str, data: bytes, tag: str | None) -> bool:
        if relative == HEAD:
            raise PermissionError(relative)
        return write_if(self, relative, data, tag)

    monkeypatch.setattr(S3Storage, "put_if", refused)
    publish(storage, replace(make_pointer(7), name="Published all the same"))
    assert "list all pointers next" in caplog.text
    catalogue = Catalogue(storage, HOUR)
    catalogue.refresh()
    assert names(catalogue)[make_pointer(7).alpha_id] == "Published all the same"
    assert not record(storage, make_pointer(7).alpha_id)
