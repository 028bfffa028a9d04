"""Several builds at a time, each dropped once it is reported."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from pipeline.batch.request import Outcome, Request, failed
from pipeline.internal import contained
from schemas.errors import AlphaResultsError

OnStage = Callable[[Request, str | None], None]
"""Called with a request and its stage as it begins, and with None when the request is done."""


class Builder(Protocol):
    """What builds: processes of this machine, or a cluster.

    Attributes
    ----------
    lost
        Why nothing can be built there any more; None while all is well.
    """

    lost: str | None

    def build(self, request: Request, on_stage: Callable[[str], None] | None = None) -> Outcome:
        """Build one seal and wait for the end."""
        ...


def run(
    requests: Iterable[Request],
    builder: Builder,
    jobs: int,
    *,
    stopping: threading.Event,
    on_stage: OnStage | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Build requests, `jobs` at a time, and yield each outcome as it comes.

    Parameters
    ----------
    requests
        Taken one by one as there is somebody free to build them.
    stopping
        When set, nothing more is begun; what is at work is finished.

    Yields
    ------
    tuple
        The request's place and its outcome. Places not begun before the stop never come.
    """
    waiting = _InTurn(enumerate(requests), stopping)
    done: queue.Queue[tuple[int, Outcome] | BaseException | None] = queue.Queue()

    def work() -> None:
        try:
            for place, request in waiting:
                done.put((place, _built(builder, request, on_stage)))
                if on_stage:
                    on_stage(request, None)
        except BaseException as error:  # noqa: BLE001 - raised in the caller, who must not wait for ever
            done.put(error)
        finally:
            done.put(None)

    workers = [threading.Thread(target=work, name=f"build-{number}", daemon=True) for number in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        yield from _taken(done, len(workers))
    except BaseException:
        stopping.set()  # nobody takes what would be built from here on
        raise


def _taken(
    done: queue.Queue[tuple[int, Outcome] | BaseException | None], left: int
) -> Iterator[tuple[int, Outcome]]:
    """Yield what threads put into a queue until so many of them have ended."""
    while left:
        # A wait with an end: a signal for this thread is only looked at between two of them.
        try:
            found = done.get(timeout=0.5)
        except queue.Empty:
            continue
        if found is None:
            left -= 1
        elif isinstance(found, BaseException):
            raise found
        else:
            yield found


def _built(builder: Builder, request: Request, on_stage: OnStage | None) -> Outcome:
    """Build one seal; whatever else is raised for it costs this one and no other."""
    try:
        with contained("the build"):
            return builder.build(request, partial(on_stage, request) if on_stage else None)
    except AlphaResultsError as error:
        return failed(request.shown, error)


class _InTurn:
    """Hands the items of an iterable to several threads, until it ends or a stop is asked for."""

    def __init__(self, items: Iterable[tuple[int, Request]], stopping: threading.Event) -> None:
        self._items = iter(items)
        self._stopping = stopping
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[int, Request]]:
        return self

    def __next__(self) -> tuple[int, Request]:
        with self._lock:
            if self._stopping.is_set():
                raise StopIteration
            return next(self._items)
