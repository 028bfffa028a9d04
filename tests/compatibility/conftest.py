"""Other versions of the libraries at work on one root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.environments import kept_environment
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import PATIENCE

HERE: Final = Path(__file__).parent
CACHE: Final = REPOSITORY / ".compatibility"
"""Not in the repository: other libraries, installed when they are first needed."""
OLDER: Final = ("polars==2.0.0", "pyarrow==25.0.1")
"""The oldest versions that the project runs on, in addition to the locked ones."""


class Worker:
    """A process with libraries of its own.

    Parameters
    ----------
    path
        What stands first on its search path.
    """

    def __init__(self, path: list[Path]) -> None:
        variables = environment(
            PYTHONPATH=os.pathsep.join(map(str, [*path, REPOSITORY])),
            PYTHONDONTWRITEBYTECODE="1",
            POLARS_MAX_THREADS="1",
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "worker.py")],
            cwd=REPOSITORY, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.versions = self._answer()

    def run(self, *arguments: str) -> Mapping[str, Any]:
        """Run a command of the pipeline; its exit code and output."""
        return self._send({"arguments": list(arguments)})

    def serve(self, root: Path) -> Mapping[str, Any]:
        """Open a root and read every table of every alpha: alpha -> snapshot, seal and rows."""
        return self._send({"root": str(root)})

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()

    def _send(self, command: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the worker ended with code {self._process.wait(PATIENCE)}"
        answer: Mapping[str, Any] = json.loads(line)
        return answer


@pytest.fixture(scope="module")
def older() -> Iterator[Worker]:
    """Return this code on the older libraries."""
    kept = kept_environment(CACHE / "-".join(OLDER).replace("==", "-"), *OLDER).parents[1]
    worker = Worker(list(kept.glob("lib/*/site-packages")))
    assert [f"{name}=={version}" for name, version in worker.versions.items()] == list(OLDER)
    yield worker
    worker.end()


@pytest.fixture(scope="module")
def newer() -> Iterator[Worker]:
    """Return this code on the libraries that are locked."""
    worker = Worker([])
    yield worker
    worker.end()
