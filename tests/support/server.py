"""`alpha-results serve run` as a process."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

import httpx

from serve.auth.settings import AccessSettings
from tests.support import plain_http
from tests.support.keys import issue_key
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import PATIENCE, eventually


@contextmanager
def served(
    root: Path | str,
    *arguments: str,
    log: Path | None = None,
    descriptors: int | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a root for the length of the block.

    Parameters
    ----------
    root
        The datasets root; a remote one needs a `log`.
    arguments
        Flags of the command.
    log
        File for its output; by default next to the root.
    descriptors
        Limit of open files.
    variables
        Its settings, as environment variables.

    Yields
    ------
    tuple
        The process and its address.
    """
    port = free_port()
    log = log or Path(root).parent / "server.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", "--port", str(port), *arguments],
            cwd=REPOSITORY,
            env=environment(**{"ALPHA_RESULTS_DATASETS": str(root), **variables}),
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
        process.wait(PATIENCE)


def _allow(descriptors: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


def _answers(process: subprocess.Popen[str], base: str, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        plain_http.get(f"{base}/v1/health")
    except httpx.TransportError:
        return False
    return True


def token_for(root: Path, rate: str = "per_second=1000,per_minute=10000") -> str:
    """Issue a key with full access in the store next to a root; all such keys share one account."""
    access = AccessSettings.from_environment({}, str(root))
    return asyncio.run(issue_key(access, "a@example.org", alphas=None, runs=None, rate=rate))
