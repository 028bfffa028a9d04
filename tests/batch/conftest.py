"""Folders of small seals, and the command as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal
from tests.support.waiting import PATIENCE


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


@dataclass
class Watch:
    """The command watching ``seals/``; after its end, the other lines of its report and what it wrote to stderr."""

    process: subprocess.Popen[str]
    rest: list[dict[str, Any]] = field(default_factory=list)
    errors: str = ""

    def line(self) -> dict[str, Any]:
        """Return the next line of the report."""
        assert self.process.stdout is not None
        result: dict[str, Any] = json.loads(self.process.stdout.readline())
        return result


@pytest.fixture
def watch(
    tmp_path: Path, program: Callable[..., subprocess.Popen[str]]
) -> Callable[..., AbstractContextManager[Watch]]:
    """Return a function that watches ``seals/`` within a block, and then ends the command by SIGTERM."""

    @contextmanager
    def watching(*more: str, interval: str = "0.2", begin: Sequence[str] = ()) -> Iterator[Watch]:
        flags = ("--from", str(tmp_path / "seals"), "--watch", "--interval", interval, "--json")
        result = Watch(program(*flags, *more, begin=begin))
        yield result
        result.process.send_signal(signal.SIGTERM)
        output, result.errors = result.process.communicate(timeout=PATIENCE)
        assert result.process.returncode == 0
        result.rest = [json.loads(line) for line in output.splitlines()]

    return watching
