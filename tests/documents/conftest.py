"""A running demo, its output, and a shell environment with its variables."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.waiting import PATIENCE

LINE = re.compile(r"^\. (\S+/env)$", re.MULTILINE)
STARTS_WITHIN = 240.0
"""Seconds for the demo to simulate, build and serve; it takes ten on an idle machine."""


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that is not the checkout."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="session")
def readers_environment(elsewhere: Path) -> Iterator[dict[str, str]]:
    """Run the demo from another folder and return its shell environment."""
    log, progress = elsewhere / "demo.log", elsewhere / "demo.err"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")}
    # The environment of a reader who only started the demo: its line adds `python` and `alpha-results`.
    clean.pop("VIRTUAL_ENV", None)
    own = str(Path(sys.executable).parent)
    clean["PATH"] = os.pathsep.join(part for part in clean["PATH"].split(os.pathsep) if part != own)
    with log.open("w") as output, progress.open("w") as errors:
        demo = subprocess.Popen(
            [sys.executable, "-m", "serve", "demo", "--port", str(free_port())],
            cwd=elsewhere, env=clean, stdout=output, stderr=errors,
        )  # fmt: skip
        try:
            end = time.monotonic() + STARTS_WITHIN
            while not (line := LINE.search(log.read_text())):
                assert demo.poll() is None, progress.read_text()
                assert time.monotonic() < end, progress.read_text()
                time.sleep(0.2)
            shown = shell(f"{line[0]} && env -0", elsewhere, clean)
            yield dict(entry.split("=", 1) for entry in shown.split("\0") if entry)
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(PATIENCE)


def shell(script: str, folder: Path, environment: dict[str, str]) -> str:
    """Run lines in a shell."""
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=folder, env=environment,
        capture_output=True, text=True, check=False, timeout=STARTS_WITHIN,
    )  # fmt: skip
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout
