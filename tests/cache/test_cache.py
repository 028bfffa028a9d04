"""Copies of a remote root's files: made once, verified, bounded, and kept across restarts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import datasets
from datasets.catalogue.live import Catalogue
from datasets.manifest import digest
from datasets.storage import cache as caching
from datasets.storage import open_storage
from datasets.storage.cache import Cache
from datasets.storage.file_digests import FileDigests
from schemas.errors import SettingsError, SnapshotCorrupt, StorageUnavailable
from tests.support.processes import REPOSITORY, WITHOUT_RIGHTS
from tests.support.remote_root import ALPHA, Remote, cached_bytes, copies
from tests.support.waiting import PATIENCE

TABLES = [("decisions", None), ("rebalances", None), ("positions", "long_only"), ("positions", "long_short")]
READER = """
import sys
import datasets
from schemas.errors import StorageUnavailable
from tests.support.web_storage import register
register()
run = datasets.open(sys.argv[1], cache=sys.argv[2])["Test_far"]
print(run.manifest.alpha_id)
try:
    run.scan("decisions")
except StorageUnavailable as error:
    print(type(error).__name__, error)
"""


def test_a_file_is_copied_once_and_then_read_from_the_cache(remote: Remote, cache: Cache) -> None:
    snapshot = remote.snapshot(cache)
    path = snapshot.file("positions", "long_only")
    original = remote.place("positions/book=long_only/part-0.parquet")
    assert Path(path).read_bytes() == original.read_bytes()
    assert Path(path).is_relative_to(cache.folder)
    before = remote.requests.copy()
    assert snapshot.file("positions", "long_only") == path
    assert remote.snapshot(cache).file("positions", "long_only") == path
    assert remote.requests == before


def test_no_path_leaves_the_cache(remote: Remote, cache: Cache) -> None:
    own = cache.folder.parent / "own.txt"
    own.write_text("mine")
    assert remote.snapshot(cache).manifest  # makes the folder of the root
    storage = open_storage(remote.url, cache=cache)
    with pytest.raises(ValueError, match="leaves the root"):
        storage.intact_file("../../own.txt", 5, digest(b"other"))
    with pytest.raises(ValueError, match="leaves the root"):
        storage.intact_document("../../own.txt", digest(b"mine"))
    assert own.read_text() == "mine"


def test_all_readers_read_the_same_through_the_cache(remote: Remote, cache: Cache) -> None:
    far, near = remote.snapshot(cache), datasets.open(remote.folder)[ALPHA]
    assert far.manifest == near.manifest
    assert far.description() == near.description()
    for name in near.datasets():
        expected = near.scan(name).collect()
        assert_frame_equal(far.scan(name).collect(), expected)
        assert_frame_equal(far.relation(name).pl(), near.relation(name).pl())
        assert far.arrow(name).count_rows() == expected.height
    books = pl.from_arrow(far.arrow("positions").to_table())
    assert isinstance(books, pl.DataFrame)
    assert set(books["book"]) == set(far.books("positions"))


def test_the_cache_serves_after_a_restart_while_the_store_is_unavailable(
    remote: Remote, cache: Cache
) -> None:
    storage = open_storage(remote.url, cache=cache)
    catalogue = Catalogue(storage)
    catalogue.refresh()
    first = catalogue.resolve(ALPHA)
    assert first is not None
    expected = first.scan("decisions").collect()
    remote.stop()
    again = Catalogue(open_storage(remote.url, cache=Cache(cache.folder, cache.max_bytes)))
    assert [pointer.alpha_id for pointer in again.listing.pointers] == [ALPHA]
    snapshot = again.resolve(ALPHA)
    assert snapshot is not None
    assert_frame_equal(snapshot.scan("decisions").collect(), expected)
    with pytest.raises(StorageUnavailable):
        snapshot.file("rebalances")
    with pytest.raises(StorageUnavailable):
        again.refresh()
    assert again.resolve(ALPHA) is snapshot, "what is known stays known"
    remote.start()
    assert not again.refresh(), "nothing changed meanwhile, so nothing is read again"
    assert Path(snapshot.file("rebalances")).is_file()


def _cut(data: bytes) -> bytes:
    return data[:-20]


def _of_another_format(data: bytes) -> bytes:
    body = data.partition(b"\n")[2].replace(b'\\"format\\": 1', b'\\"format\\": 2')
    return digest(body).encode() + b"\n" + body


def _of_another_version(_: bytes) -> bytes:
    body = b'{"Test_far":{"signature":["tag",1,""],"pointer":{}}}'
    return digest(body).encode() + b"\n" + body


@pytest.mark.parametrize("change", [_cut, _of_another_format, _of_another_version])
def test_an_unusable_saved_catalogue_is_read_again(
    remote: Remote, cache: Cache, change: Callable[[bytes], bytes]
) -> None:
    Catalogue(open_storage(remote.url, cache=cache)).refresh()
    (saved,) = cache.folder.rglob("catalogue.json")
    before = saved.read_bytes()
    saved.write_bytes(change(before))
    assert saved.read_bytes() != before
    catalogue = Catalogue(open_storage(remote.url, cache=cache))
    assert catalogue.listing.pointers == ()
    assert catalogue.refresh()
    assert catalogue.resolve(ALPHA) is not None


@pytest.mark.parametrize(
    "change",
    [lambda _: b"", lambda x: x[:1000], lambda x: x[:99] + bytes([x[99] ^ 1]) + x[100:]],
    ids=["emptied", "truncated", "modified"],
)
def test_a_changed_copy_is_fetched_again_at_once(
    remote: Remote, cache: Cache, change: Callable[[bytes], bytes]
) -> None:
    snapshot = remote.snapshot(cache)
    path = Path(snapshot.file("decisions"))
    content = path.read_bytes()
    path.write_bytes(change(content))
    assert Path(snapshot.file("decisions")).read_bytes() == content


def damage(path: Path) -> None:
    """Flip a bit in place without changing the file's version, as a failing disk does."""
    status = path.stat()
    with path.open("r+b") as stream:
        stream.seek(99)
        (byte,) = stream.read(1)
        stream.seek(99)
        stream.write(bytes([byte ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_corrupt_copy_is_fetched_again_by_the_next_process(
    remote: Remote, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = remote.snapshot(cache)
    path = Path(snapshot.file("decisions"))
    content = path.read_bytes()
    damage(path)
    assert path.read_bytes() != content
    before = cache.counts["misses"]
    assert Path(snapshot.file("decisions")).read_bytes() != content, (
        "this process compared it as it copied it"
    )
    monkeypatch.setattr("datasets.storage.cache.DIGESTS", FileDigests(3600))  # empty, as in a new process
    assert Path(snapshot.file("decisions")).read_bytes() == content
    assert cache.counts["misses"] == before + 1
    damage(path)
    remote.stop()
    monkeypatch.setattr("datasets.storage.cache.DIGESTS", FileDigests(3600))
    with pytest.raises(StorageUnavailable):
        snapshot.file("decisions")
    assert cache.counts["misses"] == before + 2


def test_a_damaged_manifest_in_the_cache_is_read_again(remote: Remote, cache: Cache) -> None:
    expected = remote.snapshot(cache).manifest
    (copied,) = cache.folder.rglob("manifest.json")
    copied.write_bytes(copied.read_bytes().replace(b"long_only", b"long_inly"))
    assert remote.snapshot(cache).manifest == expected


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_file_damaged_in_the_root_is_reported_and_not_cached(
    remote: Remote, cache: Cache, damage: str
) -> None:
    path = remote.place("decisions/part-0.parquet")
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-5] if damage == "cut" else data[:-5] + b"12345")
    with pytest.raises(SnapshotCorrupt, match=r"decisions/part-0\.parquet"):
        remote.snapshot(cache).file("decisions")
    assert copies(cache) == []
    assert not list((cache.folder / ".filling").iterdir())
    path.write_bytes(data)
    assert Path(remote.snapshot(cache).file("decisions")).read_bytes() == data


def test_one_corrupt_transfer_is_repeated_and_not_reported_as_damage(remote: Remote, cache: Cache) -> None:
    remote.corrupt_transfers = 1
    snapshot = remote.snapshot(cache)
    manifest = snapshot.manifest
    assert manifest == datasets.open(remote.folder)[ALPHA].manifest
    original = remote.place("decisions/part-0.parquet")
    remote.corrupt_transfers = 1
    assert Path(snapshot.file("decisions")).read_bytes() == original.read_bytes()
    remote.corrupt_transfers = 2
    with pytest.raises(SnapshotCorrupt, match=r"rebalances/part-0\.parquet is not what its manifest says"):
        snapshot.file("rebalances")


def test_two_roots_share_a_cache_folder_but_no_files(remote: Remote, cache: Cache) -> None:
    other = Remote(remote.folder)
    other.start()
    try:
        assert remote.snapshot(cache).file("decisions") != other.snapshot(cache).file("decisions")
    finally:
        other.stop()


def test_a_root_on_this_machine_is_not_copied(remote: Remote, cache: Cache) -> None:
    root = datasets.open(remote.folder, cache=cache.folder)
    assert Path(root[ALPHA].file("decisions")).is_relative_to(remote.folder)
    assert copies(cache) == []


def test_the_cache_folder_of_a_root_on_this_machine_is_not_touched(remote: Remote, tmp_path: Path) -> None:
    folder = tmp_path / "a file"
    folder.write_text("mine")
    assert ALPHA in datasets.open(remote.folder, cache=folder)
    assert ALPHA in datasets.open(remote.folder, cache=tmp_path / "absent", cache_bytes=0)
    assert folder.read_text() == "mine"
    assert not (tmp_path / "absent").exists()


def test_concurrent_requests_for_a_file_make_one_copy(remote: Remote, cache: Cache) -> None:
    results: list[str] = []
    snapshot = remote.snapshot(cache)
    assert snapshot.manifest
    threads = [threading.Thread(target=lambda: results.append(snapshot.file("decisions"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 12
    assert len(set(results)) == 1
    assert (
        remote.requests[remote.place("decisions/part-0.parquet").relative_to(remote.folder).as_posix()] == 1
    )


def test_the_cache_stays_within_its_bound_and_evicts_the_least_recently_used(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "IN_USE_SECONDS", 0.0)
    monkeypatch.setattr(caching, "_FRESH_SECONDS", 0.0)
    entries = remote.snapshot(None).manifest.files
    bound = 3 * max(entry.bytes for entry in entries)
    cache = Cache(tmp_path / "cache", bound)
    snapshot = remote.snapshot(cache)
    first = Path(snapshot.file("weekly_signal"))
    for entry in entries:
        if entry.path.endswith(".parquet"):
            path = Path(snapshot.file(entry.dataset, entry.book))
            assert digest(path.read_bytes()) == entry.sha256
            assert cached_bytes(cache) <= bound
            os.utime(path, (time.time() - 1000, time.time() - 1000))
            snapshot.file("weekly_signal")  # constantly in use
    assert first.is_file()
    assert 1 < len(copies(cache)) < len(entries)


def test_a_copy_that_fails_beside_others_leaves_the_cache_within_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "IN_USE_SECONDS", 0.0)
    cache = Cache(tmp_path / "cache", 100)
    began, goes_on = threading.Event(), threading.Event()

    class Files:
        """Files of zeros, of which `lost` is missing, as is known late."""

        identity = "root"

        def url(self, relative: str) -> str:
            return relative

        def read(self, relative: str) -> bytes:
            raise NotImplementedError

        def download(self, relative: str, target: Path, size: int) -> None:
            if relative == "lost":
                began.set()
                goes_on.wait(PATIENCE)
                raise FileNotFoundError(relative)
            target.write_bytes(bytes(size))

    def copied(name: str, size: int) -> str:
        return cache.file(Files(), name, size, digest(bytes(size)))

    def fail() -> None:
        with pytest.raises(SnapshotCorrupt):
            copied("lost", 40)

    failing = threading.Thread(target=fail)
    failing.start()
    assert began.wait(PATIENCE)
    copied("a", 70)  # measures the folder before the other copy is in it
    goes_on.set()
    failing.join()
    assert (cache.used, cached_bytes(cache)) == (70, 70)
    copied("b", 60)
    assert cached_bytes(cache) <= 100


def test_recently_returned_copies_are_never_evicted(remote: Remote, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 1)
    snapshot = remote.snapshot(cache)
    paths = [Path(snapshot.file(*table)) for table in TABLES]
    assert all(path.is_file() for path in paths), "the bound is passed by what is in use, and only by that"
    for path in paths:
        os.utime(path, (time.time() - 1000, time.time() - 1000))
    last = Path(snapshot.file("weekly_signal"))
    assert copies(cache) == [last]


def test_a_clock_step_neither_stops_eviction_nor_evicts_recent_copies(remote: Remote, tmp_path: Path) -> None:
    bound = max(entry.bytes for entry in remote.snapshot(None).manifest.files)
    cache = Cache(tmp_path / "cache", bound)
    snapshot = remote.snapshot(cache)
    old = Path(snapshot.file("decisions"))
    os.utime(old, (time.time() + 86_400, time.time() + 86_400))  # written before the clock was set back a day
    now = Path(snapshot.file("positions", "long_short"))
    assert now.is_file()
    for table in TABLES[1:]:
        assert Path(snapshot.file(*table)).is_file()
    assert not old.exists(), "a time in the future is not a use that lasts a day"
    for path in copies(cache):
        assert digest(path.read_bytes())


def test_an_unusable_cache_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be used"):
        Cache(tmp_path / "file" / "cache", 1000)
    with pytest.raises(SettingsError, match="above 0"):
        Cache(tmp_path / "cache", 0)


def test_copies_that_may_not_be_read_are_refused_by_name_and_documents_are_read_from_the_store(
    remote: Remote, cache: Cache
) -> None:
    remote.snapshot(cache).scan("decisions").collect()
    (closed,) = cache.folder.glob("[!.]*")
    closed.chmod(0)
    done = subprocess.run([*WITHOUT_RIGHTS, sys.executable, "-c", READER, remote.url, str(cache.folder)],
                          cwd=REPOSITORY, capture_output=True, text=True, check=False)  # fmt: skip
    closed.chmod(0o755)
    manifest, error = done.stdout.splitlines()
    assert manifest == ALPHA, done.stderr
    assert error.startswith(f"DiskUnavailable {closed}")
    assert error.endswith("this user may not read it; permit it, then try again")


def test_a_full_cache_evicts_the_catalogue_last(
    remote: Remote, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    Catalogue(open_storage(remote.url, cache=cache)).refresh()
    (saved,) = cache.folder.rglob("catalogue.json")
    os.utime(saved, (0, 0))
    monkeypatch.setattr(caching, "IN_USE_SECONDS", 0.0)
    snapshot = remote.snapshot(cache)
    largest = max(entry.bytes for entry in snapshot.manifest.files)
    small = Cache(cache.folder, largest + 50_000)
    for entry in remote.snapshot(small).manifest.files:
        remote.snapshot(small).file(entry.dataset, entry.book)
    assert cached_bytes(small) <= small.max_bytes
    assert len(copies(small)) < len(snapshot.manifest.files)
    assert saved.is_file()
