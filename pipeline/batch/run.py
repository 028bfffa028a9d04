"""One run of a batch: builds due seals, and falls back to an earlier seal if the latest of an alpha is unpublishable."""

from __future__ import annotations

import queue
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from datasets.catalogue.pointer_index import rebuild
from datasets.layout import CATALOG
from datasets.storage import open_storage
from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import POLL_SECONDS, Cancellation
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.process import LocalExecutor
from pipeline.batch.refusals import file_digests_at
from pipeline.batch.result import SealResult, failed, not_started
from pipeline.batch.search import Search
from pipeline.internal import contained
from pipeline.seal.store import shown_address
from schemas.errors import AlphaResultsError, BuildCrashed, DiskFull, InternalFailure, SealError

if TYPE_CHECKING:
    from pipeline.batch.cluster import ClusterExecutor

UNPUBLISHABLE: Final = (SealError, BuildCrashed, InternalFailure)
"""Errors after which an earlier seal of the alpha is built instead; errors of a store or a snapshot are not among them."""

OnStage = Callable[[str, str | None, int], None]
"""Called with the seal, the stage of its build (None at the end), and the number of seals of the run."""


class Step(NamedTuple):
    """One seal with its result."""

    place: int
    """Position in the order of the seals; results arrive in any order."""
    seal: DiscoveredSeal
    result: SealResult
    attempted: bool
    """Whether a build was attempted; False if none was needed."""


class BatchRun:
    """A batch with its builds, as a context manager that kills running builds on exit.

    Raises
    ------
    SettingsError
        When an address is invalid, or no worker of the cluster can build.
    StorageUnavailable
        When no scheduler answers.
    """

    def __init__(self, batch: Batch, cancellation: Cancellation, on_stage: OnStage | None = None) -> None:
        self._options = batch.build_options
        self._cancellation = cancellation
        self._on_stage = on_stage
        self._storage = open_storage(batch.root, single_writer=batch.single_writer)
        self._named = [DiscoveredSeal(address, "") for address in batch.seals]
        self._search = None if batch.searched is None else Search(batch, batch.searched, self._storage)
        self.executor: LocalExecutor | ClusterExecutor
        if batch.cluster is None:
            self.executor = LocalExecutor(batch.jobs or 1)
        else:
            from pipeline.batch.cluster import ClusterExecutor  # noqa: PLC0415 - an optional dependency

            self.executor = ClusterExecutor(batch.cluster, batch.jobs, batch.cluster_seconds, cancellation)
        self._pool = ThreadPoolExecutor(self.executor.jobs, thread_name_prefix="build")
        self._due = 0
        self.disk_full: DiskFull | None = None
        """Error of a build that failed on a full disk since the last scan; no further build is started, as it would fail too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.end()
        self._pool.shutdown(cancel_futures=True)
        self.executor.close()

    def scan(self) -> list[DiscoveredSeal]:
        """Find the finished seals, or take the named ones; raises as :meth:`~pipeline.batch.search.Search.scan`."""
        self.disk_full = None
        if self._search is not None:
            with self._cancellation.interruptible():
                return self._search.scan()
        # After an interrupt every named seal is reported as not started.
        with suppress(KeyboardInterrupt), self._cancellation.interruptible():
            self._storage.signature(CATALOG)  # raises when the root does not answer
        return self._named

    def steps(self, left_out: Collection[str] = (), held: Collection[str] = ()) -> Iterator[Step]:
        """Build the named seals, or the due ones, by address; yield each as its result arrives.

        Seals that are `left_out` or `held` are not built; an earlier seal of the alpha takes the place of one that is left out
        only.

        Raises
        ------
        StorageUnavailable
            When the root does not answer before anything is built.
        """
        if self._search is None:
            yield from self._build(self._named, 0)
            return
        failures, tried = set(left_out), set(held)
        while True:
            with self._cancellation.interruptible():
                plan = self._search.choose(failures)
            due = [seal for seal in plan.due if seal.address not in tried]
            if not due:
                break
            for step in self._build(due, len(tried)):
                if isinstance(step.result.error, UNPUBLISHABLE):
                    failures.add(step.seal.address)
                yield step
            tried |= {seal.address for seal in due}
            if self._cancellation.stopping or self.disk_full is not None:
                break
        for place, (seal, result) in enumerate(plan.skipped, start=len(tried)):
            yield Step(place, seal, result, attempted=False)

    def _build(self, due: list[DiscoveredSeal], begin: int) -> Iterator[Step]:
        """Build seals and yield each result as it arrives; places count from `begin`."""
        self._due += len(due)
        results: queue.SimpleQueue[tuple[int, SealResult, str]] = queue.SimpleQueue()

        def build(place: int) -> None:
            results.put((place, *self._result(due[place].address)))

        for place in range(len(due)):
            self._pool.submit(build, place)
        pending = len(due)
        while pending:
            if self._cancellation.aborted:
                self.executor.end()
            try:
                place, result, files = results.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self.executor.poll()
                continue
            pending -= 1
            if self._search is not None:
                self._search.record(due[place], result, files)
            yield Step(begin + place, due[place], result, attempted=True)
        if not self._cancellation.aborted:
            with suppress(KeyboardInterrupt), self._cancellation.interruptible():
                rebuild(self._storage)

    def _result(self, seal: str) -> tuple[SealResult, str]:
        """Build a seal unless the batch is cancelled or a disk is full; return its result and the digest of its file listing."""
        if self._cancellation.stopping:
            return not_started(seal, "the batch was ended before this seal had its turn"), ""
        if self.disk_full is not None:
            return not_started(seal, "a disk is full, so this seal was not tried"), ""
        shown, files = shown_address(seal), ""
        try:
            with contained("the build"):
                if self._search is not None:
                    # Taken before the seal is read, so that a file that arrives during the check counts as a change.
                    files = file_digests_at(seal)
                result = self.executor.build(seal, self._options, partial(self._show, shown))
        except AlphaResultsError as error:
            result = failed(seal, error)
        finally:
            self._show(shown, None)
        if isinstance(result.error, DiskFull):
            self.disk_full = result.error
        return result, files

    def _show(self, seal: str, stage: str | None) -> None:
        if self._on_stage is not None:
            self._on_stage(seal, stage, self._due)
