"""Runs pipeline commands in this process, and concurrent builds in others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from pipeline.group import cli
from tests.support.processes import REPOSITORY


@dataclass(frozen=True)
class CommandResult:
    """A command's output and exit code."""

    exit_code: int
    output: str

    @property
    def json(self) -> Any:
        """Return the printed document of a command; for a batch, its lines as combined by :func:`report`."""
        return report(self.output) if self.output.startswith('{"at"') else json.loads(self.output)

    def outcomes(self) -> dict[str, str]:
        """Return the outcome of each seal of a batch by name."""
        return {Path(entry["seal"]).name: entry["outcome"] for entry in self.json["seals"]}


def report(output: str) -> dict[str, Any]:
    """Combine the lines of a batch: seals, and the counts of the last line."""
    *seals, last = (json.loads(line) for line in output.splitlines())
    assert all(line.pop("at") for line in (*seals, last))
    return {"seals": seals, **last}


def run_pipeline(command: str, root: Path | str, *arguments: str) -> CommandResult:
    """Run a command on a datasets root; unexpected exceptions are raised."""
    done = CliRunner().invoke(cli, [command, *arguments, "--datasets", str(root)])
    assert not done.stderr.startswith("Traceback"), done.stderr
    return CommandResult(done.exit_code, done.stdout if "--json" in arguments else done.output)


def build(root: Path | str, *arguments: str) -> CommandResult:
    """Run `build`."""
    return run_pipeline("build", root, *arguments)


_BUILD = """
import sys
from pipeline.snapshot_builder import build_seal
import pipeline.maths.weekly_signal
print("ready", flush=True)
sys.stdin.readline()
print(build_seal(sys.argv[1], sys.argv[2]).snapshot)
"""


def build_at_once(root: Path | str, seals: Sequence[Path]) -> list[str]:
    """Build seals concurrently, each in a process of its own; return the messages of refused builds."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(seal), str(root)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seal in seals
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    refused = []
    for process in processes:
        _, result = process.communicate()
        if process.returncode:
            refused.append(result)
    return refused
