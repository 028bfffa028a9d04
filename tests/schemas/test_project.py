"""Both programs print the project's version."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.processes import REPOSITORY, environment

STATED = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]


def run_version(program: str, folder: Path = REPOSITORY, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", program, "--version"],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("program", ["serve", "pipeline"])
def test_programs_print_the_projects_version(program: str) -> None:
    assert run_version(program) == f"alpha-results {STATED}\n"


def test_the_service_prints_the_build_of_its_health_endpoint() -> None:
    assert (
        run_version("serve", ALPHA_RESULTS_BUILD="2026-07-01 a1b2c3") == "alpha-results 2026-07-01 a1b2c3\n"
    )


def test_a_program_without_its_project_file_prints_unknown(tmp_path: Path) -> None:
    for package in ("schemas", "pipeline"):
        shutil.copytree(REPOSITORY / package, tmp_path / package)
    assert run_version("pipeline", tmp_path) == "alpha-results unknown\n"
