"""Start-up shared by the real servers of the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Final

from tests.support.waiting import eventually

SYSTEM: Final = os.environ.get("TEST_SERVERS") == "system"
"""Whether to test against the machine's own servers rather than those from PyPI."""


def await_start(answers: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Wait until a server answers; fail at once if it exited."""

    def up() -> bool:
        assert process.poll() is None, f"{what} ended with code {process.returncode}"
        return answers()

    eventually(up, what)
