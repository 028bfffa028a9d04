"""rollback moves the pointer and nothing else, and no build undoes it by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

import datasets
from pipeline.build import build_seal
from schemas.errors import PublicationRefused
from tests.housekeeping.conftest import ALPHA, Kept
from tests.support.seals import make_seal


def _files(root: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in (root / "alphas").rglob("*") if p.is_file()}


def test_the_snapshot_served_before_is_served_again(kept: Kept) -> None:
    before = _files(kept.root)
    told = kept.run("rollback", ALPHA, "--json")
    assert told.exit_code == 0
    assert told.json == {
        "alpha_id": ALPHA, "snapshot": kept.snapshots[1], "changed": True, "before": kept.snapshots[2],
    }  # fmt: skip
    assert _files(kept.root) == before
    snapshot = datasets.open(kept.root)[ALPHA]
    assert snapshot.id == kept.snapshots[1]
    assert snapshot.scan("decisions").collect().height
    assert kept.run("verify").exit_code == 0, "pointer and manifest agree in all they both say"


def test_rolling_back_twice_goes_back_twice(kept: Kept) -> None:
    kept.run("rollback", ALPHA)
    kept.run("rollback", ALPHA)
    assert kept.pointer.snapshot == kept.snapshots[0]
    told = kept.run("rollback", ALPHA)
    assert told.exit_code == 1
    assert "no earlier snapshot" in told.output


def test_a_build_does_not_undo_it_unless_forced(kept: Kept, tmp_path: Path) -> None:
    kept.run("rollback", ALPHA)
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(kept.seals[2]), kept.root)
    assert kept.pointer.snapshot == kept.snapshots[1]
    build_seal(str(kept.seals[2]), kept.root, force=True)
    assert kept.pointer.snapshot == kept.snapshots[2]
    assert kept.pointer.withdrawn == ()
    kept.run("rollback", ALPHA)
    newer = make_seal(tmp_path / "newer", alpha_id=ALPHA, seed=9, sealed_at="2026-01-09T00:00:00Z", weeks=14)
    assert build_seal(str(newer), kept.root).changed, "a later seal is served as ever"


def test_one_can_be_named(kept: Kept) -> None:
    assert kept.run("rollback", ALPHA, "--to", kept.snapshots[0]).exit_code == 0
    assert kept.pointer.snapshot == kept.snapshots[0]
    told = kept.run("rollback", ALPHA, "--to", kept.snapshots[0])
    assert "unchanged" in told.output
    assert kept.run("rollback", ALPHA, "--to", "0" * 20).exit_code == 1
    assert kept.run("rollback", ALPHA, "--to", "../..").exit_code == 1
    assert kept.run("rollback", "Test_none").exit_code == 1


def test_a_damaged_snapshot_is_not_served(kept: Kept) -> None:
    path = kept.place("books/part-0.parquet", kept.snapshots[1])
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    told = kept.run("rollback", ALPHA)
    assert told.exit_code == 4
    assert "books/part-0.parquet" in told.output
    assert kept.pointer.snapshot == kept.snapshots[2]


def test_show_tells_the_story(kept: Kept) -> None:
    kept.run("rollback", ALPHA)
    told = kept.run("show", ALPHA, "--json").json
    assert told["served"]["snapshot"] == kept.snapshots[1]
    states = {row["snapshot"]: row["state"] for row in told["snapshots"]}
    assert states == dict(zip(kept.snapshots, ("replaced", "served", "rolled back"), strict=True))
    assert kept.snapshots[0] in kept.run("show", ALPHA).output
    assert kept.run("show", "Test_none").exit_code == 1


def test_list_tells_what_is_served_and_what_cannot_be_read(kept: Kept) -> None:
    told = kept.run("list", "--json")
    assert told.exit_code == 0
    assert [alpha["snapshot"] for alpha in told.json["alphas"]] == [kept.snapshots[2]]
    (kept.root / "catalog" / "Test_broken.json").write_text("{")
    told = kept.run("list", "--json")
    assert told.exit_code == 4
    assert list(told.json["unreadable"]) == ["Test_broken"]
    assert len(told.json["alphas"]) == 1
