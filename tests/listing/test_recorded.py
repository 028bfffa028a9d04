"""Figures recorded in pointers: by a build and by a rollback."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasets.figures.headline import OTHER_VERSION
from datasets.pointer import Pointer
from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.metrics.headline import RECORDED
from tests.support.application import running
from tests.support.pipeline_command import run_pipeline
from tests.support.seals import make_seal


def pointer(root: Path, alpha: str = "Test_small") -> Pointer:
    result = served(open_storage(root), alpha)
    assert result is not None
    return result


def forget(root: Path, **changes: Any) -> None:
    """Remove or replace the pointer's figures."""
    path = root / "catalog" / "Test_small.json"
    path.write_bytes(replace(pointer(root), headline=changes).encode())


def shown(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the alpha's row in the list and its metrics."""
    with running(root) as api:
        token = api.key()
        row = api.json("/v1/screen?fields=icir,turnover,pnl", token)["data"][0]
        return row, api.json("/v1/alphas/Test_small/metrics", token)["data"]["core"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    build_seal(str(make_seal(folder)), folder / "published")
    return folder


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    """Return a copy of the root, next to its seal."""
    return Path(shutil.copytree(built, tmp_path, dirs_exist_ok=True)) / "published"


def test_a_pointer_without_figures_withholds_them_with_a_reason(root: Path) -> None:
    forget(root)
    row, _ = shown(root)
    assert row["figures"] == dict.fromkeys(("icir", "turnover", "pnl"))
    assert set(row["withheld"].values()) == {OTHER_VERSION}


def test_building_the_same_seal_again_only_records_its_figures(root: Path, tmp_path: Path) -> None:
    before = pointer(root)
    forget(root)
    result = build_seal(str(tmp_path / "Test_small"), root)
    assert result.snapshot == before.snapshot
    assert pointer(root) == before
    written = (root / "catalog" / "Test_small.json").stat().st_mtime_ns
    build_seal(str(tmp_path / "Test_small"), root)
    assert (root / "catalog" / "Test_small.json").stat().st_mtime_ns == written, "nothing to record"


@pytest.mark.parametrize(
    "damage",
    [
        {"values": ["x"]},
        {"values": None},
        {"made_of": "s"},
        {"figures_checked": "é" * len(RECORDED)},
        {"version": 0},
        {"tags": 3, "made_of": 1},
    ],
)
def test_unreadable_figures_are_withheld_and_the_alpha_served(root: Path, damage: dict[str, Any]) -> None:
    forget(root, **{**pointer(root).headline, **damage})
    row, core = shown(root)
    assert row["figures"]["icir"] is None
    assert core["icir"]["value"] is not None


def test_a_rollback_serves_its_snapshots_figures(root: Path, tmp_path: Path) -> None:
    first = shown(root)[0]
    build_seal(
        str(make_seal(tmp_path / "later", seed=7, metrics=False, sealed_at="2026-02-05T07:30:00Z")), root
    )
    second, core = shown(root)
    assert second["figures"]["icir"] == core["icir"]["value"] != first["figures"]["icir"]
    assert run_pipeline("rollback", root, "Test_small").exit_code == 0
    again, core = shown(root)
    assert again["figures"] == first["figures"]
    assert again["figures"]["icir"] == core["icir"]["value"]
