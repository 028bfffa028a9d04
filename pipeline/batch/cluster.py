"""Builds on the workers of a Dask scheduler, each in a separate process there, too.

The workers run this very project, of the same release, and the roots have the same addresses there. Credentials are
those of the workers. A worker that dies takes its build with it; the scheduler gives the build to another worker, whose
snapshot is the one that is served. What the first had written is removed by gc.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from pipeline.batch.batch import Request
from pipeline.batch.cancellation import POLL_SECONDS, Cancellation
from pipeline.batch.process import LocalExecutor
from pipeline.batch.result import SealResult, crashed, failed, not_started
from pipeline.release import current, release, shown
from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.extras import extra
from schemas.terminal import echo

CONNECT_SECONDS: Final = "20s"
_ANSWER_SECONDS: Final = 1.0
_ENDED: Final = frozenset({"cancelled", "error", "lost"})
"""States of a future that will not have a result."""
_CLOSE_SECONDS: Final = 1.0
"""Seconds to close the connection to a scheduler, which may not answer."""


class ClusterExecutor:
    """Builds on a Dask cluster; safe to use from several threads.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://host:8786``.
    jobs
        Builds at a time; None is one for each thread of its workers.
    patience
        Seconds the scheduler may be silent, or without workers, before everything ends.
    cancellation
        Ends the batch when that happens; once it is ended by others, builds are not waited for that no worker can take up.

    Attributes
    ----------
    lost
        Why everything ended; None while it goes on.

    Raises
    ------
    SettingsError
        When Dask is not installed.
    StorageUnavailable
        When no scheduler answers.
    """

    def __init__(
        self, address: str, jobs: int | None, *, patience: float, cancellation: Cancellation
    ) -> None:
        with extra("cluster", "--cluster, here and on the workers,"):
            import distributed  # noqa: PLC0415 - an optional dependency
        self._dask: Any = distributed
        self._client: Any
        self._address = address
        self._patience = patience
        self._cancellation = cancellation
        self._ending = False
        self._failing_since: float | None = None
        self._lock = threading.Lock()
        self.lost: AlphaResultsError | None = None
        try:
            self._client = self._dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise StorageUnavailable(f"--cluster: no Dask scheduler answers at {address}") from error
        try:
            self.jobs = jobs or max(1, sum(self._client.nthreads().values()))
        except BaseException:
            self.close()
            raise

    def build(self, request: Request, on_stage: Callable[[str], None] | None = None) -> SealResult:
        """Build one seal on a worker, and wait for its result."""
        if on_stage is not None:
            on_stage("on the cluster")
        remote = None
        while not self._ending and self.lost is None:
            try:
                remote = remote or self._submit(request)
                answer = remote.result(timeout=POLL_SECONDS)
            except (Exception, asyncio.CancelledError, concurrent.futures.CancelledError) as error:  # noqa: BLE001 - the batch continues after any error of the cluster
                if (how := self._describe_end(remote, error)) is not None:
                    return crashed(request.shown, how, 1)
            else:
                if "release" not in answer:
                    return SealResult(**answer)
                self._lose(_another_release(answer["worker"], answer["release"]))
        if self.lost is None:
            return not_started(request.shown, begun=True)
        return failed(request.shown, type(self.lost)(f"{self.lost}; nothing is known of this build"))

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
        """Close the connection, without waiting long for a scheduler that does not answer."""

        def goodbye() -> None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=_CLOSE_SECONDS)

        # Dask's own timeout does not cover all of it.
        closing = threading.Thread(target=goodbye, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _submit(self, request: Request) -> Any:
        # Pickled by value, so that a worker without the project can report that it is missing.
        return self._client.submit(
            lambda module, *arguments: importlib.import_module(module).build_on_worker(*arguments),
            __name__,
            asdict(request),
            release(),
            pure=False,
        )

    def _describe_end(self, remote: Any, error: BaseException) -> str | None:
        """Describe how a build ended without a result; None while a result may come, or the batch ends."""
        if isinstance(error, self._dask.KilledWorker):
            return "died with its worker, as often as the scheduler allows"
        if isinstance(error, ImportError):
            self._lose(_without_project(error))
        elif self._client.status != "running":
            time.sleep(POLL_SECONDS)  # the scheduler does not answer: `poll` decides
        elif not isinstance(error, TimeoutError) or remote is None or remote.status in _ENDED:
            return "was lost by the cluster"
        return None

    def _lose(self, error: AlphaResultsError) -> None:
        """End the batch: start no further build, and report running ones as unknown."""
        with self._lock:
            if self.lost is None:
                self.lost = error
                echo(f"{error}; the batch ends", err=True)
        self._cancellation.finish()


def build_on_worker(request: dict[str, Any], wanted: dict[str, str]) -> dict[str, Any]:
    """Build one seal on this worker, unless it has another release; arguments and result are plain data."""
    here = current()
    if here != wanted:
        from distributed import get_worker  # noqa: PLC0415 - an optional dependency

        return {"worker": get_worker().address, "release": here}
    with contextlib.closing(LocalExecutor(1, threads=1)) as executor:
        result = executor.build(Request(**request))
    return {"entry": result.entry, "exit_code": result.exit_code, "files": result.files}


def _another_release(worker: str, theirs: Mapping[str, str]) -> SettingsError:
    """Describe the difference of two releases."""
    ours = release()
    differ = [name for name in ours if theirs.get(name) != ours[name]]
    there, here = ({name: parts.get(name, "none") for name in differ} for parts in (theirs, ours))
    return SettingsError(
        f"--cluster: the worker {worker} is of another release: it has {shown(there)}, this command has {shown(here)}; "
        "install the same on both, or stop that worker"
    )


def _without_project(error: ImportError) -> SettingsError:
    return SettingsError(
        f"--cluster: a worker has not this project ({type(error).__name__}: {error}); start it in a checkout, with PYTHONPATH=."
    )
