"""Each benchmark starts in the environment of the suite; the peers of the comparison have one of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = re.compile(
    r"^    (?:PYTHONPATH=\. )?\{\{ tested \}\} python (?:benchmarks/(\w+)\.py|-m benchmarks\.(\w+))",
    re.MULTILINE,
)
MODULES = [file or module for file, module in COMMAND.findall((REPOSITORY / "justfile").read_text())]


def test_every_benchmark_prints_its_help_without_the_peers() -> None:
    # A module set to None cannot be imported, in any environment.
    code = (
        "import runpy, sys\n"
        "sys.modules |= dict.fromkeys(['fastapi', 'starlette', 'chdb', 'datasette'])\n"
        f"for module in {MODULES}:\n"
        "    sys.argv = [module, '--help']\n"
        "    try:\n"
        "        runpy.run_module(f'benchmarks.{module}', run_name='__main__')\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, module"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert output.returncode == 0, output.stderr
    assert len(re.findall("^Usage: ", output.stdout, re.MULTILINE)) == len(MODULES)


def test_every_benchmark_recipe_is_listed() -> None:
    assert {"batch", "catalogue", "neighbours", "overload"} <= set(MODULES)
