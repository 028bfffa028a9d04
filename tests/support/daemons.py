"""What the real servers of the tests have in common."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 30.0
SYSTEM: Final = os.environ.get("TEST_SERVERS") == "system"
"""Whether the machine's own servers are tested against rather than those from PyPI."""


def await_start(answers: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Wait until a server answers.

    Raises
    ------
    RuntimeError
        When it ended instead, or does not answer for a very long time.
    """
    end = time.monotonic() + PATIENCE
    while not answers():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{what} did not start (exit code {process.poll()})")
        time.sleep(0.02)
