"""A Dask scheduler and workers started by Dask's programs, ended with the test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import REPOSITORY
from tests.support.waiting import eventually


class Dask:
    """One scheduler, and workers that run this project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self._start(
            "scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"
        )
        eventually(lambda: self._logged("scheduler", r"tcp://127\.0\.0\.1:\d+"), "the scheduler")
        self.address = self._logged("scheduler", r"tcp://127\.0\.0\.1:\d+")

    @property
    def scheduler(self) -> subprocess.Popen[bytes]:
        return self._started[0]

    def worker(self, name: str, checkout: Path = REPOSITORY) -> subprocess.Popen[bytes]:
        """Start a worker of one thread in a checkout of the project, and wait until it is connected."""
        worker = self._start(
            name, "worker", self.address, "--no-nanny", "--nthreads", "1", "--name", name, "--host", "127.0.0.1",
            "--no-dashboard", "--local-directory", str(self._folder / f"{name}-space"), checkout=checkout,
        )  # fmt: skip
        eventually(lambda: self._logged(name, "Starting established connection"), name)
        return worker

    def end(self) -> None:
        for process in reversed(self._started):
            process.kill()  # also if the process is stopped
            process.wait()

    def _start(
        self, name: str, program: str, *arguments: str, checkout: Path | None = None
    ) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if checkout is not None:
            environment["PYTHONPATH"] = str(checkout)
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments],
                cwd=self._folder,
                # Builds into a bucket stage their files in the folder of temporary files.
                env={**environment, "TMPDIR": str(self._folder)},
                stdout=log,
                stderr=log,
            )
        self._started.append(process)
        return process

    def _logged(self, name: str, pattern: str) -> str:
        match = re.search(pattern, (self._folder / f"{name}.log").read_text())
        return match[0] if match else ""


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    result = Dask(tmp_path)
    yield result
    result.end()
