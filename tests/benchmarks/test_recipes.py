"""Each benchmark starts; the comparison does so in an environment of its own, with the peers and without the suite's packages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY

COMMAND = re.compile(r"^    \{\{ tested \}\} python -m benchmarks\.(\w+)", re.MULTILINE)
MODULES = COMMAND.findall((REPOSITORY / "justfile").read_text())

PEERS = ["fastapi", "starlette", "chdb", "datasette"]


@pytest.mark.parametrize(
    ("modules", "missing"), [(MODULES, PEERS), (["compare"], [*PEERS, "pytest", "hypothesis"])]
)
def test_every_benchmark_prints_its_help_without_what_its_environment_lacks(
    modules: list[str], missing: list[str]
) -> None:
    # A module set to None cannot be imported, in any environment.
    code = (
        "import runpy, sys\n"
        f"sys.modules |= dict.fromkeys({missing})\n"
        f"for module in {modules}:\n"
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
    assert len(re.findall("^Usage: ", output.stdout, re.MULTILINE)) == len(modules)


def test_every_benchmark_recipe_is_listed() -> None:
    assert {"batch", "catalogue", "neighbours", "overload"} <= set(MODULES)
