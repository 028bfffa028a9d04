"""Commands with nothing to work on report it, since a misspelt name is likely."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from datasets.__main__ import cli as datasets
from tests.support.history import ALPHA, History
from tests.support.pipeline_command import build, run_pipeline
from tests.support.seals import make_seal


@pytest.fixture(params=["empty", "of something else"])
def no_root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    if request.param != "empty":
        (folder / "papers").mkdir()
        (folder / "notes.txt").write_text("nothing of ours")
    return folder


@pytest.mark.parametrize("words", [["verify"], ["gc"], ["list"], ["gc", "--dry-run"], ["list", "--json"]])
def test_a_folder_that_is_no_root_is_refused(words: list[str], no_root: Path) -> None:
    before = sorted(no_root.iterdir())
    done = run_pipeline(words[0], no_root, *words[1:])
    assert done.exit_code == 2
    assert "is not a root of published alphas" in done.output
    assert str(no_root) in done.output
    assert sorted(no_root.iterdir()) == before, "nothing is made in it"


@pytest.mark.parametrize("words", [["list"], ["sql"]])
def test_the_datasets_commands_refuse_a_folder_that_is_no_root(words: list[str], no_root: Path) -> None:
    done = CliRunner().invoke(datasets, [*words, str(no_root)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "root of published alphas" in done.stderr


def test_a_root_with_only_refused_seals_is_a_root(tmp_path: Path) -> None:
    seal = make_seal(tmp_path / "seals")
    (seal / "decisions.parquet").write_bytes(b"not a table")
    assert build(tmp_path / "root", "--from", str(tmp_path / "seals")).exit_code == 1
    done = run_pipeline("list", tmp_path / "root", "--json")
    assert (done.exit_code, done.json["alphas"]) == (0, [])


def test_gc_of_a_missing_alpha_is_refused(history: History) -> None:
    for words in (["Test_nobody"], [ALPHA, "Test_nobody"], ["Test_nobody", "--dry-run"]):
        done = run_pipeline("gc", history.root, *words)
        assert done.exit_code == 9
        assert f"publishes no alpha 'Test_nobody'; it publishes {ALPHA}" in done.output
    done = run_pipeline("gc", history.root, "Test_nobody", "--json")
    assert "Test_nobody" in json.loads(done.output)["message"]


def test_a_misspelt_alpha_is_refused_with_the_nearest_name(history: History) -> None:
    for command in ("show", "verify", "gc", "rollback", "withdraw", "restore"):
        done = run_pipeline(command, history.root, ALPHA[:-1])
        assert done.exit_code == 9
        assert f"did you mean {ALPHA}?" in done.output


def test_a_name_that_no_alpha_can_have_is_an_alpha_that_the_root_does_not_have(history: History) -> None:
    for command in ("show", "verify", "gc", "rollback", "withdraw", "restore"):
        done = run_pipeline(command, history.root, "../elsewhere")
        assert done.exit_code == 9
        assert "'../elsewhere'" in done.output


def test_gc_gives_the_reason_for_each_kept_snapshot(history: History) -> None:
    reported = run_pipeline("gc", history.root, "--keep", "1", "--grace", "12h").output
    assert "kept: 1 (served)" in reported
    assert "(within the grace period: --grace is 12h)" in reported
    reported = run_pipeline("gc", history.root, ALPHA, "--keep", "2").output
    assert "stays: served" in reported
    assert "stays: one of the 2 kept" in reported
    assert all(snapshot in reported for snapshot in history.snapshots)
