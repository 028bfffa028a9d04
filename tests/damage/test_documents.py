"""Pipes, devices, huge and deeply nested files as pointers and manifests: refused without delaying other alphas."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import datasets
from datasets.layout import MANIFEST, pointer_path
from datasets.manifest import digest
from datasets.storage.protocol import MAX_DOCUMENT_BYTES
from schemas.errors import SnapshotCorrupt
from tests.support.application import running
from tests.support.history import ALPHA, History


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def make_large(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(MAX_DOCUMENT_BYTES + 1)


def make_deep(path: Path) -> None:
    path.write_bytes(
        path.read_bytes().replace(b"{", b'{"extra":' + b"[" * 100_000 + b"]" * 100_000 + b",", 1)
    )


CHANGES = [make_pipe, make_device, make_large, make_deep]


@pytest.mark.parametrize("change", CHANGES)
def test_an_invalid_pointer_is_named_without_delaying_others(history: History, change: object) -> None:
    assert callable(change)
    change(history.root / pointer_path(ALPHA))
    with running(history.root) as api:
        assert (
            api.json(f"/v1/alphas/{ALPHA}/portfolio", api.key(), 503)["error"]["code"]
            == "upstream_unavailable"
        )
        assert api.get("/v1/health").json()["status"] == "degraded"
    for command in (("show", ALPHA), ("gc",), ("rollback", ALPHA), ("verify",)):
        done = history.run(*command)
        assert done.exit_code == SnapshotCorrupt.exit_code, done.output
        assert f"{ALPHA}.json" in done.output


@pytest.mark.parametrize("change", CHANGES)
def test_an_invalid_manifest_is_named_without_delaying_others(history: History, change: object) -> None:
    assert callable(change)
    path = history.place(MANIFEST)
    change(path)
    if change is make_deep:
        history.change_pointer(manifest_sha256=digest(path.read_bytes()))
    with running(history.root) as api:
        assert (
            api.json(f"/v1/alphas/{ALPHA}/portfolio", api.key(), 503)["error"]["code"]
            == "upstream_unavailable"
        )
    done = history.run("verify")
    assert done.exit_code == SnapshotCorrupt.exit_code, done.output
    assert MANIFEST in done.output
    with pytest.raises(SnapshotCorrupt, match=MANIFEST):
        _ = datasets.open(history.root)[ALPHA].manifest


def test_a_table_larger_than_its_manifest_says_is_not_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = history.place("decisions/part-0.parquet")
    with path.open("ab") as file:
        file.truncate(1_200_000_000)
    read: list[int] = []
    part = os.read

    def counted(descriptor: int, size: int) -> bytes:
        result = part(descriptor, size)
        read.append(len(result))
        return result

    monkeypatch.setattr(os, "read", counted)
    done = history.run("verify")
    assert done.exit_code == SnapshotCorrupt.exit_code
    assert "has 1200000000 bytes where its manifest says" in done.output
    assert sum(read) < 20_000_000
