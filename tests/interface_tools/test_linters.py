"""Third-party linters report no problem in the OpenAPI document."""

from __future__ import annotations

import json
from pathlib import Path

from tests.interface_tools.conftest import DOCUMENT, node


def test_spectral_reports_no_warning(tools: Path, tmp_path: Path) -> None:
    (tmp_path / ".spectral.json").write_text(json.dumps({"extends": ["spectral:oas"]}))
    done = node(
        tools, "spectral", "lint", str(DOCUMENT), "--ruleset", ".spectral.json", "--format", "json", "--quiet",
        "--fail-severity", "hint", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert json.loads(done.stdout) == []


def test_redocly_reports_no_warning(tools: Path, tmp_path: Path) -> None:
    done = node(
        tools,
        "redocly",
        "lint",
        str(DOCUMENT),
        "--format",
        "json",
        "--extends",
        "recommended",
        folder=tmp_path,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert json.loads(done.stdout)["problems"] == []
