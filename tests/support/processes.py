"""Programs as users start them: processes of this checkout, without the settings of whoever runs the suite."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.waiting import PATIENCE

REPOSITORY: Final = Path(__file__).resolve().parents[2]


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment without the project's settings, and with these variables."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")}
    return {**others, **variables}


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `serve` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "serve", *arguments],
        cwd=REPOSITORY,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def tasks(pid: int, name: str) -> list[str]:
    """Read a file of each of a process's threads: of those that ended since, and of a process that did, nothing."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.append((task / name).read_text())
    return found


def children(pid: int) -> list[int]:
    """List the processes that a process started; threads may have started them, so every task is asked."""
    return [int(child) for children in tasks(pid, "children") for child in children.split()]


def builds(pid: int) -> list[int]:
    """List the builds of a batch: they are forked from the one process that it started."""
    return [build for server in children(pid) for build in children(server)]
