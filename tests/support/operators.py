"""Runs commands on accounts and keys in forked processes.

The program reads the arguments of one command per line, as JSON; ``["backup", STORE, COPY]`` copies a store by SQLite's backup API, as the
documented ``.backup`` does. It forks, runs the command in the child, and writes ``[exit code, output]`` as a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import serve.cli.accounts  # loaded once, and shared by the children
import serve.cli.keys
import serve.cli.store  # noqa: F401 - as above
from serve.cli.group import serve as program
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import PATIENCE


class Operators:
    """Runs commands; created by `operators`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command, assert its exit code, and return its output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        ended, printed = json.loads(self._process.stdout.readline())
        assert ended == code, (arguments, ended, printed)
        return str(printed)

    def json(self, *arguments: str) -> Any:
        """Run a command that prints JSON."""
        return json.loads(self(*arguments, "--json"))


@contextlib.contextmanager
def operators(root: Path, **variables: str) -> Iterator[Operators]:
    """Start the program over the store next to a root."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.operators"],
        cwd=REPOSITORY,
        env=environment(ALPHA_RESULTS_DATASETS=str(root), **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Operators(process)
        process.communicate(timeout=PATIENCE)


def _backup(store: str, copy: str) -> None:
    with (
        contextlib.closing(sqlite3.connect(store)) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _child(arguments: list[str], output: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)
    code: object = 1
    try:
        if arguments[0] == "backup":
            _backup(arguments[1], arguments[2])
            code = 0
        else:
            program(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - reported to whoever reads
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def run() -> None:
    for line in sys.stdin:
        with tempfile.TemporaryFile() as printed:
            child = os.fork()
            if child == 0:
                _child(json.loads(line), printed.fileno())
            _, status = os.waitpid(child, 0)
            printed.seek(0)
            result = [os.waitstatus_to_exitcode(status), printed.read().decode()]
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    run()
