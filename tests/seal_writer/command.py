"""Runs commands of the seal writer in this process."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple

import pytest
from alpha_results_seal.__main__ import main


class Done(NamedTuple):
    """A command's exit code and output."""

    returncode: int
    stdout: str
    stderr: str


def writer(*arguments: str) -> Done:
    """Run a command."""
    stdout, stderr = StringIO(), StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as ended:
        main(arguments)
    return Done(int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue())
