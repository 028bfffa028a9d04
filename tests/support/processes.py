"""Processes of this checkout, without the settings of the user who runs the suite."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.support.waiting import PATIENCE, eventually

REPOSITORY: Final = Path(__file__).resolve().parents[2]
WITHOUT_RIGHTS: Final = (
    ("setpriv", "--inh-caps=-all", "--bounding-set=-all", "--") if os.geteuid() == 0 else ()
)
"""Prefix of a command that must respect file modes even if root runs the suite."""


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with these variables and without the project's own settings."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")}
    return {**others, **variables}


def command(*arguments: str, begin: Sequence[str] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `serve` to its end, with the prefix `begin`."""
    return subprocess.run(
        [*begin, sys.executable, "-m", "serve", *arguments],
        cwd=REPOSITORY,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def tasks(pid: int, name: str) -> list[str]:
    """Read a /proc file of each thread of a process, skipping ended ones."""
    results = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                results.append((task / name).read_text())
    return results


def children(pid: int) -> list[int]:
    """List the children of a process, including those started by its threads."""
    return [int(child) for children in tasks(pid, "children") for child in children.split()]


def builds(pid: int) -> list[int]:
    """List the build processes of a batch."""
    return [
        child for child in children(pid) if any("batch.worker" in line for line in tasks(child, "cmdline"))
    ]


def workers(pid: int) -> list[int]:
    """List the serving processes of a parent, without its resource tracker."""
    return [child for child in children(pid) if any("spawn_main" in line for line in tasks(child, "cmdline"))]


def signalled(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def ended(pid: int) -> bool:
    """Whether a process has ended, reaped or not."""
    return _states(pid) <= {"Z", "X"}


@contextlib.contextmanager
def hanging(pid: int) -> Iterator[None]:
    """Stop one process within the block; its children continue."""
    _stop(pid)
    try:
        yield
    finally:
        signalled(pid, signal.SIGCONT)


@contextlib.contextmanager
def hanging_with_children(pid: int) -> Iterator[None]:
    """Stop a process and its descendants within the block."""
    stopped: list[int] = []
    try:
        stopped += _stop_with_children(pid)
        yield
    finally:
        for one in reversed(stopped or [pid]):
            signalled(one, signal.SIGCONT)


def kill_with_children(pid: int) -> None:
    """Kill a process and its descendants at once, and wait for their end.

    A child of this process remains to be waited for.
    """
    together = _stop_with_children(pid)
    for one in together:
        signalled(one, signal.SIGKILL)
    eventually(lambda: all(ended(one) for one in together), "the end of what was killed")


def _stop_with_children(pid: int) -> list[int]:
    # Stop the parent first, so that the list of children, which follows, is complete.
    _stop(pid)
    below = children(pid)
    return [pid, *(one for child in below for one in _stop_with_children(child))]


def _stop(pid: int) -> None:
    """Stop a process, and wait until it is stopped."""
    signalled(pid, signal.SIGSTOP)
    eventually(lambda: _states(pid) <= {"T", "t", "Z", "X"}, f"the standstill of process {pid}")


def _states(pid: int) -> set[str]:
    """Return the states of a process's threads, as letters; none when it is gone."""
    # The name before the state is in parentheses and may contain any character.
    return {line.rpartition(")")[2].split()[0] for line in tasks(pid, "stat") if ")" in line}
