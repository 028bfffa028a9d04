"""Builds on the workers of a Dask scheduler, each in a process of its own there too.

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
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from pipeline.batch.process import LocalExecutor
from pipeline.batch.request import Request
from pipeline.batch.result import SealResult, crashed, failed, interrupted
from pipeline.release import current, release, shown
from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.extras import extra
from schemas.terminal import echo

CONNECT_SECONDS: Final = "20s"
_CLOSE_SECONDS: Final = 1.0
"""How long saying goodbye to a scheduler may take, which may be gone."""
_ANSWER_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Submitted:
    """A build submitted to the scheduler; `remote` is Dask's future of it, None when it could not be."""

    request: Request
    remote: Any = None


class ClusterExecutor:
    """Builds on a Dask cluster, as a context manager.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://host:8786``.
    jobs
        Builds submitted at a time; None is one for each thread of its workers.
    patience
        Seconds the scheduler may be silent, or without workers, before everything ends.
    stopping
        Set when that happens, so that no further build is begun; when it is set by others, builds are not waited for
        that no worker can take up.

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
        self, address: str, jobs: int | None = None, *, patience: float, stopping: threading.Event
    ) -> None:
        with extra("cluster", "--cluster, here and on the workers,"):
            import distributed  # noqa: PLC0415 - an optional dependency
        self._dask: Any = distributed
        self._client: Any
        self._address = address
        self._patience = patience
        self._stopping = stopping
        self._at_work: dict[Future[SealResult], _Submitted] = {}
        self._ending = False
        self._failing_since: float | None = None
        self.lost: AlphaResultsError | None = None
        try:
            self._client = self._dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise StorageUnavailable(f"--cluster: no Dask scheduler answers at {address}") from error
        try:
            self.jobs = jobs or max(1, sum(self._client.nthreads().values()))
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._close()

    def submit(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Future[SealResult]:
        """Give a build to a worker."""
        if on_stage is not None:
            on_stage("on the cluster")
        future: Future[SealResult] = Future()
        build = self._at_work[future] = _Submitted(request)
        if self._ending:
            self.end()
            return future
        with contextlib.suppress(
            Exception
        ):  # the connection is lost: whether it comes back is seen by looking
            # By value: a worker without the project can still report that it is missing.
            build.remote = self._client.submit(
                lambda module, *arguments: importlib.import_module(module).build_on_worker(*arguments),
                __name__,
                asdict(request),
                release(),
                pure=False,
            )
            build.remote.add_done_callback(lambda remote: self._ended(future, request, remote))
        return future

    def poll(self) -> None:
        """End everything when the scheduler has been silent, or without workers, for too long."""
        try:
            workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_SECONDS)
        except Exception:  # noqa: BLE001 - whatever keeps it from answering
            workers = None
        now = time.monotonic()
        if workers is not None:
            for future, build in list(self._at_work.items()):
                if build.remote is None or build.remote.status in {"cancelled", "lost"}:
                    self._resolve(future, _lost(build.request))
        if workers:
            self._failing_since = None
            return
        self._failing_since = self._failing_since or now
        if self._stopping.is_set() and workers is not None:
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
        for future, build in list(self._at_work.items()):
            self._resolve(future, interrupted(build.request.shown))

    def _ended(self, future: Future[SealResult], request: Request, remote: Any) -> None:
        """Report a build, from a thread of Dask's."""
        self._failing_since = None
        try:
            answer = remote.result()
        except self._dask.KilledWorker:
            result = crashed(request.shown, "died with its worker, as often as the scheduler allows", 1)
        except ImportError as error:
            self._lose(_without_project("a worker", error))
            return
        except (Exception, asyncio.CancelledError, concurrent.futures.CancelledError):  # noqa: BLE001 - whatever the cluster came to, the batch goes on
            if self._client.status != "running":
                return  # the scheduler is away: whether it comes back is seen by looking
            result = _lost(request)
        else:
            if "release" in answer:
                self._lose(_another_release(answer["worker"], answer["release"]))
                return
            result = SealResult(answer["entry"], answer["exit_code"])
        self._resolve(future, result)

    def _resolve(self, future: Future[SealResult], result: SealResult) -> None:
        if self._at_work.pop(future, None) is not None:
            future.set_result(result)

    def _lose(self, error: AlphaResultsError) -> None:
        """End the batch: begin no further build, and report those at work as unknown."""
        if self.lost is None:
            self.lost = error
            echo(f"{error}; the batch ends", err=True)
        self._stopping.set()
        unknown = type(error)(f"{error}; nothing is known of this build")
        for future, build in list(self._at_work.items()):
            self._resolve(future, failed(build.request.shown, unknown))

    def _close(self) -> None:
        _within(_CLOSE_SECONDS, lambda: self._client.close(timeout=_CLOSE_SECONDS))


def build_on_worker(request: dict[str, Any], wanted: dict[str, str]) -> dict[str, Any]:
    """Build one seal on this worker, unless it is of another release; what goes in and out is plain data."""
    here = current()
    if here != wanted:
        from distributed import get_worker  # noqa: PLC0415 - an optional dependency

        return {"worker": get_worker().address, "release": here}
    with LocalExecutor(1, threads=1) as executor:
        result = executor.submit(Request(**request)).result()
    return {"entry": result.entry, "exit_code": result.exit_code}


def _lost(request: Request) -> SealResult:
    return crashed(request.shown, "was lost by the cluster", 1)


def _another_release(worker: str, theirs: Mapping[str, str]) -> SettingsError:
    """Name both releases, in what they differ."""
    ours = release()
    differ = [name for name in ours if theirs.get(name) != ours[name]]
    there, here = ({name: parts.get(name, "none") for name in differ} for parts in (theirs, ours))
    return SettingsError(
        f"--cluster: the worker {worker} is of another release: it has {shown(there)}, this command has {shown(here)}; "
        "install the same on both, or stop that worker"
    )


def _without_project(worker: str, error: ImportError) -> SettingsError:
    return SettingsError(
        f"--cluster: {worker} has not this project ({type(error).__name__}: {error}); start it in a checkout, with PYTHONPATH=."
    )


def _within(seconds: float, work: Callable[[], Any]) -> None:
    """Run a call that may hang, and stop waiting for it after a time."""

    def run() -> None:
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
