"""Builds on the workers of a Dask scheduler, each in a process of its own there too.

The workers run this very project: the same code, and the roots under the same addresses. Credentials are those of
the workers. A worker that dies takes its build's process with it, for that ends with its parent; the scheduler gives
the build to another worker, and since a snapshot's name is a digest of what it is built from, it is published once
however often it is begun.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

from pipeline.batch.process import Processes
from pipeline.batch.request import Outcome, Request, crashed
from schemas.errors import SettingsError, StorageUnavailable

CONNECT_SECONDS: Final = "20s"
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

    Raises
    ------
    SettingsError
        When Dask is not installed.
    """

    def __init__(self, address: str, jobs: int | None = None, *, patience: float = 60.0) -> None:
        try:
            import distributed  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise SettingsError(
                "--cluster needs Dask: `uv sync --group cluster`, here and on the workers"
            ) from error
        self._dask: Any = distributed
        self._address = address
        self._jobs = jobs
        self._patience = patience

    def __enter__(self) -> tuple[Cluster, Callable[[], None], int]:
        """Connect; StorageUnavailable when nobody answers."""
        try:
            self._client = self._dask.Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise StorageUnavailable(f"--cluster: no Dask scheduler answers at {self._address}") from error
        return self, self._cancel, self._jobs or max(1, sum(self._client.nthreads().values()))

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def build(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Outcome:
        """Build one seal on some worker and wait for the end.

        Returns
        -------
        Outcome
            Never raises for what happens to the build, its workers and the scheduler.
        """
        if on_stage is not None:
            on_stage("on the cluster")
        future = self._client.submit(build_on_worker, request.to_dict(), pure=False)
        try:
            entry, exit_code = future.result()
        except self._dask.KilledWorker:
            return crashed(request.shown, "died with its worker, as often as the scheduler allows", 1)
        except Exception as error:  # noqa: BLE001 - whatever the cluster came to, the batch goes on
            return crashed(request.shown, f"was lost by the cluster ({type(error).__name__})", 1)
        finally:
            with contextlib.suppress(Exception):
                future.release()
        return Outcome(entry, exit_code)

    def _cancel(self) -> None:
        """Forget everything that is not finished; builds at work end with their workers' interest in them."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=1)


def build_on_worker(told: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Build one seal on this worker; what goes in and out is plain data."""
    outcome = Processes(_THREADS).build(Request.from_dict(told))
    return outcome.entry, outcome.exit_code
