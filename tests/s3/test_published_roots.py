"""A datasets root in a bucket behaves like a folder."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from s3fs import S3FileSystem

import datasets
from datasets.catalogue.live import Catalogue
from datasets.layout import snapshot_path
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.errors import SettingsError, SnapshotCorrupt, StorageUnavailable
from tests.support.bucket import Bucket

Seals = Callable[..., Path]


def test_a_published_run_reads_the_same_from_a_bucket_and_from_a_folder(
    bucket: Bucket, small_seal: Seals, tmp_path: Path
) -> None:
    seal = small_seal()
    build_seal(str(seal), bucket.url("roots/one"))
    build_seal(str(seal), tmp_path / "published")
    remote = datasets.open(bucket.url("roots/one"))["Test_small"]
    local = datasets.open(tmp_path / "published")["Test_small"]
    assert remote.id == local.id
    assert remote.manifest == local.manifest
    assert remote.description() == local.description()
    for name in local.datasets():
        expected = local.scan(name).collect()
        assert_frame_equal(remote.scan(name).collect(), expected)
        assert remote.arrow(name).count_rows() == expected.height
    assert_frame_equal(
        remote.relation("positions", "long_only").pl(), local.scan("positions", "long_only").collect()
    )
    assert not [key for key in bucket.objects() if not key.startswith("roots/one/")]


def test_building_the_same_seal_again_writes_no_file(bucket: Bucket, small_seal: Seals) -> None:
    seal = small_seal()
    assert build_seal(str(seal), bucket.url()).changed
    before = bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"]
    assert not build_seal(str(seal), bucket.url()).changed
    assert bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"] == before


def test_a_catalogue_follows_pointers_in_a_bucket(bucket: Bucket, small_seal: Seals) -> None:
    catalogue = Catalogue(open_storage(bucket.url("root")))
    assert not catalogue.refresh(), "a bucket without a catalogue is an empty one"
    build_seal(str(small_seal(alpha_id="Test_a")), bucket.url("root"))
    assert catalogue.refresh()
    assert not catalogue.refresh()
    first = catalogue.resolve("Test_a")
    assert first is not None
    build_seal(str(small_seal(alpha_id="Test_b")), bucket.url("root"))
    assert catalogue.refresh()
    assert {pointer.alpha_id for pointer in catalogue.listing.pointers} == {"Test_a", "Test_b"}
    assert catalogue.resolve("Test_a") is first, "what did not change is not read again"
    bucket.client.delete_object(Bucket=bucket.name, Key="root/catalog/Test_b.json")
    assert catalogue.refresh()
    assert catalogue.resolve("Test_b") is None


def test_an_unavailable_store_is_distinguished_from_a_missing_file(bucket: Bucket) -> None:
    storage = open_storage(bucket.url("root"))
    storage.put("catalog/x.json", b"one")
    catalogue = Catalogue(storage)
    with bucket.server.away():
        for request in (
            lambda: storage.read("catalog/x.json"),
            lambda: storage.signature("catalog/x.json"),
            lambda: storage.entries("catalog"),
            lambda: storage.put("catalog/x.json", b"two"),
            catalogue.refresh,
        ):
            with pytest.raises(StorageUnavailable, match="did not answer"):
                request()
    assert storage.read("catalog/x.json") == b"one"
    with pytest.raises(FileNotFoundError):
        storage.read("catalog/y.json")
    assert storage.signature("catalog/y.json") is None
    assert storage.entries("nothing/here") == {}


def test_large_files_arrive_complete(bucket: Bucket, tmp_path: Path) -> None:
    storage = open_storage(bucket.url())
    content = bytes(range(256)) * 500_000
    source = tmp_path / "large"
    source.write_bytes(content)
    storage.put("deep/large.bin", source)
    assert not source.exists()
    assert storage.read("deep/large.bin", len(content)) == content
    with pytest.raises(SnapshotCorrupt, match="are expected; remove it"):
        storage.read("deep/large.bin")


@pytest.mark.usefixtures("bucket")
def test_a_missing_bucket_is_named_and_not_treated_as_empty() -> None:
    storage = open_storage("s3://no-such-bucket-here/root")
    for request in (
        lambda: storage.entries("catalog"),
        lambda: storage.read("catalog/x.json"),
        lambda: storage.put("x", b"1"),
    ):
        with pytest.raises(StorageUnavailable, match="there is no bucket for s3://no-such-bucket-here/root"):
            request()
    with pytest.raises(SettingsError, match="names no bucket"):
        open_storage("s3://")


def test_wrong_credentials_are_reported(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    open_storage(bucket.url()).put("x", b"1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    S3FileSystem.clear_instance_cache()
    storage = open_storage(bucket.url())
    with pytest.raises(StorageUnavailable, match="check the credentials") as refused:
        storage.read("x")
    assert "another-secret" not in str(refused.value)


def test_a_file_changed_behind_the_manifest_is_refused(bucket: Bucket, small_seal: Seals) -> None:
    build_seal(str(small_seal()), bucket.url())
    snapshot = datasets.open(bucket.url())["Test_small"]
    key = f"{snapshot_path('Test_small', snapshot.id)}/rebalances/part-0.parquet"
    other = io.BytesIO()
    pl.DataFrame({"date": []}).write_parquet(other)
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=other.getvalue())
    with pytest.raises(SnapshotCorrupt, match="is not what its manifest says"):
        snapshot.scan("rebalances")
