"""Builds on the workers of a Dask scheduler, each in a separate process of its worker.

The workers need this project in the same release and reach the roots at the same addresses, with their own credentials.
If a worker dies during a build, the scheduler assigns the build to another worker, which publishes the snapshot. The gc
command removes the files that the dead worker wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pipeline.batch.cancellation import POLL_SECONDS, Cancellation
from pipeline.batch.process import LocalExecutor
from pipeline.batch.result import SealResult, crashed, failed, not_started
from pipeline.release import current, release, shown
from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.extras import extra

CONNECT_SECONDS: Final = 20.0
_ANSWER_SECONDS: Final = 1.0


class ClusterExecutor:
    """Builds on a Dask cluster; safe to use from several threads.

    When the scheduler is silent, or has no worker, for `patience` seconds, it ends the batch through `cancellation`.

    Raises
    ------
    SettingsError
        When Dask is not installed.
    StorageUnavailable
        When no scheduler answers.
    """

    def __init__(self, address: str, jobs: int | None, patience: float, cancellation: Cancellation) -> None:
        with extra("cluster", "--cluster, here and on the workers,"):
            import distributed  # noqa: PLC0415 - an optional dependency
        # After a failed connection, closing would wait for the scheduler again and print a traceback.
        without_finalizer: Any = type("Client", (distributed.Client,), {"__del__": lambda _: None})
        self._dask: Any = distributed
        self._address = address
        self._patience = patience
        self._cancellation = cancellation
        self._ending = False
        self._failing_since: float | None = None
        self._lock = threading.Lock()
        self.lost: AlphaResultsError | None = None
        """Error that ended the batch; None while it runs."""
        try:
            with ThreadPoolExecutor(1) as thread:  # in a notebook this thread has an event loop of its own
                thread.submit(asyncio.run, self._greet()).result()
            self._client: Any = without_finalizer(address, timeout=CONNECT_SECONDS, set_as_default=False)
            self.jobs = jobs or max(1, sum(self._client.nthreads().values()))
        except (OSError, TimeoutError, ValueError, MemoryError) as error:
            # MemoryError: text of another protocol is read as the length of a message.
            raise StorageUnavailable(f"--cluster: no Dask scheduler answers at {address}") from error

    def build(
        self, seal: str, options: Mapping[str, Any], on_stage: Callable[[str], None] | None = None
    ) -> SealResult:
        """Build one seal on a worker, and wait for its result."""
        if on_stage is not None:
            on_stage("on the cluster")
        remote = None
        while not self._ending and self.lost is None:
            try:
                remote = remote or self._submit(seal, options)
                answer: SealResult | str = remote.result(timeout=POLL_SECONDS)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the batch continues after any error of the cluster
                if (how := self._describe_end(remote, error)) is not None:
                    return crashed(seal, how, 1)
            else:
                if isinstance(answer, SealResult):
                    return answer
                self._lose(SettingsError(answer))
        if self.lost is None:
            return not_started(seal, "its build was ended with the batch")
        return failed(seal, type(self.lost)(f"{self.lost}; the outcome of this build is unknown"))

    def poll(self) -> None:
        """End the batch if the scheduler has been silent, or without workers, for too long."""
        try:
            workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_SECONDS)
        except Exception:  # noqa: BLE001 - any error means that it did not answer
            workers = None
        if workers:
            self._failing_since = None
            return
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        if self._cancellation.stopping and workers is not None:
            self.end()
        elif now - self._failing_since >= self._patience:
            what = "not answered" if workers is None else "had no worker"
            self._lose(
                StorageUnavailable(
                    f"the Dask scheduler at {self._address} has {what} for {self._patience:g} seconds"
                )
            )

    def end(self) -> None:
        """Stop waiting for builds; workers notice when the connection closes."""
        self._ending = True

    def close(self) -> None:
        """Close the connection, even if the scheduler does not answer."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=_ANSWER_SECONDS)

    async def _greet(self) -> None:
        """Exchange greetings with the scheduler; the client itself would wait without limit for those of a silent server."""
        security = self._dask.Security().get_connection_args("client")
        connecting = self._dask.comm.connect(self._address, timeout=CONNECT_SECONDS, **security)
        (await asyncio.wait_for(connecting, CONNECT_SECONDS)).abort()

    def _submit(self, seal: str, options: Mapping[str, Any]) -> Any:
        # A lambda is pickled by value, so that a worker without the project can report that it is missing.
        return self._client.submit(
            lambda module, *arguments: importlib.import_module(module).build_on_worker(*arguments),
            __name__,
            seal,
            options,
            release(),
            pure=False,
        )

    def _describe_end(self, remote: Any, error: BaseException) -> str | None:
        """Describe how a build ended without a result; None while a result may come, or the batch ends."""
        if isinstance(error, self._dask.KilledWorker):
            return "died with its worker as many times as the scheduler allows"
        if isinstance(error, ImportError):
            what = f"a worker lacks this project ({type(error).__name__}: {error})"
            self._lose(SettingsError(f"--cluster: {what}; start it in a checkout, with PYTHONPATH=."))
        elif self._client.status != "running":
            time.sleep(POLL_SECONDS)  # `poll` decides whether the scheduler is lost
        elif not isinstance(error, TimeoutError) or remote is None or remote.status == "error":
            return "was lost by the cluster"
        return None

    def _lose(self, error: AlphaResultsError) -> None:
        """End the batch: start no further build, and report running ones as unknown."""
        with self._lock:
            if self.lost is None:
                self.lost = error
                echo(f"{error}; the batch ends", err=True)
        self._cancellation.finish()


def build_on_worker(seal: str, options: Mapping[str, Any], required: Mapping[str, str]) -> SealResult | str:
    """Build one seal on this worker; if its release differs, return a description of the difference."""
    here = current()
    if here == required:
        # As many jobs as cores, which leaves this build few threads: the worker may run a build on each of its own.
        with contextlib.closing(LocalExecutor(len(os.sched_getaffinity(0)))) as executor:
            return executor.build(seal, options)
    from distributed import get_worker  # noqa: PLC0415 - an optional dependency

    differ = [name for name in required if here.get(name) != required[name]]
    there, ours = (shown({name: parts.get(name, "none") for name in differ}) for parts in (here, required))
    return (
        f"--cluster: the worker {get_worker().address} is of another release: it has {there}, this command has "
        f"{ours}; install the same on both, or stop that worker"
    )
