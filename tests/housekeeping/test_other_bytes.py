"""Bytes that differ are another snapshot, whoever writes them; what a pointer named stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import datasets
from datasets.layout import MANIFEST
from datasets.manifest import Pointer, digest
from datasets.notes import Notes
from datasets.storage import open_storage
from pipeline.build import build_seal, write
from pipeline.housekeeping.verify import verify
from schemas import version
from schemas.errors import PublicationRefused
from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.version import FIRST_RELEASE, schema_version, snapshot_id
from tests.support.history import ALPHA, History
from tests.support.seals import make_seal


@pytest.fixture
def other_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the same figures as other bytes, as another release of a library does."""
    monkeypatch.setattr(write, "COMPRESSION", "zstd")


@pytest.fixture
def upgraded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Declare something else, as a later release does."""
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
def test_a_forced_build_that_comes_out_otherwise_is_another_snapshot(history: History) -> None:
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
def test_a_builder_on_another_release_leaves_alone_what_has_the_same_figures(history: History) -> None:
    before = _bytes(history)
    assert not build_seal(str(history.seals[2]), history.root).changed
    assert _bytes(history) == before


def test_the_same_build_forced_again_changes_nothing(history: History) -> None:
    before = {path: path.stat().st_mtime_ns for path in _bytes(history)}
    assert not build_seal(str(history.seals[2]), history.root, force=True).changed
    assert {path: path.stat().st_mtime_ns for path in _bytes(history)} == before


@pytest.mark.parametrize("noted", [True, False])
def test_a_manifest_that_another_builder_overwrote_is_published_anew_without_force(
    history: History, noted: bool
) -> None:
    """What the first release left behind: the pointer names a digest that no file has any more."""
    place = history.place(MANIFEST)
    place.write_bytes(place.read_bytes() + b"\n")
    if not noted:
        history.change_pointer(notes=Notes())
    assert history.run("verify").exit_code == 4
    assert build_seal(str(history.seals[2]), history.root).changed
    assert _intact(history)


def test_damage_is_healed_by_the_same_bytes(history: History) -> None:
    before = _bytes(history)
    path = history.place("positions/book=long_only/part-0.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    result = build_seal(str(history.seals[2]), history.root, force=True)
    assert (result.changed, result.snapshot) == (True, history.snapshots[2])
    assert _bytes(history) == before


@pytest.mark.usefixtures("other_writer")
def test_damage_that_cannot_be_healed_by_the_same_bytes_is_left_for_another_snapshot(
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
def test_files_that_come_out_the_same_are_linked_and_not_written_again(history: History) -> None:
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


def test_what_did_change_is_written_and_the_rest_linked(history: History, tmp_path: Path) -> None:
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
def test_damage_of_an_earlier_snapshot_is_not_linked_on(history: History) -> None:
    path = history.place("decisions/part-0.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    build_seal(str(history.seals[2]), history.root)
    assert history.place("decisions/part-0.parquet").read_bytes() == whole
    assert _intact(history)


@pytest.mark.usefixtures("upgraded")
def test_a_rollback_outlives_an_upgrade(history: History) -> None:
    history.run("rollback", ALPHA)
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)
    reply = history.run("build", "--from", str(history.seals[2]), "--json")
    assert [seal["outcome"] for seal in reply.json["seals"]] == ["rolled back"]
    assert history.pointer.snapshot == history.snapshots[1]


@pytest.mark.parametrize("files", [True, False])
@pytest.mark.usefixtures("upgraded")
def test_a_rollback_of_the_first_release_is_remembered(history: History, files: bool) -> None:
    of_first = snapshot_id(digest((history.seals[2] / "seal.json").read_bytes()), FIRST_RELEASE)
    history.run("rollback", ALPHA)
    # As that release wrote it: a snapshot of its own naming, and no notes; or of ours, whose manifest says the seal.
    history.change_pointer(withdrawn=(history.snapshots[2] if files else of_first,), notes=Notes())
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)


def test_going_back_to_an_earlier_build_of_one_seal_judges_the_build_alone(
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
    assert not build_seal(str(history.seals[2]), history.root).changed, "the release before serves it as ever"
    monkeypatch.setattr(version, "BUILD_REVISION", 100)
    schema_version.cache_clear()
    fixed = build_seal(str(history.seals[2]), history.root).snapshot
    assert fixed not in {later, *history.snapshots}, "and so does the one after, which mends what was wrong"
    monkeypatch.undo()
    schema_version.cache_clear()


@pytest.mark.usefixtures("other_writer")
def test_another_writing_of_the_seal_served_is_not_what_a_rollback_means(history: History) -> None:
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


def test_wording_is_no_schema_and_rebuilds_nothing(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema_version()
    _redeclared(monkeypatch, "decisions", "score", meaning="The same, in other words.")
    assert schema_version() == before
    assert not build_seal(str(history.seals[2]), history.root).changed
    _redeclared(monkeypatch, "decisions", "score_z", formula=2)
    assert schema_version() != before
    monkeypatch.undo()
    schema_version.cache_clear()


@pytest.mark.parametrize(
    "changes", [{"formula": 2}, {"type": PUBLISHED_TABLES["books"]["rows"].type}, {"nullable": False}]
)
def test_a_snapshot_is_judged_by_the_declarations_it_was_built_with(
    history: History, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    # A later release computes it otherwise, stores it otherwise, or promises more of it.
    history.change_table("decisions/part-0.parquet", lambda rows: rows)
    _redeclared(monkeypatch, "weekly_signal", "ic", **changes)
    assert history.run("verify").exit_code == 0
    monkeypatch.undo()
    schema_version.cache_clear()


def test_pointers_have_the_fields_and_ids_of_the_first_release(history: History) -> None:
    """Its readers know no others: a field more would make every alpha unreadable to them."""
    history.run("rollback", ALPHA, "--reason", "wrong prices")
    reply = history.pointer.document()
    assert set(reply) == {
        "alpha_id", "snapshot", "manifest_sha256", "name", "tldr", "complete", "missing", "started_at", "sealed_at",
        "published_at", "kinds", "replaced", "withdrawn", "removing",
    }  # fmt: skip
    assert history.snapshots[2] in reply["withdrawn"]
    assert all(isinstance(one, str) for one in reply["withdrawn"])
    manifest = datasets.open(history.root)[ALPHA].manifest
    assert snapshot_id(manifest.seal_digest, manifest.schema_version) == manifest.snapshot
    assert Pointer.decode(history.pointer.encode(), "x") == history.pointer


def test_going_back_between_two_writings_of_the_same_figures_judges_those_files_alone(
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
    assert history.pointer.withdrawn == (other,)
