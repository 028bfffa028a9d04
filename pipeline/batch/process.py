"""One build in a process of its own: its memory returns with its end, and its crash is only its own.

Processes are forked from one that has the libraries loaded, or else are new interpreters.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO, Any, Final, TypeAlias

import orjson

from pipeline.batch.forked import ForkedProcess, ForkServer
from pipeline.batch.request import Outcome, Request, crashed, ending
from schemas.project import LOCATION

ATTEMPTS: Final = 2
"""Tries of a build whose process crashes: once more, for what crashed it may have passed."""
_TAIL: Final = 2000


Process: TypeAlias = "subprocess.Popen[bytes] | ForkedProcess"


class Processes:
    """Starts builds as processes, and can end those that are at work.

    Parameters
    ----------
    threads
        Threads each build may compute with; builds side by side would otherwise fight over all cores.
    forked
        Whether the libraries are loaded once for all builds. It costs one start, and a second process beside each build.

    Attributes
    ----------
    lost
        None: this machine is there.
    """

    def __init__(self, threads: int, *, forked: bool = False) -> None:
        # What an operator sets wins.
        self._environment = {"POLARS_MAX_THREADS": str(threads), **os.environ, "PYTHONPATH": _search_path()}
        self._server = ForkServer(self._environment) if forked else None
        self._running: set[Process] = set()
        self._lock = threading.Lock()
        self._ending = False
        self.lost: str | None = None

    def build(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Outcome:
        """Build one seal and wait for the end; a process that crashes is started once more.

        Returns
        -------
        Outcome
            Never raises for what happens to the build.
        """
        how = ""
        for attempt in range(1, ATTEMPTS + 1):
            outcome, how = self._once(request, on_stage or (lambda _: None))
            if outcome is not None:
                return outcome
            if self._ending:
                return crashed(request.shown, "was ended because the batch was", attempt)
        return crashed(request.shown, how, ATTEMPTS)

    def end(self) -> None:
        """Kill what is at work. What is published stays whole, whatever moment that is."""
        with self._lock:
            self._ending = True
            for process in self._running:
                process.kill()
        if self._server is not None:
            self._server.close()

    def _once(self, request: Request, on_stage: Callable[[str], None]) -> tuple[Outcome | None, str]:
        with tempfile.TemporaryFile() as complaints:
            with self._lock:
                if self._ending:
                    return None, "was not started"
                process = self._start(complaints)
                self._running.add(process)
            try:
                found = _converse(process, request, on_stage)
            finally:
                with self._lock:
                    self._running.discard(process)
            if found is not None:
                return found, ""
            complaints.seek(0)
            lines = complaints.read()[-_TAIL:].decode(errors="replace").strip().splitlines()
        return None, ending(process.wait()) + (f" ({lines[-1].strip()})" if lines else "")

    def _start(self, complaints: IO[bytes]) -> Process:
        forked = None if self._server is None else self._server.start(complaints)
        return forked or subprocess.Popen(
            # In the caller's folder, for addresses may be relative to it; the code is this one, whatever lies there.
            [sys.executable, "-P", "-m", "pipeline.batch.worker"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,  # Ctrl-C is for the parent, which lets builds at work finish
        )


def _search_path() -> str:
    further = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(LOCATION), *([further] if further else [])])


def _converse(process: Process, request: Request, on_stage: Callable[[str], None]) -> Outcome | None:
    """Hand the request over and listen until the process ends; None when it ended without an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    found = None
    with process:
        with contextlib.suppress(BrokenPipeError):
            # The standard library's JSON: a path that is not UTF-8 comes through it whole.
            process.stdin.write(json.dumps(request.to_dict()).encode() + b"\n")
            process.stdin.flush()
        for line in process.stdout:
            message = _decoded(line)
            if "entry" in message:
                found = Outcome(message["entry"], message["exit_code"])
            elif "stage" in message:
                on_stage(message["stage"])
        process.wait()
    return found


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}  # cut off by the end of the process
    return message if isinstance(message, dict) else {}
