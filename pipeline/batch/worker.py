"""``python -m pipeline.batch.worker``: runs its parent's calls one after another, and exits with the parent.

Standard input is a socket of the parent: it receives a function and its arguments, and sends progress and the result,
out. Nothing is shown in a list of processes.
"""

from __future__ import annotations

import os
import queue
import resource
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from pipeline.batch.batch import Request
from pipeline.batch.result import SealResult, built, failed
from pipeline.internal import contained
from schemas.allocator import prepare_building
from schemas.errors import AlphaResultsError

LARGE_BYTES: Final = 512 << 20
"""Bytes; a process that used more for a call is replaced, which returns the memory to the system."""


def main() -> None:
    """Serve the parent until it ends, or until a call used much memory."""
    prepare_building()
    limit_memory()
    parent = Connection(os.dup(sys.stdin.fileno()))
    # Output of libraries goes to the log, whose last line is reported after a crash.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    calls: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(parent, calls), daemon=True).start()
    large = False
    while not large:
        function, arguments = calls.get()
        result = function(*arguments, lambda step: parent.send((step, None, False)))
        large = _largest_memory() > LARGE_BYTES
        parent.send((None, result, large))


def _largest_memory() -> int:
    """Return the peak memory of this process in bytes; `getrusage` would include that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024


def limit_memory() -> None:
    """Limit this process to the memory of the machine, so that a larger allocation ends only this process."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([most, *limits]), hard))


def _receive(parent: Connection, calls: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            calls.put(parent.recv())
    finally:
        os._exit(1)  # the parent has ended


def build(request: Request, on_stage: Callable[[str], None]) -> SealResult:
    """Build one seal in this process; exceptions become results."""
    from pipeline.batch.refusals import file_digests_at  # noqa: PLC0415 - as below
    from pipeline.snapshot_builder import (  # noqa: PLC0415 - slow to load: the parent is watched meanwhile
        build_seal,
    )

    # Listed before the seal is read, so that a file that arrives during the check counts as a change.
    files = file_digests_at(request.seal) if request.listed else ""
    try:
        with contained("the build"):
            result = build_seal(request.seal, request.root, **request.options, on_stage=on_stage)
    except AlphaResultsError as error:
        return replace(failed(request.shown, error), files=files)
    return built(request.shown, result)


if __name__ == "__main__":
    main()
