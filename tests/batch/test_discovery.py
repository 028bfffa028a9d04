"""Which seals are built, and which are skipped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.batch.batch import Batch
from pipeline.batch.discover import Seals
from pipeline.batch.search import Search, WorkPlan
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal
from tests.support.pipeline_command import build
from tests.support.seals import rewrite

Seal = Callable[..., Path]


def test_finished_seals_are_discovered_at_any_depth(tmp_path: Path, seal: Seal) -> None:
    first, second = seal("Test_a", "x/y"), seal("Test_b", "x")
    unfinished = seal("Test_c", "z")
    (unfinished / "seal.json").rename(unfinished / "seal.json.part")
    # A seal inside the sealed source of a run is not a seal to build.
    copied = first / "source" / "example" / "seal.json"
    copied.parent.mkdir()
    copied.write_text((second / "seal.json").read_text())
    digest = hashlib.sha256(copied.read_bytes()).hexdigest()

    def declare(manifest: dict[str, Any]) -> dict[str, Any]:
        manifest["kinds"]["source"]["files"]["example/seal.json"] = digest
        return manifest

    rewrite(first, "seal", declare)
    seals = Seals(str(tmp_path / "seals"))
    assert [one.address for one in seals.scan()] == [str(second), str(first)]
    assert [one.alpha_id for one in seals.scan()] == ["Test_b", "Test_a"]
    (unfinished / "seal.json.part").rename(unfinished / "seal.json")
    assert [one.alpha_id for one in seals.scan()] == ["Test_b", "Test_a", "Test_c"]


def test_a_manifest_is_read_again_only_when_it_changed(tmp_path: Path, seal: Seal) -> None:
    made = seal("Test_a")
    seals = Seals(str(tmp_path / "seals"))
    (before,) = seals.scan()
    manifest = made / "seal.json"
    status = manifest.stat()
    manifest.write_text(manifest.read_text().replace("Test_a", "Test_x"))
    # The same size and time, so only reading it would show another alpha.
    os.utime(manifest, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [one.alpha_id for one in seals.scan()] == ["Test_a"]
    os.utime(manifest)
    (after,) = seals.scan()
    assert (after.alpha_id, after.digest != before.digest) == ("Test_x", True)
    manifest.unlink()
    assert seals.scan() == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"))
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def _plan(tmp_path: Path, **options: Any) -> WorkPlan:
    searched = str(tmp_path / "seals")
    batch = Batch(root=tmp_path / "root", searched=searched, **options)
    search = Search(batch, searched, open_storage(tmp_path / "root"))
    search.scan()
    return search.choose()


def _chosen(tmp_path: Path, **options: Any) -> dict[str, str]:
    plan = _plan(tmp_path, **options)
    due = {Path(one.address).parent.name: "due" for one in plan.due}
    return due | {Path(result.seal).parent.name: result.outcome for _, result in plan.skipped}


def test_only_the_latest_seal_of_an_alpha_is_built(tmp_path: Path, seal: Seal) -> None:
    for number, day in enumerate(("02", "01", "03")):
        seal("Test_a", f"v{day}", seed=number + 1, sealed_at=f"2026-01-{day}T00:00:00Z")
    assert _chosen(tmp_path) == {"v01": "superseded", "v02": "superseded", "v03": "due"}
    assert {result.snapshot for _, result in _plan(tmp_path).skipped} == {None}, "none is served"
    build_seal(str(tmp_path / "seals/v03/Test_a"), tmp_path / "root")
    assert _chosen(tmp_path) == {"v01": "superseded", "v02": "superseded", "v03": "unchanged"}
    assert _chosen(tmp_path, force=True) == {"v01": "superseded", "v02": "superseded", "v03": "due"}


def test_an_alpha_is_judged_by_its_own_pointer(tmp_path: Path, seal: Seal) -> None:
    for alpha, day in (("Test_a", "02"), ("Test_b", "09")):
        made = seal(alpha, f"{alpha}-old", seed=1, sealed_at=f"2026-01-{day}T00:00:00Z")
        build_seal(str(made), tmp_path / "root")
    seal("Test_a", "Test_a-new", seed=2, sealed_at="2026-01-03T00:00:00Z")
    assert _chosen(tmp_path) == {"Test_a-new": "due", "Test_a-old": "unchanged", "Test_b-old": "unchanged"}


def test_discovery_does_not_undo_a_rollback(tmp_path: Path, seal: Seal) -> None:
    for day in ("01", "02"):
        made = seal("Test_a", f"v{day}", seed=int(day), sealed_at=f"2026-01-{day}T00:00:00Z")
        build_seal(str(made), tmp_path / "root")
    from tests.support.history import History  # noqa: PLC0415 - the command that rolls back

    assert History(tmp_path / "root", (), ()).run("rollback", "Test_a").exit_code == 0
    assert _chosen(tmp_path) == {"v01": "unchanged", "v02": "rolled back"}
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--json")
    assert (result.exit_code, sorted(result.json["summary"])) == (
        0,
        ["failures", "rolled back", "seals", "seconds", "unchanged"],
    )
    pointer = served(open_storage(tmp_path / "root"), "Test_a")
    assert pointer is not None
    assert pointer.sealed_at == "2026-01-01T00:00:00Z"


def test_a_changed_seal_is_built_again_and_a_broken_one_is_retried(tmp_path: Path, seal: Seal) -> None:
    made = seal("Test_a")
    build_seal(str(made), tmp_path / "root")
    rewrite(made, "seal", lambda document: {**document, "sealed_at": "2026-02-01T00:00:00Z"})
    assert _chosen(tmp_path) == {"group": "due"}
    (made / "seal.json").write_text("{")
    assert _chosen(tmp_path) == {"group": "due"}


COMMANDS = {
    "build, named": ("build", "{seal}"),
    "build, several": ("build", "--jobs", "2", "{seal}"),
    "build, found": ("build", "--from", "{seals}"),
    "list": ("list",),
    "show": ("show", "Test_a"),
    "verify": ("verify",),
    "gc": ("gc",),
    "rollback": ("rollback", "Test_a"),
}


@pytest.mark.parametrize("below", ["", "/published"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_root_that_is_a_file_is_refused_in_one_line(
    tmp_path: Path, seal: Seal, command: str, below: str
) -> None:
    made = seal("Test_a")
    file = tmp_path / "file"
    file.write_text("no folder")
    words = [word.format(seal=made, seals=tmp_path / "seals") for word in COMMANDS[command]]
    result = CliRunner().invoke(cli, [*words, "--datasets", f"{file}{below}"])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: --datasets: ")
    assert f"'{file}' is a file, not a folder; give the folder" in line
    assert result.stdout == ""
    assert file.read_text() == "no folder"


def test_a_file_given_as_the_seal_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = build(tmp_path / "root", "--from", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert result.output == (
        f"error: --from: '{tmp_path / 'file'}' is a file, not a folder; give the folder that seals are written to\n"
    )
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_file_given_as_a_seal_is_reported_as_a_file(tmp_path: Path, seal: Seal, command: str) -> None:
    manifest = seal("Test_a") / "seal.json"
    where = () if command == "check" else ("--datasets", str(tmp_path / "root"))
    result = CliRunner().invoke(cli, [command, str(manifest), *where])
    assert result.exit_code == 2
    assert "this is a file; a seal is the folder that holds a seal.json" in " ".join(result.output.split())


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_folder_of_seals_given_as_a_seal_is_reported_as_one(
    tmp_path: Path, seal: Seal, command: str
) -> None:
    folder = seal("Test_a").parent
    where = () if command == "check" else ("--datasets", str(tmp_path / "root"))
    result = CliRunner().invoke(cli, [command, str(folder), *where])
    assert result.exit_code == 2
    assert (
        f"{folder}: this folder is not a seal but contains seals, such as 'Test_a'; name each, or publish them all with "
        f"`alpha-results build --from {folder}`"
    ) in result.output


def test_an_empty_folder_is_reported_and_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "seals").mkdir()
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"))
    assert result.exit_code == 0
    assert "no finished seal lies below" in result.output


def test_a_damaged_copy_of_a_served_seal_is_unchanged_to_a_build_and_refused_by_a_check(
    tmp_path: Path, seal: Seal
) -> None:
    made = seal("Test_a")
    for expected in ("built", "unchanged"):
        assert build(tmp_path / "root", str(made), "--json").outcomes() == {"Test_a": expected}
        (made / "pnl.parquet").write_bytes(b"damaged")
    result = CliRunner().invoke(cli, ["check", str(made)])
    assert result.exit_code == 1
    assert "seal.digest" in result.output
    assert "pnl.parquet" in result.output
