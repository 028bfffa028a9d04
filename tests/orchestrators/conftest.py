"""Environments with an orchestrator and with the installed project, and seals to publish."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal

CACHE: Final = REPOSITORY / ".orchestrators"
"""Not in the repository: an environment an orchestrator, made when it is first needed."""
EXAMPLES: Final = REPOSITORY / "examples"

Environment = Callable[..., Path]


@pytest.fixture(scope="session")
def environment_with() -> Environment:
    """Return a factory of environments from requirements, with or without this project's wheel."""

    def make(name: str, *requirements: str, project: bool) -> Path:
        uv = shutil.which("uv")
        if uv is None:
            pytest.skip("uv is not there, which would make the environment")
        folder = CACHE / name
        python = folder / "bin" / "python"
        CACHE.mkdir(exist_ok=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        with (CACHE / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one test run may have several processes
            if not (folder / ".complete").exists():
                shutil.rmtree(folder, ignore_errors=True)
                subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
                if requirements:
                    done = subprocess.run(
                        [*install, *requirements], capture_output=True, text=True, check=False
                    )
                    if done.returncode:
                        pytest.skip(
                            f"{requirements} cannot be installed: {done.stderr.strip().splitlines()[-1:]}"
                        )
                (folder / ".complete").touch()
            if project:  # as it is now
                # An unavailable bucket is retried; without the extra it would be a settings error.
                again = ["--reinstall-package", "alpha-results", f"{REPOSITORY}[s3]"]
                subprocess.run([*install, *again], check=True)
        return python

    return make


@pytest.fixture
def seals(tmp_path: Path) -> Path:
    """A good seal, and one that breaks a rule."""
    folder = tmp_path / "seals"
    for name in ("Test_good", "Test_broken"):
        make_seal(folder, alpha_id=name, weeks=14, raw=False)
    (folder / "Test_broken" / "pnl.parquet").unlink()
    return folder
