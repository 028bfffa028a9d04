"""Unsupported storage addresses are refused by every command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from datasets.storage import backends
from pipeline.group import cli
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal
from tests.support.waiting import PATIENCE

ADDRESS = "az://someone:hunter2@container/root?sig=hunter2"


@pytest.fixture(autouse=True)
def _only_the_backends_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the tests' own backend, which other tests may have registered."""
    monkeypatch.setattr(backends, "__path__", list(backends.__path__)[:1])


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", ADDRESS),
        ("build", ADDRESS, "--datasets", "root"),
        ("build", "seal", "--datasets", ADDRESS),
        ("build", "--from", ADDRESS, "--datasets", "root"),
        ("build", "seal", "--datasets", "root", "--archives", ADDRESS),
        ("list", "--datasets", ADDRESS),
        ("gc", "--datasets", ADDRESS),
    ],
)
def test_pipeline_commands_refuse_an_unsupported_address(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_seal(tmp_path, weeks=14, raw=False).rename(tmp_path / "seal")
    done = CliRunner().invoke(cli, list(arguments))
    _require_refused(done.exit_code, done.output)
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("flag", ["--datasets", "--archives", "--market-data", "--factors"])
def test_the_service_does_not_start_with_an_unsupported_address(flag: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    given = {"--datasets": str(tmp_path / "root"), "--access": str(tmp_path / "keys.db"), "--port": "0"} | {
        flag: ADDRESS
    }
    arguments = [text for item in given.items() for text in item]
    done = subprocess.run(
        [sys.executable, "-m", "serve", "run", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    line = _require_refused(done.returncode, done.stdout + done.stderr)
    variable = f"ALPHA_RESULTS_{flag.removeprefix('--').replace('-', '_').upper()}"
    assert line.startswith(f"error: {flag} or {variable}: ")


def _require_refused(exit_code: int, output: str) -> str:
    assert exit_code == 2, output
    (line,) = [line for line in output.splitlines() if "az://" in line]
    assert "az:// is not a supported store; give a folder or s3://bucket/prefix" in line
    assert "hunter2" not in output
    assert "Traceback" not in output
    return line
