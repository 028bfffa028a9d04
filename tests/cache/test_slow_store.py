"""A store that trickles bytes stays within every read timeout, so the complete answer has its own limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.storage import object_store
from datasets.storage.cache import Cache
from schemas.errors import StorageUnavailable
from tests.support.remote_root import Remote, copies
from tests.support.slow_line import slow_line


def test_a_store_that_sends_a_file_too_slowly_counts_as_unavailable(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "ANSWER_SECONDS", 1.0)
    cache = Cache(tmp_path / "cache", 100_000_000)
    with slow_line(remote.url.replace("web://", "http://")) as line:
        remote.url = line.endpoint.replace("http://", "web://")
        snapshot = remote.snapshot(cache)
        assert snapshot.manifest.snapshot == snapshot.id  # the small documents are already cached
        with line.slow(0.1, 8), pytest.raises(StorageUnavailable, match="did not answer"):
            snapshot.file("decisions")
        assert not copies(cache)
        monkeypatch.undo()
        assert Path(snapshot.file("decisions")).is_file()
