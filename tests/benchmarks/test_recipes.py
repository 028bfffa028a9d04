"""Each benchmark starts in the environment of the suite; the peers of the comparison have one of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = re.compile(
    r"^    (?:PYTHONPATH=\. )?\{\{ tested \}\} python (?:benchmarks/(\w+)\.py|-m benchmarks\.(\w+))",
    re.MULTILINE,
)
MODULES = [file or module for file, module in COMMAND.findall((REPOSITORY / "justfile").read_text())]


@pytest.mark.parametrize("module", MODULES)
def test_a_benchmark_prints_its_help_without_the_peers(module: str) -> None:
    # A module set to None cannot be imported, in any environment.
    code = (
        "import runpy, sys\n"
        "sys.modules |= dict.fromkeys(['fastapi', 'starlette', 'chdb', 'datasette'])\n"
        f"sys.argv = ['{module}', '--help']\n"
        f"runpy.run_module('benchmarks.{module}', run_name='__main__')"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert output.returncode == 0, output.stderr
    assert output.stdout.startswith("Usage:")


def test_every_benchmark_recipe_is_listed() -> None:
    assert {"access", "build", "catalogue", "neighbours", "overload"} <= set(MODULES)
