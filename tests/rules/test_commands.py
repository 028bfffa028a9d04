"""The commands: output and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from pipeline import group as program
from pipeline.rules import RULES
from schemas.console.command_group import LazyCommand
from schemas.errors import SealRefused, StorageUnavailable
from schemas.exit_codes import ExitCode
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal, rewrite


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program.cli, arguments)


def test_several_seals_and_the_worst_exit_code(tmp_path: Path) -> None:
    good, bad = make_seal(tmp_path, alpha_id="good"), make_seal(tmp_path, alpha_id="bad")
    rewrite(bad, "rebalances", lambda frame: frame.with_columns(week_status=frame["week_status"] + " [bold]"))
    result = run("check", str(good), str(bad))
    assert result.exit_code == 1
    assert "good  accepted" in result.stdout
    assert "bad  refused" in result.stdout
    assert "rebalances.status" in result.stdout
    assert "[bold]" in result.stdout
    assert result.stderr == ""
    result = run("check", str(good), str(tmp_path / "none"), str(bad))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path}/none: there is no such folder")
    assert result.stderr.count("\n") == 1
    assert "bad  refused" in result.stdout


def test_of_several_seals_of_an_alpha_each_is_named_by_its_address(tmp_path: Path) -> None:
    first, second = make_seal(tmp_path / "first"), make_seal(tmp_path / "second")
    assert f"\n{first.name}  accepted" in "\n" + run("check", str(first)).stdout
    result = run("check", str(first), str(second))
    for seal in (first, second):
        assert f"\n{seal}  accepted" in "\n" + result.stdout


def test_json_of_several_seals(tmp_path: Path) -> None:
    result = run("check", "--json", str(make_seal(tmp_path)), str(tmp_path / "none"))
    assert result.exit_code == 2
    good, none = json.loads(result.stdout)["seals"]
    assert good.keys() >= {"violations", "warnings", "not_checked", "reconciliation", "refused"}
    assert len(good["reconciliation"]["figures"]) > 50
    assert good["refused"] is False
    assert none["error"] == "SealUnreadable"
    assert result.stderr == ""


def test_an_empty_address_is_refused_and_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_seal(tmp_path))
    for command in (["check", ""], ["build", "--datasets", str(tmp_path / "root"), ""]):
        result = CliRunner().invoke(program.cli, command)
        assert result.exit_code == 2
        assert "an address is empty; give a folder or the URL of a supported store" in result.output


def test_a_broken_manifest_is_shown_as_a_refusal(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    rewrite(seal, "seal", lambda manifest: manifest | {"started_at": "yesterday"})
    result = CliRunner().invoke(program.cli, ["check", str(seal)])
    assert result.exit_code == 1
    assert "seal.manifest" in result.stdout
    assert "yesterday" in result.stdout


def test_a_misspelt_command_names_the_nearest() -> None:
    result = CliRunner().invoke(program.cli, ["builds"])
    assert result.exit_code == 2
    assert "Did you mean 'build'?" in result.stderr


def test_a_usage_error_is_printed_as_json_with_json() -> None:
    result = CliRunner().invoke(
        program.cli, ["build", "--json", "--jobs", "two", "--datasets", "root", "seal"]
    )
    assert result.exit_code == 2
    printed = json.loads(result.stdout)
    assert printed["error"] == "SettingsError"
    assert printed["exit_code"] == 2
    assert "--jobs" in printed["message"]
    assert result.stderr.startswith("Usage: ")


def test_a_misspelt_variable_is_named_and_other_variables_are_not() -> None:
    variables = {"ALPHA_RESULTS_JOB": "3", "ALPHA_RESULTS_KEY": "token", "ALPHA_RESULTS_JOBS": "2"}
    result = CliRunner().invoke(program.cli, ["rules", "--json"], env=variables)
    assert result.stderr == (
        "warning: ALPHA_RESULTS_JOB is not a setting, so it is ignored; did you mean ALPHA_RESULTS_JOBS?\n"
    )
    json.loads(result.stdout)


def skip_first(rebalances: pl.DataFrame) -> pl.DataFrame:
    is_first = pl.int_range(pl.len()) == 0
    return rebalances.with_columns(
        week_status=pl.when(is_first).then(pl.lit("skipped")).otherwise("week_status")
    )


def test_a_text_is_shown_in_quotes_where_a_number_is_expected_and_one_row_in_the_singular(
    tmp_path: Path,
) -> None:
    text, one_row = make_seal(tmp_path, alpha_id="text"), make_seal(tmp_path, alpha_id="one_row")
    rewrite(text, "seal", lambda manifest: {**manifest, "seal_version": "1"})
    rewrite(one_row, "rebalances", skip_first)
    result = CliRunner().invoke(program.cli, ["check", str(text), str(one_row)])
    assert 'found="1", expected=the number 1' in result.stdout
    assert "1 row of rebalances.parquet" in result.stdout
    assert "1 week with a status that is not a snake_case code" in result.stdout


def test_no_seal_at_all_is_a_usage_error() -> None:
    assert CliRunner().invoke(program.cli, ["check"]).exit_code == 2


def test_checking_loads_neither_the_builder_nor_a_query_engine() -> None:
    script = (
        "import sys; import pipeline.check_command;"
        "assert not [m for m in sys.modules if m.startswith(('pipeline.snapshot_builder', 'duckdb'))]"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "error",
    [StorageUnavailable("the store\nis away"), SealRefused("broken", [{"rule": "seal.path"}])],
    ids=lambda error: type(error).__name__,
)
def test_a_project_error_is_one_line_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: SealRefused | StorageUnavailable
) -> None:
    @click.command()
    @click.option("--json", "_as_json", is_flag=True)
    def fail(_as_json: bool) -> None:
        raise error

    module = ModuleType("failing")
    vars(module)["fail"] = fail
    monkeypatch.setitem(sys.modules, "failing", module)
    monkeypatch.setitem(program.COMMANDS, "fail", LazyCommand("failing", "fail", ""))
    plain = CliRunner().invoke(program.cli, ["fail"])
    assert plain.exit_code == error.exit_code
    assert plain.stderr.startswith("error: ")
    assert plain.stderr.count("\n") == 1
    result = CliRunner().invoke(program.cli, ["fail", "--json"])
    assert result.exit_code == error.exit_code
    assert json.loads(result.stdout)["error"] == type(error).__name__


def test_a_bug_exits_with_its_own_code_and_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def fail() -> None:
        raise ZeroDivisionError("the bug")

    module = ModuleType("failing")
    vars(module)["fail"] = fail
    monkeypatch.setitem(sys.modules, "failing", module)
    monkeypatch.setitem(program.COMMANDS, "fail", LazyCommand("failing", "fail", ""))
    result = CliRunner().invoke(program.cli, ["fail"])
    assert result.exit_code == ExitCode.PROGRAM_FAILED
    assert "ZeroDivisionError: the bug" in result.stderr


def test_the_rules_are_listed() -> None:
    listed = json.loads(CliRunner().invoke(program.cli, ["rules", "--json"]).stdout)
    assert [rule["id"] for rule in listed] == list(RULES)
    assert all(rule["meaning"] and rule["remedy"] for rule in listed)
    table = CliRunner().invoke(program.cli, ["rules"]).stdout
    assert "portfolio.continuity" in table
    assert max(map(len, table.splitlines())) <= 120, "through a pipe it can be read"


def test_a_missing_or_invalid_option_names_its_variable_too() -> None:
    result = CliRunner().invoke(program.cli, ["list"], env={"ALPHA_RESULTS_DATASETS": None})
    assert result.exit_code == 2
    assert "Missing option '--datasets' or ALPHA_RESULTS_DATASETS." in result.stderr
    result = CliRunner().invoke(
        program.cli, ["build", "x", "--datasets", "y"], env={"ALPHA_RESULTS_JOBS": "two"}
    )
    assert "Invalid value for '--jobs' or ALPHA_RESULTS_JOBS: 'two'" in result.stderr
