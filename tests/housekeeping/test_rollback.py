"""rollback only moves the pointer, and no build undoes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import datasets
from datasets.layout import MANIFEST
from datasets.provenance.integrity import Fault, check_files
from pipeline.housekeeping import pointer_commands
from pipeline.snapshot_builder import build_seal
from schemas.errors import PublicationRefused
from tests.support.history import ALPHA, History
from tests.support.seals import make_seal


def _files(root: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in (root / "alphas").rglob("*") if p.is_file()}


def test_rollback_serves_the_previous_snapshot(history: History) -> None:
    before = _files(history.root)
    result = history.run("rollback", ALPHA, "--json")
    assert result.exit_code == 0
    assert result.json == {
        "alpha_id": ALPHA, "snapshot": history.snapshots[1], "changed": True, "before": history.snapshots[2],
    }  # fmt: skip
    assert _files(history.root) == before
    snapshot = datasets.open(history.root)[ALPHA]
    assert snapshot.id == history.snapshots[1]
    assert snapshot.scan("decisions").collect().height
    assert history.run("verify").exit_code == 0, "pointer and manifest agree in all they both say"


def test_rolling_back_twice_goes_back_twice(history: History) -> None:
    history.run("rollback", ALPHA)
    history.run("rollback", ALPHA)
    assert history.pointer.snapshot == history.snapshots[0]
    result = history.run("rollback", ALPHA)
    assert result.exit_code == 9
    assert "no earlier snapshot" in result.output


def test_a_build_does_not_undo_a_rollback_unless_forced(history: History, tmp_path: Path) -> None:
    history.run("rollback", ALPHA)
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)
    assert history.pointer.snapshot == history.snapshots[1]
    build_seal(str(history.seals[2]), history.root, force=True)
    assert history.pointer.snapshot == history.snapshots[2]
    assert history.pointer.rolled_back == {}
    history.run("rollback", ALPHA)
    newer = make_seal(tmp_path / "newer", alpha_id=ALPHA, seed=9, sealed_at="2026-01-09T00:00:00Z", weeks=14)
    assert build_seal(str(newer), history.root).changed, "a later seal is served as ever"


def test_a_snapshot_can_be_named(history: History) -> None:
    assert history.run("rollback", ALPHA, "--to", history.snapshots[0]).exit_code == 0
    assert history.pointer.snapshot == history.snapshots[0]
    result = history.run("rollback", ALPHA, "--to", history.snapshots[0])
    assert "unchanged" in result.output
    assert history.run("rollback", ALPHA, "--to", "0" * 20).exit_code == 9
    assert history.run("rollback", ALPHA, "--to", "../..").exit_code == 9
    assert history.run("rollback", "Test_none").exit_code == 9


def test_an_empty_id_does_not_roll_back_to_the_default(history: History) -> None:
    result = history.run("rollback", ALPHA, "--to", "")
    assert result.exit_code == 9
    assert "'' is not a valid snapshot id" in result.output
    assert history.pointer.snapshot == history.snapshots[2]


def test_a_snapshot_published_during_a_rollback_is_not_rolled_back(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = make_seal(tmp_path / "newer", alpha_id=ALPHA, seed=9, sealed_at="2026-01-09T00:00:00Z", weeks=14)

    def overtaken(*arguments: Any) -> list[Fault]:
        build_seal(str(newer), history.root)
        return check_files(*arguments)

    monkeypatch.setattr(pointer_commands, "check_files", overtaken)
    result = history.run("rollback", ALPHA)
    assert result.exit_code == 3
    assert f"replaced {history.snapshots[2]} in the meantime" in result.output
    assert history.pointer.snapshot not in history.snapshots
    assert (history.pointer.rolled_back, history.pointer.decisions) == ({}, ())


@pytest.mark.parametrize("relative", [MANIFEST, "books/part-0.parquet"])
def test_a_snapshot_whose_file_is_cut_short_during_a_rollback_is_not_served(
    history: History, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    path = history.place(relative, history.snapshots[1])

    def then_cut(*arguments: Any) -> list[Fault]:
        faults = list(check_files(*arguments))
        path.write_bytes(path.read_bytes()[:-1])
        return faults

    monkeypatch.setattr(pointer_commands, "check_files", then_cut)
    result = history.run("rollback", ALPHA)
    assert result.exit_code == 4
    assert f"{relative} is missing or cut short" in result.output
    assert history.pointer.snapshot == history.snapshots[2]


def test_a_damaged_snapshot_is_not_served(history: History) -> None:
    path = history.place("books/part-0.parquet", history.snapshots[1])
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    result = history.run("rollback", ALPHA)
    assert result.exit_code == 4
    assert "books/part-0.parquet" in result.output
    assert history.pointer.snapshot == history.snapshots[2]


def test_show_lists_the_history(history: History) -> None:
    history.run("rollback", ALPHA)
    result = history.run("show", ALPHA, "--json").json
    assert result["served"]["snapshot"] == history.snapshots[1]
    states = {row["snapshot"]: row["state"] for row in result["snapshots"]}
    assert states == dict(zip(history.snapshots, ("replaced", "served", "rolled back"), strict=True))
    assert history.snapshots[0] in history.run("show", ALPHA).output
    assert history.run("show", "Test_none").exit_code == 9


def test_list_shows_served_and_unreadable_alphas(history: History) -> None:
    result = history.run("list", "--json")
    assert result.exit_code == 0
    assert [alpha["snapshot"] for alpha in result.json["alphas"]] == [history.snapshots[2]]
    (history.root / "catalog" / "Test_broken.json").write_text("{")
    result = history.run("list", "--json")
    assert result.exit_code == 4
    assert list(result.json["unreadable"]) == ["Test_broken"]
    assert len(result.json["alphas"]) == 1
