"""Figures recorded in pointers: by a build, a rollback, and beside other releases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasets.headline.record import NO_ROW, NOT_RECORDED, row_of
from datasets.manifest import Pointer
from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.build import build_seal
from tests.support.application import running
from tests.support.pipeline_command import run_pipeline
from tests.support.seals import make_seal


def pointer(root: Path, alpha: str = "Test_small") -> Pointer:
    found = served(open_storage(root), alpha)
    assert found is not None
    return found


def forget(root: Path, **changes: Any) -> None:
    """Leave the pointer as a release that knows no figures leaves it, or with others."""
    path = root / "catalog" / "Test_small.json"
    found = pointer(root)
    notes = replace(found.notes, headline=changes)
    path.write_bytes(replace(found, notes=notes).encode())


def shown(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the list shows of the one alpha, and its metrics."""
    with running(root) as api:
        token = api.key()
        row = api.json("/v1/alphas?fields=icir,turnover,pnl", token)["data"][0]
        return row, api.json("/v1/alphas/Test_small/metrics", token)["data"]["core"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    build_seal(str(make_seal(tmp_path)), tmp_path / "published")
    return tmp_path / "published"


def test_a_pointer_without_figures_withholds_them_and_says_why(root: Path) -> None:
    forget(root)
    row, _ = shown(root)
    assert row["figures"] == dict.fromkeys(("icir", "turnover", "pnl"))
    assert set(row["withheld"].values()) == {NOT_RECORDED}


def test_building_the_same_seal_again_records_them_and_changes_nothing_else(
    root: Path, tmp_path: Path
) -> None:
    before = pointer(root)
    forget(root)
    result = build_seal(str(tmp_path / "Test_small"), root)
    assert not result.changed
    assert pointer(root) == before
    written = (root / "catalog" / "Test_small.json").stat().st_mtime_ns
    build_seal(str(tmp_path / "Test_small"), root)
    assert (root / "catalog" / "Test_small.json").stat().st_mtime_ns == written, "nothing to record"


def test_figures_handed_on_to_another_snapshot_are_not_served(root: Path) -> None:
    """A release that does not know them hands them on, as it does with every note it does not know."""
    handed = {**pointer(root).notes.headline, "snapshot": "0" * 20}
    forget(root, **handed)
    assert row_of(pointer(root)) == NO_ROW
    row, _ = shown(root)
    assert set(row["withheld"].values()) == {NOT_RECORDED}


@pytest.mark.parametrize(
    "damage",
    [{"values": ["x"]}, {"values": None}, {"made_of": "s"}, {"version": 0}, {"tags": 3, "made_of": 1}],
)
def test_figures_that_cannot_be_read_are_withheld_and_the_alpha_is_served(
    root: Path, damage: dict[str, Any]
) -> None:
    forget(root, **{**pointer(root).notes.headline, **damage})
    row, core = shown(root)
    assert row["figures"]["icir"] is None
    assert core["icir"]["value"] is not None


def test_a_rollback_serves_the_figures_of_the_snapshot_it_serves(root: Path, tmp_path: Path) -> None:
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


def test_the_notes_stay_one_text_that_the_first_release_hands_on(root: Path) -> None:
    """Its pointers have a fixed set of fields, and refuse any other."""
    stored = json.loads((root / "catalog" / "Test_small.json").read_bytes())
    assert "headline" not in stored
    assert [json.loads(text)["headline"]["snapshot"] for text in stored["withdrawn"]] == [stored["snapshot"]]
    assert len(stored["withdrawn"][0]) < 1500
