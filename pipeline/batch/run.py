"""One run of a batch: builds due seals, and the next latest of an alpha if its latest cannot be published."""

from __future__ import annotations

import queue
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from datasets.layout import CATALOG
from datasets.pointer_index import rebuild
from datasets.storage import open_storage
from pipeline.batch.batch import Batch, Request
from pipeline.batch.cancellation import POLL_SECONDS, Cancellation
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.process import LocalExecutor
from pipeline.batch.result import SealResult, failed, not_started
from pipeline.batch.search import Search, WorkPlan
from pipeline.internal import contained
from schemas.errors import AlphaResultsError, InternalFailure, SealUnreadable

if TYPE_CHECKING:
    from pipeline.batch.cluster import ClusterExecutor

_OWN_FAULTS: Final = {SealUnreadable.__name__, InternalFailure.__name__}
"""Errors of a build that are caused by its seal, not by a store or the snapshot."""

OnStage = Callable[[str, str | None], None]
"""Called with a seal's address at the start of each stage, and with None at its end."""


class Step(NamedTuple):
    """One seal with its result.

    Attributes
    ----------
    place
        Orders the seals, whichever came first.
    seal
        The seal, as the scan saw it.
    result
        What became of it.
    attempted
        Whether it was due; False where it needed no build.
    """

    place: int
    seal: DiscoveredSeal
    result: SealResult
    attempted: bool


class Run:
    """A batch with its builds, as a context manager that kills running builds on exit.

    Parameters
    ----------
    batch
        Its options.
    cancellation
        Ends it.
    on_stage
        Called with stages, from the threads that wait for builds.

    Attributes
    ----------
    due
        Seals that had or will have their turn, as far as is known.

    Raises
    ------
    SettingsError
        When an address is invalid, or no worker of the cluster can build.
    StorageUnavailable
        When no scheduler answers.
    """

    def __init__(self, batch: Batch, cancellation: Cancellation, on_stage: OnStage | None = None) -> None:
        self._request = Request("", batch.root, batch.options, listed=batch.searched is not None)
        self._cancellation = cancellation
        self._on_stage = on_stage
        self._storage = open_storage(batch.root, single_writer=batch.options.get("single_writer", False))
        self._named = [DiscoveredSeal(address, "") for address in batch.seals]
        self._search = None if batch.searched is None else Search(batch, batch.searched, self._storage)
        self._executor = _executor(batch, cancellation)
        self._pool = ThreadPoolExecutor(self._executor.jobs, thread_name_prefix="build")
        self.due = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.end()
        self._pool.shutdown(cancel_futures=True)
        self._executor.close()

    @property
    def lost(self) -> AlphaResultsError | None:
        """Reason why the executor cannot run further builds; None if it can."""
        return self._executor.lost

    def scan(self) -> list[DiscoveredSeal]:
        """Find the finished seals, or take the named ones; raises as :meth:`~pipeline.batch.search.Search.scan`."""
        if self._search is not None:
            with self._cancellation.interruptible():
                return self._search.scan()
        # Interrupted, every named seal is reported as not started.
        with suppress(KeyboardInterrupt), self._cancellation.interruptible():
            self._storage.signature(CATALOG)  # raises when the root does not answer
        return self._named

    def steps(self, left_out: Collection[str] = ()) -> Iterator[Step]:
        """Build the named seals, or those due after the last scan; yield each as its result is known.

        Parameters
        ----------
        left_out
            Addresses of seals that are not built.

        Raises
        ------
        StorageUnavailable
            When the root does not answer before anything is built.
        """
        if self._search is None:
            yield from self._build(self._named, 0)
            return
        failures, tried = set(left_out), set[str]()
        plan = self._choose(self._search, failures)
        while due := [one for one in plan.due if one.address not in tried]:
            for step in self._build(due, len(tried)):
                if _unpublishable(step.result):
                    failures.add(step.seal.address)
                yield step
            tried |= {one.address for one in due}
            if self._cancellation.stopping:
                break
            plan = self._choose(self._search, failures)
        for place, (one, result) in enumerate(plan.skipped, start=len(tried)):
            yield Step(place, one, result, attempted=False)

    def _choose(self, search: Search, failed: Collection[str]) -> WorkPlan:
        with self._cancellation.interruptible():
            return search.choose(failed)

    def _build(self, due: list[DiscoveredSeal], begin: int) -> Iterator[Step]:
        """Build seals, whose places count from `begin`; yield each as its result is known."""
        self.due += len(due)
        results: queue.SimpleQueue[tuple[int, SealResult]] = queue.SimpleQueue()

        def build(place: int) -> None:
            results.put((place, self._result(due[place])))

        for place in range(len(due)):
            self._pool.submit(build, place)
        for _ in due:
            place, result = self._next(results)
            if self._search is not None:
                self._search.record(due[place], result)
            yield Step(begin + place, due[place], result, attempted=True)
        if not self._cancellation.aborted:
            with suppress(KeyboardInterrupt), self._cancellation.interruptible():
                rebuild(self._storage)

    def _next(self, results: queue.SimpleQueue[tuple[int, SealResult]]) -> tuple[int, SealResult]:
        while True:
            if self._cancellation.aborted:
                self._executor.end()
            try:
                return results.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._executor.poll()

    def _result(self, one: DiscoveredSeal) -> SealResult:
        """Build a seal unless the batch is cancelled."""
        request = replace(self._request, seal=one.address)
        if self._cancellation.stopping:
            return not_started(request.shown)
        stage = None if self._on_stage is None else partial(self._on_stage, request.shown)
        try:
            with contained("the build"):
                result = self._executor.build(request, stage)
        except AlphaResultsError as error:
            result = failed(request.shown, error)
        if stage is not None:
            stage(None)
        return result


def _executor(batch: Batch, cancellation: Cancellation) -> LocalExecutor | ClusterExecutor:
    """Return the executor, of this machine or a cluster."""
    if batch.cluster is None:
        return LocalExecutor(batch.jobs or 1)
    from pipeline.batch.cluster import ClusterExecutor  # noqa: PLC0415 - an optional dependency

    return ClusterExecutor(
        batch.cluster, batch.jobs, patience=batch.cluster_seconds, cancellation=cancellation
    )


def _unpublishable(result: SealResult) -> bool:
    """Return whether a seal cannot be published, so that an earlier one is built in its place."""
    return result.outcome in {"refused", "crashed"} or result.entry.get("error") in _OWN_FAULTS
