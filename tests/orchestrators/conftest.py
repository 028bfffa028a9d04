"""Environments with an orchestrator and with the installed project, and seals to publish."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.environments import install, kept_environment
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal

CACHE: Final = REPOSITORY / ".orchestrators"
"""Not in the repository: an environment an orchestrator, made when it is first needed."""
EXAMPLES: Final = REPOSITORY / "examples"


def python_with(name: str, *requirements: str, project: bool) -> Path:
    """Return the interpreter of a kept environment, with or without this project as it is now."""
    python = kept_environment(CACHE / name, *requirements)
    if project:
        # An unavailable bucket is retried; without the extra it would be a settings error.
        install(python, "--reinstall-package", "alpha-results", f"{REPOSITORY}[s3]")
    return python


@pytest.fixture
def seals(tmp_path: Path) -> Path:
    """A good seal, and one that breaks a rule."""
    folder = tmp_path / "seals"
    for name in ("Test_good", "Test_broken"):
        make_seal(folder, alpha_id=name, weeks=14, raw=False)
    (folder / "Test_broken" / "pnl.parquet").unlink()
    return folder
