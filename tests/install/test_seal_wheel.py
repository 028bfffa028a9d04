"""The seal writer installs alone, with the rules and few packages."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.support.environments import build_wheel, new_environment
from tests.support.processes import REPOSITORY, environment

SOURCE = REPOSITORY / "clients" / "seal-writer"


def test_the_seal_writer_needs_few_packages(tmp_path: Path) -> None:
    wheel = build_wheel(SOURCE, tmp_path, "--wheel")
    python = new_environment(tmp_path / "environment", f"{wheel}[check]")
    listed = ["uv", "pip", "list", "--format", "json", "--python", str(python)]
    packages = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)
    assert len(packages) <= 7, packages

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = str(python.with_name("alpha-results-seal"))
        return subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    made = run("conformance", "seals", "--json")
    assert made.returncode == 0, made.stderr
    expected = json.loads(made.stdout)["expected"]
    checked = run("check", "--json", *(f"seals/{name}" for name in expected))
    assert checked.returncode == 1, checked.stderr
    for seal in json.loads(checked.stdout)["seals"]:
        rules = expected[Path(seal["seal"]).name]
        assert {violation["rule"] for violation in seal["violations"]} == set(rules), seal["seal"]
        assert seal["refused"] == bool(rules)
    accepted = run("check", "seals/complete")
    assert (accepted.returncode, accepted.stdout) == (0, "seals/complete: accepted\n")
    assert run("check", "nowhere").returncode == 2
