"""Views of a root in DuckDB, and the commands of the package."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner, Result
from polars.testing import assert_frame_equal

import datasets
from datasets.__main__ import cli
from datasets.analysis.sql_views import script
from pipeline.snapshot_builder import build_seal
from schemas.tables import PUBLISHED_TABLES
from tests.datasets.conftest import ONE, OTHER
from tests.support.processes import REPOSITORY, environment
from tests.support.seals import make_seal
from tests.support.small_disk import small_disk


@pytest.fixture(scope="module")
def root(two_alphas: Path) -> Path:
    return two_alphas


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process, for exit codes and locked files."""
    return subprocess.run(
        [sys.executable, "-m", "datasets", *arguments],
        cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_views_contain_every_alpha_of_the_root(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "alphas.duckdb"
    done = command("sql", str(root), "--into", str(file), "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    opened = datasets.open(root)
    with duckdb.connect(str(file), read_only=True) as connection:
        for table in set(result["views"]) - {"alphas"}:
            for alpha in filter(lambda alpha: opened[alpha].has(table), (ONE, OTHER)):
                expected = opened[alpha].scan(table).collect()
                columns = ", ".join(f'"{name}"' for name in expected.columns)
                order = ", ".join(PUBLISHED_TABLES[table].key)
                query = f"SELECT {columns} FROM {table} WHERE alpha_id = ? ORDER BY {order}"
                actual = pl.DataFrame(connection.sql(query, params=[alpha]).to_arrow_table())
                actual = actual.with_columns(pl.selectors.datetime().dt.convert_time_zone("UTC"))
                assert_frame_equal(actual, expected.sort(PUBLISHED_TABLES[table].key))
        listed = pl.DataFrame(connection.sql("FROM alphas").to_arrow_table())
        nulls = connection.execute(
            "SELECT count(entry_at), count(raw_score), count(score) FROM decisions WHERE alpha_id = ?",
            [OTHER],
        )
        entries, raw, scores = nulls.fetchone() or (1, 1, 0)
        assert (entries, raw) == (0, 0)
        assert scores > 0
        (comment,) = connection.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'positions' AND column_name = 'weight'"
        ).fetchone() or ("",)
        assert PUBLISHED_TABLES["positions"]["weight"].meaning in comment
    assert_frame_equal(
        listed.with_columns(pl.selectors.datetime().dt.convert_time_zone("UTC")), opened.list()
    )
    assert listed.select("alpha_id", "snapshot").rows() == [(alpha, opened[alpha].id) for alpha in opened]


def test_the_times_of_the_list_are_those_of_the_pointers(root: Path) -> None:
    opened = datasets.open(root)
    rows = opened.list()
    listed = json.loads(command("list", str(root), "--json").stdout)["alphas"]
    for name in ("started_at", "sealed_at", "published_at"):
        stored = [getattr(pointer, name) for pointer in opened.catalogue.listing.pointers]
        assert rows[name].to_list() == [dt.datetime.fromisoformat(text) for text in stored]
        assert [row[name] for row in listed] == stored


def test_recreated_views_follow_publications(tmp_path: Path) -> None:
    root, file = tmp_path / "published", str(tmp_path / "a.duckdb")
    build_seal(str(make_seal(tmp_path / "1", alpha_id=ONE)), root)
    assert command("sql", str(root), "--into", file).exit_code == 0
    build_seal(str(make_seal(tmp_path / "2", alpha_id=ONE, seed=3, without_kinds={"positions"}, started_at="2026-02-05T06:00:00Z",
                             sealed_at="2026-02-05T07:00:00Z")), root)  # fmt: skip
    with duckdb.connect(file, read_only=True) as connection:
        before = {
            name for (name,) in connection.execute("SELECT DISTINCT snapshot FROM decisions").fetchall()
        }
    assert command("sql", str(root), "--into", file).exit_code == 0
    with duckdb.connect(file, read_only=True) as connection:
        after = {name for (name,) in connection.execute("SELECT DISTINCT snapshot FROM decisions").fetchall()}
        views = {
            name
            for (name,) in connection.execute(
                "SELECT view_name FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
        }
    assert after == {datasets.open(root)[ONE].id} != before
    assert "positions" not in views


def test_the_printed_script_creates_the_same_views(root: Path) -> None:
    printed = command("sql", str(root))
    assert printed.exit_code == 0
    assert printed.stdout == script(datasets.open(root))
    with duckdb.connect() as connection:
        connection.execute(printed.stdout)
        (count,) = connection.execute("SELECT count(DISTINCT alpha_id) FROM trades").fetchone() or (0,)
    assert count == 2


@pytest.mark.parametrize("arguments", [["list"], ["sql"]])
def test_a_command_on_a_missing_root_exits_with_two(arguments: list[str], tmp_path: Path) -> None:
    plain = process(*arguments, str(tmp_path / "nowhere"))
    assert plain.returncode == 2
    assert "nowhere" in plain.stderr
    as_json = command(*arguments, str(tmp_path / "nowhere"), "--json")
    result: dict[str, Any] = json.loads(as_json.stdout)
    assert (as_json.exit_code, result["error"]) == (2, "SettingsError")


def test_the_root_may_be_given_by_its_environment_variable(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALPHA_RESULTS_DATASETS", raising=False)
    missing = command("list")
    assert (missing.exit_code, "Missing argument 'ROOT' or ALPHA_RESULTS_DATASETS." in missing.output) == (
        2,
        True,
    )
    monkeypatch.setenv("ALPHA_RESULTS_DATASETS", str(root))
    assert command("list").output == command("list", str(root)).output
    assert command("sql").output == command("sql", str(root)).output
    assert command("list", str(root / "nowhere")).exit_code == 2, "the argument takes precedence"


def test_a_locked_file_or_another_format_is_refused_unchanged(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine" * 2000)
    done = command("sql", str(root), "--into", str(other))
    assert done.exit_code == 2
    assert "notes.txt" in done.stderr
    assert other.read_text() == "mine" * 2000
    with duckdb.connect(str(tmp_path / "own.duckdb")) as connection:
        connection.execute("CREATE TABLE positions (mine INTEGER)")
        assert process("sql", str(root), "--into", str(tmp_path / "own.duckdb")).returncode == 2
    assert command("sql", str(root), "--into", str(tmp_path / "own.duckdb")).exit_code == 2
    with duckdb.connect(str(tmp_path / "own.duckdb")) as connection:
        assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


@pytest.mark.parametrize("free", [0, 32 << 10])
def test_views_on_a_full_disk_leave_no_file(root: Path, tmp_path: Path, free: int) -> None:
    with small_disk(tmp_path / "disk") as disk:
        arguments = ["sql", str(root), "--into", str(disk.folder / "alphas.duckdb")]
        with disk.full():
            os.truncate(disk.folder / "filler", (disk.folder / "filler").stat().st_size - free)
            done = command(*arguments)
            assert done.exit_code == 5
            assert "No space left on device" in done.stderr
            assert [path.name for path in disk.folder.iterdir()] == ["filler"]
        assert command(*arguments).exit_code == 0


def test_views_of_a_damaged_root_leave_no_file(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path)), tmp_path / "published")
    next((tmp_path / "published").glob("alphas/*/*/manifest.json")).write_text("{}")
    done = command("sql", str(tmp_path / "published"), "--into", str(tmp_path / "alphas.duckdb"))
    assert done.exit_code == 4
    assert not (tmp_path / "alphas.duckdb").exists()


def test_views_on_a_read_only_disk_are_refused_in_one_line(root: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.read_only():
        done = command("sql", str(root), "--into", str(disk.folder / "alphas.duckdb"))
    assert done.exit_code == 5
    assert "Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_commands_list_alphas_and_units(root: Path) -> None:
    listed = json.loads(command("list", str(root), "--json").stdout)["alphas"]
    assert {row["alpha_id"] for row in listed} == {ONE, OTHER}
    assert ONE in command("list", str(root)).stdout
    assert "positions.weight  double" in command("units", "positions").stdout
    assert command("units", "nothing").exit_code == 2
    assert "sql" in command("--help").stdout
