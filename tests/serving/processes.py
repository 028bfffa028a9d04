"""Starts the program as its users do: real processes on real sockets."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

import httpx

REPOSITORY = Path(__file__).resolve().parents[2]
SLOW = 400.0
"""Seconds to wait for a process that will come: interpreters start slowly on a loaded machine."""


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")}
    return {**kept, **variables}


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "serve", *arguments],
        cwd=REPOSITORY,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(
    root: Path,
    *arguments: str,
    log: Path | None = None,
    descriptors: int | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    log = log or root.parent / "server.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", "--port", str(port), *arguments],
            cwd=REPOSITORY,
            env=environment(ALPHA_RESULTS_DATASETS=str(root), **variables),
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=None if descriptors is None else partial(_allow, descriptors),  # noqa: PLW1509 - one system call
        )
    base = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _answers(process, base, log))
        yield process, base
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SLOW)


def _allow(descriptors: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


def _answers(process: subprocess.Popen[str], base: str, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        httpx.get(f"{base}/v1/health")
    except httpx.TransportError:
        return False
    return True


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail when it does not for a very long time."""
    deadline = time.monotonic() + SLOW
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.05)


def token_for(root: Path) -> str:
    """Make an account and a key that may call everything, and return the key."""
    made = command(
        "accounts",
        "create",
        "--datasets",
        str(root),
        "--email",
        "a@example.org",
        *("--ceiling-endpoints", "all", "--json"),
    )
    assert made.returncode == 0, made.stderr
    issued = command(
        *("keys", "issue", "--datasets", str(root), "--account", "a@example.org", "--name", "n"),
        *("--endpoints", "all", "--rate", "per_second=1000,per_minute=10000", "--json"),
    )
    assert issued.returncode == 0, issued.stderr
    return str(json.loads(issued.stdout)["token"])
