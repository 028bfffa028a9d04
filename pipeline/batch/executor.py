"""Several builds at a time, submitted and collected alike on this machine and on a cluster."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Final, Protocol

from pipeline.batch.request import Request
from pipeline.batch.result import SealResult, failed
from pipeline.internal import contained
from schemas.errors import AlphaResultsError

POLL_SECONDS: Final = 0.5
"""Between two polls of an idle executor."""

OnStage = Callable[[Request, str | None], None]
"""Called with a request and its stage as it begins, and with None when the request is done."""


class Executor(Protocol):
    """Runs builds: processes of this machine, or a cluster.

    Attributes
    ----------
    jobs
        Builds at a time.
    lost
        Why no build can run there any more; None while all is well.
    """

    jobs: int
    lost: AlphaResultsError | None

    def submit(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Future[SealResult]:
        """Begin a build."""
        ...

    def poll(self) -> None:
        """Check that builds are still alive; polled while waiting for them."""
        ...

    def end(self) -> None:
        """End the builds at work at once, and report them as interrupted."""
        ...


def run(
    requests: Iterable[Request],
    executor: Executor,
    *,
    stopping: threading.Event,
    on_stage: OnStage | None = None,
) -> Iterator[tuple[int, SealResult]]:
    """Build requests and yield each result as it comes.

    Parameters
    ----------
    requests
        Read one by one as a place becomes free.
    stopping
        When set, no further build begins; those at work are finished.

    Yields
    ------
    tuple
        The request's place and its result. Places not begun before the stop never come.
    """
    waiting = enumerate(requests)
    at_work: dict[Future[SealResult], tuple[int, Request]] = {}
    done: deque[tuple[int, SealResult]] = deque()
    try:
        while True:
            while len(at_work) < executor.jobs and not stopping.is_set():
                if (following := next(waiting, None)) is None:
                    break
                on_own_stage = partial(on_stage, following[1]) if on_stage else None
                at_work[executor.submit(following[1], on_own_stage)] = following
            if done:
                yield done.popleft()
                continue
            if not at_work:
                return
            # With a time limit: a signal is only handled between two waits.
            ended, _ = concurrent.futures.wait(at_work, POLL_SECONDS, concurrent.futures.FIRST_COMPLETED)
            if not ended:
                executor.poll()
            for future in ended:
                place, request = at_work.pop(future)
                if on_stage:
                    on_stage(request, None)
                done.append((place, _result(future, request)))
    except BaseException:
        stopping.set()  # nobody reads the results from here on
        raise


def _result(future: Future[SealResult], request: Request) -> SealResult:
    """Return the result of a build; any exception fails this build alone."""
    try:
        with contained("the build"):
            return future.result()
    except AlphaResultsError as error:
        return failed(request.shown, error)
