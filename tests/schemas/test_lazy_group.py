"""Help is printed without importing engines."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline.group import COMMANDS
from schemas.exit_codes import ExitCode
from tests.support.processes import REPOSITORY

ENGINES = ("numpy", "polars", "duckdb", "sqlalchemy", "pyarrow", "scipy")


def test_help_loads_no_engine() -> None:
    commands = [
        *("serve", "serve keys issue", "serve accounts create", "serve access show", "serve audit"),
        *("datasets", "datasets list", "datasets report"),
        *("pipeline", *(f"pipeline {name}" for name in COMMANDS)),
    ]
    script = (
        "import runpy, sys\n"
        f"for words in {commands!r}:\n"
        "    program, *command = words.split()\n"
        "    sys.argv = [program, *command, '--help']\n"
        "    try:\n"
        "        runpy.run_module(program, run_name='__main__')\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, words\n"
        f"    assert not set(sys.modules) & set({ENGINES!r}), words"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(commands)


@pytest.mark.parametrize("program", ["pipeline", "serve"])
def test_ctrl_c_while_a_program_loads_prints_no_traceback(program: str) -> None:
    script = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'schemas.console.command_group':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        f"runpy.run_module({program!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, "", "")
