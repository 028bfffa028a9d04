"""The program as it is started: one process over what the suite published, asked over sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

REPOSITORY: Final = Path(__file__).resolve().parents[2]
STARTS_WITHIN: Final = 60.0
"""Seconds a starting process is waited for; it takes one or two on an idle machine."""


@contextmanager
def serving(root: Path, prices: Path, folder: Path, state: str = "limits") -> Iterator[str]:
    """Run ``python -m serve run`` until the block is left, and return its address.

    Parameters
    ----------
    root, prices
        What is published, and the file of market data.
    folder
        Where the store of keys is, and the log goes.
    state
        Name of the file of counts: two running programs must not share one.
    """
    port = _free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")},
        "ALPHA_RESULTS_DATASETS": str(root),
        "ALPHA_RESULTS_ACCESS": f"sqlite:///{folder}/access.sqlite3",
        "ALPHA_RESULTS_LIMITS_STATE": str(folder / f"{state}.sqlite3"),
        "ALPHA_RESULTS_MARKET_DATA": str(prices),
        "ALPHA_RESULTS_PORT": str(port),
        "ALPHA_RESULTS_THREADS": "2",
    }
    log = folder / f"server-{state}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run"],
            cwd=REPOSITORY,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/v1/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")
