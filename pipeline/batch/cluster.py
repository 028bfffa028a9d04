"""Builds on the workers of a Dask scheduler, each in a process of its own there too.

The workers run this very project: the same code, and the roots under the same addresses. Credentials are those of
the workers. One of another release is found out before it builds and is given nothing. A worker that dies takes its
build's process with it, for that ends with its parent; the scheduler gives the build to another worker, and since a
snapshot's name is a digest of its content, it is published once however often it is begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from pipeline.batch.handshake import refusal, task
from pipeline.batch.process import Processes
from pipeline.batch.request import Outcome, Request, crashed, failed
from pipeline.release import release
from schemas.errors import SettingsError, StorageUnavailable
from schemas.extras import extra
from schemas.terminal import echo

CONNECT_SECONDS: Final = "20s"
CLOSE_SECONDS: Final = 5.0
"""How long saying goodbye to a scheduler may take, which may be gone."""
_LOOK_SECONDS: Final = 0.5
_THREADS: Final = 1
"""Threads of each build: a worker's place stands for one core."""


class Cluster:
    """A connection to a Dask scheduler, as a context manager that gives who builds.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://host:8786``.
    jobs
        Builds given to it at a time; None is one for each thread of its workers.
    patience
        Seconds the scheduler may be silent, or without a worker that can build, before everything ends.
    stopping
        Set when that happens, so that nothing more is begun; when it is set by others, builds that no worker took up
        are not waited for.

    Attributes
    ----------
    lost
        Why everything ended; None while it goes on.

    Raises
    ------
    SettingsError
        When Dask is not installed.
    """

    def __init__(
        self, address: str, jobs: int | None = None, *, patience: float, stopping: threading.Event
    ) -> None:
        with extra("cluster", "--cluster, here and on the workers,"):
            import distributed  # noqa: PLC0415 - an optional dependency
        self._dask: Any = distributed
        self._address = address
        self._jobs = jobs
        self._patience = patience
        self._stopping = stopping
        self._ended = threading.Event()
        self._workers: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._waiting = 0
        self._lock = threading.Lock()
        self.lost: str | None = None

    def __enter__(self) -> tuple[Cluster, Callable[[], None], int]:
        """Connect, and ask the workers that are there for their release.

        Raises
        ------
        SettingsError
            When none of them can build.
        StorageUnavailable
            When nobody answers.
        """
        try:
            self._client = self._dask.Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise StorageUnavailable(f"--cluster: no Dask scheduler answers at {self._address}") from error
        try:
            self._workers = dict(self._client.nthreads())
            self._ask_all()
        except BaseException:
            self._close()
            raise
        if self._refused and not self._able():
            self._close()
            raise SettingsError(f"--cluster: {'; '.join(self._refused.values())}")
        threading.Thread(target=self._watch, name="cluster", daemon=True).start()
        return self, self._ended.set, self._jobs or max(1, sum(self._able().values()))

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._close()

    def build(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Outcome:
        """Build one seal on some worker and wait for the end.

        Returns
        -------
        Outcome
            Never raises for what happens to the build, its workers and the scheduler.
        """
        if on_stage is not None:
            on_stage("on the cluster")
        with self._lock:
            self._waiting += 1
        try:
            while True:
                found = self._tried(request)
                if found is not None:
                    return found
        finally:
            with self._lock:
                self._waiting -= 1

    def _tried(self, request: Request) -> Outcome | None:
        """Build once; None when it is to be given to the cluster again, which publishes it once all the same."""
        try:
            return self._submitted(request)
        except self._dask.KilledWorker:
            return crashed(request.shown, "died with its worker, as often as the scheduler allows", 1)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever the cluster came to, the batch goes on
            if self._client.status == "running" and not self._over():
                return crashed(request.shown, f"was lost by the cluster ({type(error).__name__})", 1)
            # The scheduler is away, and with it what was asked of it: it may come back in time.
            while self._client.status != "running" and not self._over():
                self._ended.wait(_LOOK_SECONDS)
            return self._unfinished(request) if self._over() else None

    def _submitted(self, request: Request) -> Outcome | None:
        """Give a build to a worker; None when that one is refused, so that another is to have it."""
        # Only once one was refused the others are named: a worker that joins later may then be used as well.
        while self._refused and not self._able():
            if self._over():
                return self._unfinished(request)
            self._ended.wait(_LOOK_SECONDS)
        allowed = list(self._able()) if self._refused else None
        future = self._client.submit(task(), request.to_dict(), release(), pure=False, workers=allowed)
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        try:
            while not done.wait(_LOOK_SECONDS):
                if self._over():
                    return self._unfinished(request)
            answer = future.result(timeout=self._patience)
        finally:
            with contextlib.suppress(Exception):
                future.release()
        if self._note(answer):
            return Outcome(*answer["built"])
        return None

    def _over(self) -> bool:
        """Return whether there is nothing to wait for any more."""
        if self.lost is not None or self._ended.is_set():
            return True
        return self._stopping.is_set() and not self._able()

    def _unfinished(self, request: Request) -> Outcome:
        if self.lost is not None:
            return failed(request.shown, StorageUnavailable(f"{self.lost}; nothing is known of this build"))
        return crashed(request.shown, "was ended because the batch was", 1)

    def _able(self) -> dict[str, int]:
        """Return the workers that are there and not refused, with their threads."""
        return {worker: threads for worker, threads in self._workers.items() if worker not in self._refused}

    def _note(self, answer: dict[str, Any]) -> bool:
        """Return whether the worker that answered can build; say once why one cannot."""
        reason = refusal(answer, release())
        if reason is None:
            return True
        with self._lock:
            known = answer["worker"] in self._refused
            self._refused[answer["worker"]] = reason
        if not known:
            echo(f"refused: {reason}", err=True)
        return False

    def _ask_all(self) -> None:
        """Ask the workers that are there for their release; one that does not answer in time is asked by its build."""
        answers: dict[str, Any] = {}

        def ask() -> None:
            with contextlib.suppress(Exception):
                answers.update(self._client.run(task(), None, release(), on_error="ignore"))

        if self._workers:
            _within(self._patience, ask)
        for address, answer in answers.items():
            if isinstance(answer, dict):
                self._note({**answer, "worker": address})

    def _watch(self) -> None:
        """Look whether the scheduler answers and has workers, until everything ends."""
        answered = able = time.monotonic()
        pause = min(1.0, self._patience / 4)
        while not self._ended.wait(pause):
            with contextlib.suppress(Exception):
                self._workers = dict(
                    self._client.sync(self._client.scheduler.ncores, callback_timeout=max(1.0, pause))
                )
                answered = time.monotonic()
            if self._able() or not self._waiting:
                able = time.monotonic()
            now = time.monotonic()
            if now - answered > self._patience:
                self.lost = (
                    f"the Dask scheduler at {self._address} has not answered for {self._patience:g} seconds"
                )
            elif now - able > self._patience:
                reasons = "".join(f"; {reason}" for reason in self._refused.values())
                self.lost = f"the Dask scheduler at {self._address} has had no worker that can build for {self._patience:g} seconds{reasons}"
            if self.lost is not None:
                echo(f"--cluster: {self.lost}; the batch ends", err=True)
                self._stopping.set()
                return

    def _close(self) -> None:
        _within(CLOSE_SECONDS, lambda: self._client.close(timeout=CLOSE_SECONDS))


def _within(seconds: float, work: Callable[[], Any]) -> None:
    """Do something that may hang, and go on without it after a while."""

    def run() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)


def build_on_worker(request: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Build one seal on this worker; what goes in and out is plain data."""
    outcome = Processes(_THREADS).build(Request.from_dict(request))
    return outcome.entry, outcome.exit_code
