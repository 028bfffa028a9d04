"""Concurrent builds of one alpha serve one complete snapshot of the latest seal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import datasets
from datasets.provenance.integrity import check_files
from datasets.publication.pointers import served
from datasets.storage import open_storage
from schemas.errors import PublicationRefused
from tests.support.pipeline_command import build, build_at_once

Seal = Callable[..., Path]
FIRST, SECOND = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def require_intact(root: Path, alpha: str) -> str:
    """Assert that every byte served is as published; return the snapshot."""
    storage = open_storage(root)
    pointer = served(storage, alpha)
    assert pointer is not None
    assert check_files(storage, datasets.open(root)[alpha].manifest, alpha, pointer.snapshot) == []
    return pointer.snapshot


@pytest.mark.parametrize("later_first", [False, True])
def test_the_later_seal_is_served_completely(tmp_path: Path, seal: Seal, later_first: bool) -> None:
    older, later = (
        seal("Test_a", "one", seed=1, sealed_at=FIRST),
        seal("Test_a", "two", seed=2, sealed_at=SECOND),
    )
    for result in build_at_once(
        tmp_path / "root", [later, older, later] if later_first else [older, later, older]
    ):
        assert "--force" in result
    require_intact(tmp_path / "root", "Test_a")
    assert datasets.open(tmp_path / "root")["Test_a"].manifest.sealed_at == SECOND


def test_concurrent_builds_of_one_seal_give_one_snapshot(tmp_path: Path, seal: Seal) -> None:
    assert build_at_once(tmp_path / "root", [seal("Test_a")] * 3) == []
    snapshot = require_intact(tmp_path / "root", "Test_a")
    folder = tmp_path / "root/alphas/alpha_id=Test_a"
    assert {path.name for path in folder.iterdir()} == {f"snapshot={snapshot}", "sealed_weeks.json"}
    assert not list((tmp_path / "root/.staging").glob("build-*"))


def test_an_older_seal_replaces_a_newer_one_only_when_forced(tmp_path: Path, seal: Seal) -> None:
    older, later = (
        seal("Test_a", "one", seed=1, sealed_at=FIRST),
        seal("Test_a", "two", seed=2, sealed_at=SECOND),
    )
    root = tmp_path / "root"
    assert build(root, str(later), "--json").exit_code == 0
    before = require_intact(root, "Test_a")
    for jobs in ("1", "2"):
        result = build(root, str(older), "--jobs", jobs, "--json")
        assert result.exit_code == PublicationRefused.exit_code
        assert "--force" in json.dumps(result.json)
        assert require_intact(root, "Test_a") == before
    assert build(root, str(older), "--force", "--json").exit_code == 0
    assert require_intact(root, "Test_a") != before
    assert datasets.open(root)["Test_a"].manifest.sealed_at == FIRST
