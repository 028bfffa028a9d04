"""One run of a batch: due seals are built; where the latest seal of an alpha cannot be published, the next latest is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Final, NamedTuple, Self

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.executor import Executor, run
from pipeline.batch.process import LocalExecutor
from pipeline.batch.refusals import file_digests_at
from pipeline.batch.report import Display
from pipeline.batch.request import Outcome, Request, failed, not_started
from pipeline.batch.search import Search
from schemas.errors import AlphaResultsError, InternalFailure, SealUnreadable, StorageUnavailable

_ITS_OWN_FAULT: Final = {SealUnreadable.__name__, InternalFailure.__name__}
"""Errors of a build that say something about its seal, and nothing about the stores or the snapshot."""

OnStage = Callable[[str, str | None], None]
"""Called with a seal's address and its stage as that begins, and with None when the seal is done."""


class Step(NamedTuple):
    """One seal whose outcome is known.

    Attributes
    ----------
    place
        Orders the seals, whichever came first.
    seal
        What was seen of it.
    outcome
        What became of it.
    attempted
        Whether its turn was to come, and not that it needed nothing.
    """

    place: int
    seal: DiscoveredSeal
    outcome: Outcome
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
        Told of stages, from the threads that wait for builds.

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
        self._search = Search(batch)
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
        """Why nothing can be built any more where builds were sent; None while all is well."""
        return self._executor.lost

    def set_aside(self) -> AbstractContextManager[None]:
        """Take progress off the terminal while something is printed."""
        return contextlib.nullcontext() if self._display is None else self._display.set_aside()

    def scan(self) -> list[DiscoveredSeal]:
        """Find every finished seal.

        Raises
        ------
        SettingsError
            At the first look, when nothing lies below the prefix that is searched.
        StorageUnavailable
            When the datasets root, or the place that is searched, does not answer.
        """
        seen = self._search.scan()
        self._batch.metrics.scanned()
        return seen

    def steps(self, given_up: Mapping[str, str] | None = None) -> Iterator[Step]:
        """Build what the last scan found to be due; yield every seal it saw as its outcome is known.

        Parameters
        ----------
        given_up
            Addresses of seals that are left out.

        Raises
        ------
        StorageUnavailable
            When the root does not answer before anything is built.
        """
        failures, tried = set(given_up or ()), set[str]()
        skipped: list[tuple[DiscoveredSeal, Outcome]] = []
        while not tried or self._batch.searched is not None:
            try:
                found = self._search.choose(failures)
            except StorageUnavailable as error:
                if not tried:
                    raise
                # What may take the place of a seal that failed is not known; what was to be built is reported.
                yield from self._away(skipped, failures, len(tried), error)
                return
            due = [one for one in found.due if one.address not in tried]
            skipped = found.skipped
            if not due:
                break
            waiting = set(range(len(due)))
            for place, outcome, files in self._outcomes(due):
                waiting.discard(place)
                self._search.record(due[place], outcome, files)
                if _unpublishable(outcome):
                    failures.add(due[place].address)
                yield Step(len(tried) + place, due[place], outcome, attempted=True)
            for place in sorted(waiting):
                outcome = not_started(Request(due[place].address, "").shown)
                yield Step(len(tried) + place, due[place], outcome, attempted=True)
            tried |= {one.address for one in due}
            if waiting:
                break
        for place, (one, outcome) in enumerate(skipped, start=len(tried)):
            yield Step(place, one, outcome, attempted=False)

    def _away(
        self,
        skipped: list[tuple[DiscoveredSeal, Outcome]],
        failures: set[str],
        begin: int,
        error: StorageUnavailable,
    ) -> Iterator[Step]:
        """Report seals that needed nothing, and those that waited for one of their alpha that failed."""
        lost = {one.alpha_id for one in self._search.seen if one.address in failures}
        for place, (one, known) in enumerate(skipped, start=begin):
            waited = known.kind == "superseded" and one.alpha_id in lost
            outcome = failed(Request(one.address, "").shown, error) if waited else known
            yield Step(place, one, outcome, attempted=waited)

    def _outcomes(self, due: list[DiscoveredSeal]) -> Iterator[tuple[int, Outcome, str]]:
        """Yield what became of every seal that had its turn, and the listing of its files before."""
        files: dict[str, str] = {}

        def requests() -> Iterator[Request]:
            for one in due:
                if self._batch.searched is not None:
                    # Before it is read: a file that comes while it is checked is a change to what was refused.
                    files[one.address] = file_digests_at(one.address)
                yield replace(self._batch.common, seal=one.address)

        with Display(self._batch.screen, len(due), hidden=self._batch.as_json) as display:

            def stage(request: Request, at: str | None) -> None:
                display.stage(request.shown, at)
                if self._on_stage is not None:
                    self._on_stage(request.shown, at)

            self._display = display
            stopping = self._cancellation.stopping
            for place, outcome in run(requests(), self._executor, stopping=stopping, on_stage=stage):
                display.done()
                yield place, outcome, files.get(due[place].address, "")
            self._display = None
        self._search.rebuild_index()


def _executor(batch: Batch, cancellation: Cancellation) -> AbstractContextManager[Executor]:
    """Return what builds, on this machine or on a cluster."""
    if batch.cluster is not None:
        from pipeline.batch.cluster import ClusterExecutor  # noqa: PLC0415 - an optional dependency

        return ClusterExecutor(
            batch.cluster, batch.jobs, patience=batch.cluster_seconds, stopping=cancellation.stopping
        )
    return LocalExecutor(batch.jobs or 1)


def _unpublishable(outcome: Outcome) -> bool:
    """Return whether a seal cannot be published itself, so that an earlier one is not to wait for it."""
    return outcome.kind in {"refused", "crashed"} or outcome.entry.get("error") in _ITS_OWN_FAULT
