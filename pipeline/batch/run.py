"""One run of a batch: due seals are built; where the latest seal of an alpha cannot be published, the next latest is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Final, NamedTuple, Self

from datasets.layout import CATALOG
from datasets.pointer_index import rebuild
from datasets.storage import open_storage
from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.executor import Executor, run
from pipeline.batch.process import LocalExecutor
from pipeline.batch.refusals import file_digests_at
from pipeline.batch.report import Display
from pipeline.batch.request import Request
from pipeline.batch.result import NOT_STARTED, SealResult, failed, not_started
from pipeline.batch.search import Search
from schemas.errors import AlphaResultsError, InternalFailure, SealUnreadable, StorageUnavailable

_OWN_FAULTS: Final = {SealUnreadable.__name__, InternalFailure.__name__}
"""Errors of a build that are about its seal, and not about the stores or the snapshot."""

OnStage = Callable[[str, str | None], None]
"""Called with a seal's address and its stage as that begins, and with None when the seal is done."""


class Step(NamedTuple):
    """One seal whose result is known.

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
    """A batch with its builds, as a context manager; an exception that leaves it kills the builds at work.

    Parameters
    ----------
    batch
        Its options.
    cancellation
        Ends it.
    on_stage
        Called with stages, from the threads that wait for builds.

    Raises
    ------
    SettingsError
        When an address makes no sense, or no worker of the cluster can build.
    StorageUnavailable
        When no scheduler answers.
    """

    def __init__(self, batch: Batch, cancellation: Cancellation, on_stage: OnStage | None = None) -> None:
        self._batch = batch
        self._cancellation = cancellation
        self._on_stage = on_stage
        self._storage = open_storage(batch.common.root, single_writer=batch.common.single_writer)
        self._named = [DiscoveredSeal(address, "") for address in batch.seals]
        self._search = None if batch.searched is None else Search(batch, batch.searched, self._storage)
        self._display: Display | None = None
        self._stack = ExitStack()
        self._executor: Executor

    def __enter__(self) -> Self:
        with self._stack:
            self._executor = self._stack.enter_context(_executor(self._batch, self._cancellation))
            self._stack.enter_context(self._cancellation.ending_with(self._executor.end))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._cancellation.abort()
        self._stack.close()

    @property
    def lost(self) -> AlphaResultsError | None:
        """Why the executor can run no build any more; None while all is well."""
        return self._executor.lost

    def set_aside(self) -> AbstractContextManager[None]:
        """Take progress off the terminal while something is printed."""
        return contextlib.nullcontext() if self._display is None else self._display.set_aside()

    def scan(self) -> list[DiscoveredSeal]:
        """Find every finished seal, or take those that were named; raises as :meth:`~pipeline.batch.search.Search.scan`."""
        if self._search is None:
            self._storage.exists(CATALOG)
        seen = self._named if self._search is None else self._search.scan()
        self._batch.metrics.scanned()
        return seen

    def steps(self, given_up: Mapping[str, str] | None = None) -> Iterator[Step]:
        """Build the seals that were named, or those that are due by the last scan; yield each as its result is known.

        Parameters
        ----------
        given_up
            Addresses of seals that are left out.

        Raises
        ------
        StorageUnavailable
            When the root does not answer before anything is built.
        """
        if self._search is None:
            yield from self._build(self._named, 0)
            return
        failures, tried = set(given_up or ()), set[str]()
        lost = set[str | None]()
        skipped: list[tuple[DiscoveredSeal, SealResult]] = []
        ended = False
        while not ended:
            try:
                plan = self._search.choose(failures)
            except StorageUnavailable as error:
                if not tried:
                    raise
                # Which seal may replace a failed one is unknown: those that waited for one of their alpha fail.
                for place, (one, known) in enumerate(skipped, start=len(tried)):
                    waited = known.outcome == "superseded" and one.alpha_id in lost
                    result = failed(Request(one.address, "").shown, error) if waited else known
                    yield Step(place, one, result, attempted=waited)
                return
            due = [one for one in plan.due if one.address not in tried]
            skipped = plan.skipped
            if not due:
                break
            for step in self._build(due, len(tried)):
                if _unpublishable(step.result):
                    failures.add(step.seal.address)
                    lost.add(step.seal.alpha_id)
                ended = ended or step.result.outcome == NOT_STARTED
                yield step
            tried |= {one.address for one in due}
        for place, (one, result) in enumerate(skipped, start=len(tried)):
            yield Step(place, one, result, attempted=False)

    def _build(self, due: list[DiscoveredSeal], begin: int) -> Iterator[Step]:
        """Build seals, whose places count from `begin`; yield each as its result is known, those that had no turn last."""
        waiting = dict(enumerate(due))
        files: dict[str, str] = {}

        def requests() -> Iterator[Request]:
            for one in due:
                if self._search is not None:
                    # Before it is read: a file that arrives during the check is a change.
                    files[one.address] = file_digests_at(one.address)
                yield replace(self._batch.common, seal=one.address)

        with Display(self._batch.screen, len(due), hidden=self._batch.as_json) as display:

            def stage(request: Request, at: str | None) -> None:
                display.stage(request.shown, at)
                if self._on_stage is not None:
                    self._on_stage(request.shown, at)

            self._display = display
            stopping = self._cancellation.stopping
            for place, result in run(requests(), self._executor, stopping=stopping, on_stage=stage):
                display.done()
                one = waiting.pop(place)
                if self._search is not None:
                    self._search.record(one, result, files[one.address])
                yield Step(begin + place, one, result, attempted=True)
            self._display = None
        rebuild(self._storage)
        for place, one in waiting.items():
            result = not_started(Request(one.address, "").shown)
            yield Step(begin + place, one, result, attempted=True)


def _executor(batch: Batch, cancellation: Cancellation) -> AbstractContextManager[Executor]:
    """Return what builds, on this machine or on a cluster."""
    if batch.cluster is not None:
        from pipeline.batch.cluster import ClusterExecutor  # noqa: PLC0415 - an optional dependency

        return ClusterExecutor(
            batch.cluster, batch.jobs, patience=batch.cluster_seconds, stopping=cancellation.stopping
        )
    return LocalExecutor(batch.jobs or 1)


def _unpublishable(result: SealResult) -> bool:
    """Return whether a seal cannot be published itself, so that an earlier one is not to wait for it."""
    return result.outcome in {"refused", "crashed"} or result.entry.get("error") in _OWN_FAULTS
