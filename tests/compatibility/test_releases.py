"""What each release published is opened, verified, rolled back, collected and built over by this one; and the other way.

The archives are what `make.py` of a release wrote, never changed afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import datasets
from datasets.catalogue import Catalogue
from datasets.manifest import Manifest, Pointer, digest, named_by_content
from datasets.pinned import PinnedSnapshots
from datasets.publication.made_of import learned
from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.__main__ import cli
from pipeline.housekeeping.verify import verify
from tests.compatibility.conftest import RELEASES, Worker, unpack

BACK, WHOLE = "Test_back", "Test_whole"


@pytest.fixture(params=RELEASES)
def published(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the folder of what one release published."""
    return unpack(request.param, tmp_path)


def _run(command: str, root: Path, *arguments: str) -> int:
    done = CliRunner().invoke(cli, [command, *arguments, "--datasets", str(root)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code


def _seal(published: Path, name: str) -> Path:
    return next((published / "seals" / name).iterdir())


def _digest(seal: Path) -> str:
    return digest((seal / "seal.json").read_bytes())


def _clean(root: Path) -> None:
    for alpha in (BACK, WHOLE):
        assert verify(open_storage(root), alpha).faults == []


def test_there_is_an_archive_of_the_first_release_and_of_this_one() -> None:
    assert RELEASES[0] == "0.1.0"
    assert len(RELEASES) > 1


def test_it_is_served_and_verified(published: Path) -> None:
    root = datasets.open(published / "root")
    assert sorted(root) == [BACK, WHOLE]
    for alpha in root:
        snapshot = root[alpha]
        assert snapshot.published_at.endswith("Z")
        assert snapshot.description() is not None
        for dataset in snapshot.datasets():
            assert snapshot.scan(dataset).collect().columns == list(snapshot.columns(dataset))
    assert root[WHOLE].manifest.seal_digest == _digest(_seal(published, "whole"))
    assert root[BACK].manifest.seal_digest == _digest(_seal(published, "2026-01-01"))
    _clean(published / "root")


def test_a_figure_that_was_changed_since_is_noticed(published: Path) -> None:
    """The archives hold today's formulas to what they were: one that gives other values needs another version."""
    root = published / "root"
    path = next(root.glob(f"alphas/alpha_id={WHOLE}/*/decisions/part-0.parquet"))
    rows = pl.read_parquet(path.read_bytes(), hive_partitioning=False)
    rows.with_columns(pl.col("score_z") * 1.01).write_parquet(path)
    assert verify(open_storage(root), WHOLE).faults


def test_what_was_rolled_back_stays_so_until_it_is_forced(published: Path) -> None:
    root, later = published / "root", _seal(published, "2026-01-02")
    assert _run("build", root, str(later)) == 3
    assert _run("build", root, "--from", str(published / "seals")) == 0
    assert datasets.open(root)[BACK].manifest.seal_digest == _digest(_seal(published, "2026-01-01"))
    assert _run("build", root, str(later), "--force") == 0
    assert datasets.open(root)[BACK].manifest.seal_digest == _digest(later)
    _clean(root)


def test_it_is_rolled_back_collected_withdrawn_and_restored(published: Path) -> None:
    root = published / "root"
    assert _run("build", root, str(_seal(published, "2026-01-02")), "--force") == 0
    assert _run("rollback", root, BACK) == 0
    assert datasets.open(root)[BACK].manifest.sealed_at == "2026-01-01T00:00:00Z"
    assert _run("gc", root, "--keep", "1", "--grace", "0s") == 0
    assert len(list(root.glob(f"alphas/alpha_id={BACK}/*"))) == 1
    assert _run("withdraw", root, BACK) == 0
    assert list(datasets.open(root)) == [WHOLE]
    assert _run("restore", root, BACK) == 0
    assert datasets.open(root)[BACK].manifest.sealed_at == "2026-01-01T00:00:00Z"
    assert _run("show", root, BACK) == 0
    assert _run("list", root) == 0
    _clean(root)


def test_building_its_seals_again_changes_no_file_that_was_there(published: Path) -> None:
    root = published / "root"
    before = {
        path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "catalog" not in path.parts
    }
    for options in ((), ("--force",)):
        assert _run("build", root, str(_seal(published, "whole")), *options) == 0
        assert datasets.open(root)[WHOLE].manifest.seal_digest == _digest(_seal(published, "whole"))
        assert {path: path.read_bytes() for path in before} == before
        _clean(root)


def test_its_earlier_snapshots_are_opened_by_id(published: Path) -> None:
    storage = open_storage(published / "root")
    catalogue = Catalogue(storage)
    catalogue.refresh()
    pointer = served(storage, BACK)
    assert pointer is not None
    (earlier,) = pointer.replaced
    found = PinnedSnapshots(storage, catalogue).open(BACK, earlier)
    assert found.manifest.seal_digest == _digest(_seal(published, "2026-01-02"))
    assert found.published_at <= pointer.replaced[earlier]
    assert learned(storage, pointer).made_of[0] == _digest(_seal(published, "2026-01-01"))


def test_fields_of_a_later_release_are_tolerated(published: Path) -> None:
    """A pointer and a manifest of the future: every record in them has a field more."""
    root = published / "root"
    for path in root.glob("catalog/*.json"):
        document = json.loads(path.read_bytes()) | {"a_new_field": {"x": [1]}}
        pointer = Pointer.decode(json.dumps(document).encode(), "pointer")
        assert pointer.unknown == {"a_new_field": {"x": [1]}}
        assert b"a_new_field" in pointer.encode()
    for path in root.glob("alphas/*/*/manifest.json"):
        data = path.read_bytes()
        assert named_by_content(data, path.parent.name.removeprefix("snapshot="))
        document = json.loads(data) | {"a_new_field": None}
        document["files"] = [entry | {"a_newer_field": 2} for entry in document["files"]]
        later = json.dumps(document).encode()
        assert Manifest.decode(later, "manifest") == Manifest.decode(data, "manifest")


def test_the_first_release_works_on_what_this_one_writes(
    first_release: Worker, newer: Worker, tmp_path: Path
) -> None:
    published = unpack("0.1.0", tmp_path)
    root, seals = published / "root", published / "seals"
    later, whole = _seal(published, "2026-01-02"), _seal(published, "whole")
    place = ("--datasets", str(root))
    assert newer.run("build", str(later), "--force", *place)["exit_code"] == 0
    assert newer.run("build", str(whole), "--force", *place)["exit_code"] == 0
    assert first_release.serve(root) == newer.serve(root)
    _knows_all_but_new_columns(first_release, place)
    assert first_release.run("show", BACK, *place)["exit_code"] == 0
    # An old operator rolls back from a snapshot of this release; no builder of this one undoes it.
    assert first_release.run("rollback", BACK, *place)["exit_code"] == 0
    assert newer.serve(root)[BACK]["seal"] == _digest(_seal(published, "2026-01-01"))
    assert newer.run("build", "--from", str(seals), *place)["exit_code"] == 0
    assert newer.run("build", str(later), *place)["exit_code"] == 3
    # And the other way.
    assert newer.run("build", str(later), "--force", *place)["exit_code"] == 0
    assert newer.run("rollback", BACK, *place)["exit_code"] == 0
    assert first_release.run("gc", "--keep", "1", "--grace", "0s", *place)["exit_code"] == 0
    assert newer.run("build", str(later), *place)["exit_code"] == 3
    _knows_all_but_new_columns(first_release, place)
    assert newer.run("verify", *place)["exit_code"] == 0


def _knows_all_but_new_columns(first_release: Worker, place: tuple[str, ...]) -> None:
    """Let the first release verify: it cannot know of columns that came later, and nothing else may be wrong."""
    result = first_release.run("verify", "--json", *place)
    found = json.loads(result["output"])["alphas"]
    faults = [fault for alpha in found for fault in alpha["faults"]]
    assert {fault["check"] for fault in faults} <= {"columns"}
    later = ("weekly_signal", "sealed_metrics")
    assert all(fault["file"].split("/")[-2] in later for fault in faults), faults


def test_the_first_release_neither_serves_nor_republishes_what_is_withdrawn(
    first_release: Worker, newer: Worker, tmp_path: Path
) -> None:
    published = unpack("0.1.0", tmp_path)
    root = published / "root"
    place = ("--datasets", str(root))
    assert newer.run("withdraw", WHOLE, *place)["exit_code"] == 0
    found = first_release.serve(root)[WHOLE]
    assert found["rows"] == {}, "it lists the name, and has nothing to answer with"
    assert first_release.run("build", str(_seal(published, "whole")), *place)["exit_code"] == 3
    assert first_release.run("build", "--from", str(published / "seals"), *place)["exit_code"] == 0
    assert first_release.run("gc", *place)["exit_code"] == 0
    assert WHOLE not in newer.serve(root)
    # Forced, it publishes again; this release goes on serving nothing of it.
    assert first_release.run("build", str(_seal(published, "whole")), "--force", *place)["exit_code"] == 0
    assert WHOLE not in newer.serve(root)
    _knows_all_but_new_columns(first_release, place)
    assert newer.run("verify", *place)["exit_code"] == 0
