"""``python -m pipeline.batch.worker``: runs its parent's calls one after another, and exits with the parent.

Standard input is a socket to the parent: the worker receives a function and its arguments, and sends back progress and
the result. So no address or option appears in the process list.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Final

from pipeline.batch.result import SealResult, built, failed
from pipeline.internal import contained
from schemas.errors import AlphaResultsError

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Serve the parent until it ends."""
    # The kernel kills this process when the thread that started it ends, even during a call.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    limit_memory()
    parent = Connection(os.dup(sys.stdin.fileno()))
    # Output of libraries goes to the log, whose last line is reported after a crash.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        function, arguments = parent.recv()
        parent.send((None, function(*arguments, lambda step: parent.send((step, None)))))


def limit_memory() -> None:
    """Limit this process to the memory of the machine, so that an excessive allocation ends only this process."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([memory, *limits]), hard))


def build(seal: str, options: Mapping[str, Any], on_stage: Callable[[str], None]) -> SealResult:
    """Build one seal in this process; exceptions become results."""
    from pipeline.snapshot_builder.snapshot import build_seal  # noqa: PLC0415 - slow to load, and the parent does not need it

    try:
        with contained("the build"):
            return built(seal, build_seal(seal, **options, on_stage=on_stage))
    except AlphaResultsError as error:
        return failed(seal, error)


if __name__ == "__main__":
    main()
