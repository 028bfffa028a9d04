"""Other releases at work on one root: of the libraries, and of this project."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.access.conftest import postgres  # noqa: F401 - a fixture

REPOSITORY: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).parent
CACHE: Final = REPOSITORY / ".compatibility"
"""Not in the repository: libraries of another release, installed when they are first needed."""
OLDER: Final = ("polars==2.0.0", "pyarrow==25.0.1")
"""The oldest releases this one still runs on, beside those that are locked."""
FIRST_RELEASE: Final = "728d517"
"""The commit of release 0.1.0."""
RELEASES: Final = tuple(sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz")))


class Worker:
    """A process of another release.

    Parameters
    ----------
    path
        What stands first on its search path.
    code
        The project's code it runs.
    """

    def __init__(self, path: list[Path], code: Path) -> None:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")
        }
        environment |= {
            "PYTHONPATH": os.pathsep.join(map(str, [*path, code])),
            "PYTHONDONTWRITEBYTECODE": "1",
            "POLARS_MAX_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "worker.py")],
            cwd=code, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.versions = self._answer()

    def run(self, *arguments: str) -> Mapping[str, Any]:
        """Run a command of the pipeline; its exit code and output."""
        return self._ask({"arguments": list(arguments)})

    def serve(self, root: Path) -> Mapping[str, Any]:
        """Open a root and read every table of every alpha: alpha -> snapshot, seal and rows."""
        return self._ask({"root": str(root)})

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _ask(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the worker ended with code {self._process.wait(30)}"
        answer: Mapping[str, Any] = json.loads(line)
        return answer


@pytest.fixture(scope="session")
def older_libraries() -> Path:
    """Return a folder with the older releases of the libraries; it is filled once for a checkout."""
    uv = shutil.which("uv")
    folder = CACHE / "-".join(OLDER).replace("==", "-")
    CACHE.mkdir(exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of one run of the suite
        if (folder / ".complete").exists():
            return folder
        if uv is None:
            pytest.skip("uv is not there, which would install the older libraries")
        shutil.rmtree(folder, ignore_errors=True)
        command = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            str(folder),
            *OLDER,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the older libraries cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        (folder / ".complete").touch()
    return folder


@pytest.fixture(scope="module")
def older(older_libraries: Path) -> Iterator[Worker]:
    """Return this code on the older libraries."""
    worker = Worker([older_libraries], REPOSITORY)
    assert [f"{name}=={version}" for name, version in worker.versions.items()] == list(OLDER)
    yield worker
    worker.end()


@pytest.fixture(scope="module")
def newer() -> Iterator[Worker]:
    """Return this code on the libraries that are locked."""
    worker = Worker([], REPOSITORY)
    yield worker
    worker.end()


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Return the code of release 0.1.0, from the history of this repository."""
    code = tmp_path_factory.mktemp("first-release")
    git = shutil.which("git")
    packed = git and subprocess.run(
        [git, "-C", str(REPOSITORY), "archive", FIRST_RELEASE], capture_output=True, check=False
    )
    if not packed or packed.returncode:
        pytest.skip("this checkout has no history, so the code of release 0.1.0 is not there")
    subprocess.run(["tar", "-x", "-C", str(code)], input=packed.stdout, check=True)
    worker = Worker([], code)
    yield worker
    worker.end()


def unpack(release: str, folder: Path) -> Path:
    """Unpack what a release published: the folders `root` and `seals`."""
    with tarfile.open(HERE / f"{release}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder
