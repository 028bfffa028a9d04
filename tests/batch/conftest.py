"""Folders of small seals, and the command as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal


@pytest.fixture
def seal(tmp_path: Path) -> Callable[..., Path]:
    """Return a factory of small seals below ``seals/``, two levels deep."""

    def make(alpha: str, group: str = "group", **changes: Any) -> Path:
        return make_seal(tmp_path / "seals" / group, alpha_id=alpha, **{"weeks": 14, "raw": False, **changes})

    return make


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts the command as a process, ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, begin: Sequence[str] = ()) -> subprocess.Popen[str]:
        build = ["-m", "pipeline", "build", "--datasets", str(tmp_path / "root")]
        process = subprocess.Popen(
            [*begin, sys.executable, *build, *arguments],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
