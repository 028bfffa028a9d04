"""Worker processes that build or check seals one after another, so that a crash costs only the current seal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Pipe
from typing import Any, Final

from pipeline.batch import worker
from pipeline.batch.result import SealResult, crashed, not_started
from schemas.errors import AlphaResultsError
from schemas.project import LOCATION

ATTEMPTS: Final = 2
"""Attempts at a build whose process crashes."""
ALLOCATOR: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
}
"""A single heap, since each thread would otherwise retain the memory of its largest task; freed columns are returned to the
system. Read by glibc; other C libraries ignore it."""
_TAIL: Final = 2000


class ProcessDied(Exception):
    """The process died during a call; the message gives its exit and the last line of its log."""


class WorkerProcess:
    """A Python process with the libraries loaded.

    It is not started by :mod:`multiprocessing`, which would import the caller's main module: that may be a script that
    builds seals on import. It computes with `threads` threads unless the operator set their number; parallel builds would
    otherwise compete for all cores.
    """

    def __init__(self, threads: int) -> None:
        # Without a backtrace, the last line of an abort gives the reason. One OpenBLAS thread, because its threads
        # busy-wait between the small products of the figures.
        libraries = {"POLARS_MAX_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
        paths = [str(LOCATION), os.environ.get("PYTHONPATH")]
        environment = {
            **ALLOCATOR,
            **libraries,
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        self._connection, child_end = Pipe()
        # In memory, so that a full disk does not prevent a check.
        self._stderr = open(os.memfd_create("stderr"), "w+b")  # noqa: SIM115, PTH123 - closed with the process
        with child_end:
            self._process = subprocess.Popen(
                # In the caller's folder, because addresses may be relative; -P prevents its modules from shadowing ours.
                [sys.executable, "-P", "-m", "pipeline.batch.worker"],
                env=environment,
                stdin=child_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,  # Ctrl-C reaches the parent only
            )

    def call(
        self, function: Callable[..., Any], *arguments: Any, on_step: Callable[[str], None] | None = None
    ) -> Any:
        """Call a module-level function and return its result; a callback for its steps is appended to the arguments.

        Raises
        ------
        ProcessDied
            When the process ended first.
        """
        try:
            self._connection.send((function, arguments))
            while True:
                step, result = self._connection.recv()
                if step is None:
                    return result
                if on_step is not None:
                    on_step(step)
        except (EOFError, OSError) as error:
            raise ProcessDied(self._last_words()) from error

    def kill(self) -> None:
        """Kill it; a pending call raises :class:`ProcessDied`."""
        self._process.kill()

    def close(self) -> None:
        """Kill it and release its pipe and log."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._stderr.close()

    def _last_words(self) -> str:
        """Return how the process ended, and the last line of its log."""
        code = self._process.wait()
        how = f"ended with code {code}" if code >= 0 else f"was killed by {_signal_name(-code)}"
        if code == -signal.SIGKILL:
            how += " (the system may have run out of memory)"
        self._stderr.seek(0)
        lines = self._stderr.read()[-_TAIL:].decode(errors="replace").strip().splitlines()
        return how + (f" ({lines[-1].strip()})" if lines else "")


def _signal_name(number: int) -> str:
    # Most real-time signals have no name.
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


class LocalExecutor:
    """Up to `jobs` builds at a time on this machine, which share its cores; safe to use from several threads."""

    lost: AlphaResultsError | None = None

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._threads = max(1, len(os.sched_getaffinity(0)) // jobs)
        self._processes: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._ending = False

    def build(
        self, seal: str, options: Mapping[str, Any], on_stage: Callable[[str], None] | None = None
    ) -> SealResult:
        """Build one seal; if its process crashes, try once more."""
        how = ""
        for _ in range(ATTEMPTS):
            try:
                result: SealResult = self.call(worker.build, seal, options, on_step=on_stage)
            except ProcessDied as death:
                how = str(death)
            else:
                return result
        if self._ending:
            return not_started(seal, "its build was ended with the batch")
        return crashed(seal, how, ATTEMPTS)

    def call(
        self, function: Callable[..., Any], *arguments: Any, on_step: Callable[[str], None] | None = None
    ) -> Any:
        """Call a function in an idle process, or a new one, as :meth:`WorkerProcess.call` does."""
        with self._lock:
            if self._ending:
                raise ProcessDied("was ended with the batch")
            process = self._idle.pop() if self._idle else WorkerProcess(self._threads)
            self._processes.add(process)
        try:
            result = process.call(function, *arguments, on_step=on_step)
        except ProcessDied:
            with self._lock:
                self._processes.discard(process)
            process.close()
            raise
        with self._lock:
            self._idle.append(process)
        return result

    def poll(self) -> None:
        """Do nothing: a dead process fails its own build."""

    def end(self) -> None:
        """Kill running builds; published snapshots stay intact."""
        with self._lock:
            self._ending = True
            for process in self._processes:
                process.kill()

    def close(self) -> None:
        """Kill the processes and release their pipes and logs; no call may be pending."""
        for process in self._processes:
            process.close()
