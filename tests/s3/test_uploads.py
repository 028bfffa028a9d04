"""Upload order of a publication."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import datasets
from datasets.layout import MANIFEST, pointer_path, snapshot_path
from datasets.publication.publish import CONCURRENT_WRITES
from datasets.storage.backends.s3 import S3Storage
from schemas.errors import StorageUnavailable
from tests.datasets.conftest import Publish
from tests.support.bucket import Bucket


class _Watched(S3Storage):
    """A remote root that records uploads and can refuse one file."""

    def __init__(self, address: str, refused: str = "nothing") -> None:
        super().__init__(address)
        self.finished: list[str] = []
        self.most = 0
        self._refused = refused
        self._now = 0
        self._lock = threading.Lock()
        self._company = threading.Event()

    def put(self, relative: str, content: bytes | Path) -> None:
        if isinstance(content, bytes):
            super().put(relative, content)
            self.finished.append(relative)
            return
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now > 1:
                self._company.set()
        self._company.wait(30)  # the first upload waits for the second, so both are in progress
        try:
            if relative.endswith(self._refused):
                raise StorageUnavailable(f"{relative} was refused")
            super().put(relative, content)
        finally:
            with self._lock:
                self._now -= 1
        self.finished.append(relative)

    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        self.finished.append(relative)
        return super().put_if(relative, data, tag)


def test_uploads_run_concurrently_and_the_pointer_is_last(bucket: Bucket, publish: Publish) -> None:
    storage = _Watched(bucket.url())
    published = publish(address=storage)
    folder = snapshot_path("Test_tiny", published.snapshot)
    assert 1 < storage.most <= CONCURRENT_WRITES
    before = storage.finished[: storage.finished.index(pointer_path("Test_tiny"))]
    assert before[-1] == f"{folder}/{MANIFEST}"
    assert all(path.startswith(f"{folder}/") for path in before), (
        "the index is told once the pointer is there"
    )


def test_a_failed_upload_prevents_publication(bucket: Bucket, publish: Publish) -> None:
    address = bucket.url()
    publish(n_symbols=1, address=address)
    later = {"n_symbols": 2, "sealed_at": "2026-03-01T00:00:00Z"}
    refusing = _Watched(address, refused="rebalances/part-0.parquet")
    with pytest.raises(StorageUnavailable, match="rebalances"):
        publish(address=refusing, **later)
    assert not [path for path in refusing.finished if path.endswith(".json") and "description" not in path]
    assert datasets.open(address)["Test_tiny"].description() == {"name": "Tiny", "tldr": "1 names"}
    assert publish(address=address, **later).changed
    assert datasets.open(address)["Test_tiny"].description() == {"name": "Tiny", "tldr": "2 names"}
