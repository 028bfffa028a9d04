"""The guide's engine runs as printed, and its seal is accepted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from alpha_results_seal import SealWriter

from tests.support.processes import REPOSITORY

GUIDE = (REPOSITORY / "docs" / "writing-a-seal.md").read_text("utf-8")


def test_the_guides_engine_has_at_most_25_lines_and_its_seal_passes_the_strict_check(
    tmp_path: Path,
) -> None:
    (engine,) = re.findall(
        r"^## An engine in 25 lines\n.*?^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL
    )
    assert len([line for line in engine.splitlines() if line.strip()]) <= 25
    subprocess.run([sys.executable, "-c", engine], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "check", "--strict", str(tmp_path / "Test_five_names")],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Test_five_names  accepted" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["Test_five_names"]


def test_the_readme_names_every_method_of_the_writer() -> None:
    readme = (REPOSITORY / "clients" / "seal-writer" / "README.md").read_text("utf-8")
    methods = [name for name in vars(SealWriter) if not name.startswith("_")]
    assert [name for name in methods if f"{name}(" not in readme] == []
