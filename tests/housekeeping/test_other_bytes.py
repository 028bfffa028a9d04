"""Different bytes are another snapshot; published snapshots never change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import datasets
from datasets.layout import MANIFEST
from datasets.manifest import digest
from datasets.storage import open_storage
from pipeline.housekeeping.verify import verify
from pipeline.snapshot_builder import build_seal, write
from schemas import version
from schemas.errors import PublicationRefused
from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.version import schema_version
from tests.support.history import ALPHA, History
from tests.support.seals import make_seal


@pytest.fixture
def other_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the same figures with other bytes, like another library version."""
    monkeypatch.setattr(write, "COMPRESSION", "zstd")


@pytest.fixture
def upgraded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Change the declarations, like an upgraded program."""
    monkeypatch.setattr(version, "BUILD_REVISION", 99)
    schema_version.cache_clear()
    yield
    schema_version.cache_clear()


def _bytes(history: History) -> dict[Path, str]:
    return {
        path: digest(path.read_bytes()) for path in (history.root / "alphas").rglob("*") if path.is_file()
    }


def _intact(history: History) -> bool:
    return not verify(open_storage(history.root), ALPHA).faults and datasets.open(history.root)[ALPHA].has(
        "decisions"
    )


@pytest.mark.usefixtures("other_writer")
def test_a_forced_build_with_other_bytes_is_another_snapshot(history: History) -> None:
    before = _bytes(history)
    result = build_seal(str(history.seals[2]), history.root, force=True)
    assert result.changed
    assert result.snapshot not in history.snapshots
    assert history.pointer.snapshot == result.snapshot
    assert {path: sha for path, sha in _bytes(history).items() if path in before} == before
    assert _intact(history)
    assert history.run("rollback", ALPHA, "--to", history.snapshots[2]).exit_code == 0
    assert _intact(history)


@pytest.mark.usefixtures("other_writer")
def test_a_builder_with_another_library_version_keeps_the_served_snapshot(history: History) -> None:
    before = _bytes(history)
    assert not build_seal(str(history.seals[2]), history.root).changed
    assert _bytes(history) == before


def test_a_forced_build_with_the_same_bytes_changes_nothing(history: History) -> None:
    before = {path: path.stat().st_mtime_ns for path in _bytes(history)}
    assert not build_seal(str(history.seals[2]), history.root, force=True).changed
    assert {path: path.stat().st_mtime_ns for path in _bytes(history)} == before


def test_a_damaged_manifest_is_published_again_without_force(
    history: History,
) -> None:
    place = history.place(MANIFEST)
    place.write_bytes(place.read_bytes() + b"\n")
    assert history.run("verify").exit_code == 4
    assert build_seal(str(history.seals[2]), history.root).changed
    assert _intact(history)


def test_damage_is_repaired_by_the_same_bytes(history: History) -> None:
    before = _bytes(history)
    path = history.place("positions/book=long_only/part-0.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    result = build_seal(str(history.seals[2]), history.root, force=True)
    assert (result.changed, result.snapshot) == (True, history.snapshots[2])
    assert _bytes(history) == before


@pytest.mark.usefixtures("other_writer")
def test_irreparable_damage_leads_to_another_snapshot(
    history: History,
) -> None:
    path = history.place("positions/book=long_only/part-0.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    damaged = _bytes(history)
    result = build_seal(str(history.seals[2]), history.root, force=True)
    assert result.snapshot != history.snapshots[2]
    assert {place: sha for place, sha in _bytes(history).items() if place in damaged} == damaged
    assert _intact(history)


@pytest.mark.usefixtures("upgraded")
def test_unchanged_files_are_hard_linked(history: History) -> None:
    result = build_seal(str(history.seals[2]), history.root)
    assert result.snapshot not in history.snapshots
    entries = datasets.open(history.root)[ALPHA].manifest.files
    assert len(entries) > 20
    for entry in entries:
        new, old = history.place(entry.path), history.place(entry.path, history.snapshots[2])
        assert new.stat().st_ino == old.stat().st_ino
    assert _intact(history)
    history.run("gc", "--keep", "1", "--grace", "0s")
    assert history.there() == {result.snapshot}
    assert _intact(history)


def test_only_changed_files_are_written(history: History, tmp_path: Path) -> None:
    described = make_seal(
        tmp_path / "next", alpha_id=ALPHA, seed=2, sealed_at="2026-01-04T00:00:00Z", weeks=20, trades=False
    )
    build_seal(str(described), history.root)
    linked = {
        entry.dataset: history.place(entry.path).stat().st_nlink
        for entry in datasets.open(history.root)[ALPHA].manifest.files
    }
    assert linked["decisions"] == 2
    assert linked["books"] == 1, "it counts the trades, which are gone"
    assert _intact(history)


@pytest.mark.usefixtures("upgraded")
def test_a_damaged_earlier_file_is_not_linked(history: History) -> None:
    path = history.place("decisions/part-0.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?")
    build_seal(str(history.seals[2]), history.root)
    assert history.place("decisions/part-0.parquet").read_bytes() == content
    assert _intact(history)


@pytest.mark.usefixtures("upgraded")
def test_a_rollback_survives_an_upgrade(history: History) -> None:
    history.run("rollback", ALPHA)
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)
    reply = history.run("build", "--from", str(history.seals[2]), "--json")
    assert [seal["outcome"] for seal in reply.json["seals"]] == ["rolled back"]
    assert history.pointer.snapshot == history.snapshots[1]


def test_a_rollback_between_builds_of_one_seal_covers_the_build_only(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "BUILD_REVISION", 99)
    schema_version.cache_clear()
    later = build_seal(str(history.seals[2]), history.root).snapshot
    assert history.run("rollback", ALPHA).exit_code == 0
    assert history.pointer.snapshot == history.snapshots[2]
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)
    monkeypatch.undo()
    schema_version.cache_clear()
    assert not build_seal(str(history.seals[2]), history.root).changed, "the version before serves it as ever"
    monkeypatch.setattr(version, "BUILD_REVISION", 100)
    schema_version.cache_clear()
    fixed = build_seal(str(history.seals[2]), history.root).snapshot
    assert fixed not in {later, *history.snapshots}, "and so does the one after, which mends what was wrong"
    monkeypatch.undo()
    schema_version.cache_clear()


@pytest.mark.usefixtures("other_writer")
def test_a_rollback_skips_other_encodings_of_the_served_seal(history: History) -> None:
    build_seal(str(history.seals[2]), history.root, force=True)
    history.run("rollback", ALPHA)
    assert history.pointer.snapshot == history.snapshots[1]


def _redeclared(monkeypatch: pytest.MonkeyPatch, table: str, column: str, **changes: object) -> None:
    declared = PUBLISHED_TABLES[table]

    def changed(one: Column) -> Column:
        return replace(one, **changes) if one.name == column else one  # type: ignore[arg-type]

    changed_table = replace(declared, columns=tuple(map(changed, declared.columns)))
    monkeypatch.setitem(PUBLISHED_TABLES, table, changed_table)
    schema_version.cache_clear()


def test_changed_wording_causes_no_rebuild(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema_version()
    _redeclared(monkeypatch, "decisions", "score", meaning="The same, in other words.")
    assert schema_version() == before
    assert not build_seal(str(history.seals[2]), history.root).changed
    _redeclared(monkeypatch, "decisions", "score_z", formula=2)
    assert schema_version() != before
    monkeypatch.undo()
    schema_version.cache_clear()


@pytest.mark.usefixtures("upgraded")
def test_verify_compares_only_digests_of_snapshots_with_other_declarations(history: History) -> None:
    history.change_table("decisions/part-0.parquet", lambda rows: rows.with_columns(score_z=1.0))
    result = history.run("verify")
    assert result.exit_code == 0
    assert "1 alpha was built with other declarations" in result.output
    assert "build its seal again" in result.output
    path = history.place("decisions/part-0.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert history.run("verify").exit_code == 4


def test_a_rollback_between_encodings_of_the_same_figures_covers_those_files_only(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "COMPRESSION", "zstd")
    other = build_seal(str(history.seals[2]), history.root, force=True).snapshot
    assert history.run("rollback", ALPHA, "--to", history.snapshots[2]).exit_code == 0
    monkeypatch.undo()
    assert not build_seal(str(history.seals[2]), history.root).changed, (
        "what is served was not rolled back from"
    )
    reply = history.run("build", "--from", str(history.seals[2]), "--json")
    assert [seal["outcome"] for seal in reply.json["seals"]] == ["unchanged"]
    assert set(history.pointer.rolled_back) == {other}
