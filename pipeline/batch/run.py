"""One batch from end to end, and one that follows its seals without end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pipeline.batch.batch import Batch
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.interruption import stoppable
from pipeline.batch.process import Processes
from pipeline.batch.refusals import file_digests_at
from pipeline.batch.report import Display, Tally, print_document, print_line, tell
from pipeline.batch.request import SUCCESSES, Outcome, Request
from pipeline.batch.schedule import Builder, run
from pipeline.batch.search import Search
from schemas.errors import InternalFailure, SealUnreadable, StorageUnavailable
from schemas.terminal import echo

INTERRUPTED: Final = 130
"""Exit code of a batch that was asked to end before every seal had its turn, when nothing failed before."""
_ITS_OWN_FAULT: Final = {SealUnreadable.__name__, InternalFailure.__name__}
"""Errors of a build that say something about its seal, and nothing about the stores or the snapshot."""


def build_once(batch: Batch) -> int:
    """Build what is due, report it, and return the exit code.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    StorageUnavailable
        When the datasets root, or the place that is searched, does not answer.
    """
    search = Search(batch)
    tally, entries = Tally(), []
    rounds = _Rounds(batch, search)
    stopping = threading.Event()
    with _builder(batch, stopping) as (builder, end, jobs), stoppable(end, stopping):
        seen = search.scan()
        batch.metrics.looked()
        if not seen:
            echo(f"no finished seal lies below {batch.shown}", err=True)
        for place, _, outcome in rounds.built(builder, jobs, stopping, {}):
            tally.add(place, outcome)
            batch.metrics.add(outcome)
            if batch.as_json:
                entries.append(outcome.entry)
        for place, outcome in enumerate(rounds.skipped, start=len(seen)):
            if not batch.as_json and (batch.searched is None or outcome.kind not in SUCCESSES):
                tell(batch.screen, outcome)
            tally.add(place, outcome)
            batch.metrics.add(outcome)
            if batch.as_json:
                entries.append(outcome.entry)
    if batch.as_json:
        print_document(entries, tally.summary())
    else:
        tally.print_table()
    if builder.lost is not None:
        return batch.metrics.ended(StorageUnavailable.exit_code)
    return batch.metrics.ended(tally.exit_code or (INTERRUPTED if rounds.interrupted else 0))


def follow(batch: Batch) -> int:
    """Build what is due, again and again, until a signal asks to end; return 0 then, 5 when the cluster was lost.

    A seal that was refused is tried again when it is sealed anew, or when files of it come that were not there; one
    whose store was away, or whose process crashed, at the next look. A store that is away is waited for.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    """
    search = Search(batch)
    given_up: dict[str, str] = {}
    early: dict[str, datetime] = {}
    away: str | None = None
    stopping = threading.Event()
    with _builder(batch, stopping) as (builder, end, jobs), stoppable(end, stopping):
        while not stopping.is_set():
            try:
                seen = search.scan()
                batch.metrics.looked()
                if away is not None:
                    echo("the store answers again", err=True)
                    away = None
                # What is sealed anew has another digest; what was refused for its time may be right by now.
                now = datetime.now(UTC)
                given_up = {
                    one.address: one.digest
                    for one in seen
                    if given_up.get(one.address) == one.digest and early.get(one.address, now) >= now
                }
                for _, one, outcome in _Rounds(batch, search).built(builder, jobs, stopping, given_up):
                    batch.metrics.add(outcome)
                    if batch.as_json:
                        print_line(outcome.entry)
                    if outcome.kind in SUCCESSES or _passing(outcome):
                        continue
                    if outcome.kind != "refused":
                        given_up[one.address] = one.digest
                    elif one.sealed_at is not None and one.sealed_at > now:
                        given_up[one.address], early[one.address] = one.digest, one.sealed_at
            except StorageUnavailable as error:
                if away is None:
                    echo(f"{error}; looking again every {batch.interval:g} s", err=True)
                away = str(error)
                batch.metrics.looked(worked=False)
            stopping.wait(batch.interval)
    return batch.metrics.ended(0 if builder.lost is None else StorageUnavailable.exit_code)


class _Rounds:
    """Builds what one look found, and in place of what cannot be published the latest seal that can.

    Attributes
    ----------
    skipped
        Outcomes of seals that needed no build, known once the builds are done.
    interrupted
        Whether a signal left seals unbuilt.
    """

    def __init__(self, batch: Batch, search: Search) -> None:
        self._batch = batch
        self._search = search
        self.skipped: list[Outcome] = []
        self.interrupted = False

    def built(
        self, builder: Builder, jobs: int, stopping: threading.Event, given_up: dict[str, str]
    ) -> Iterator[tuple[int, DiscoveredSeal, Outcome]]:
        """Yield each build with its place and outcome as it ends; seals at the addresses given up are not built."""
        failed, tried = set(given_up), set[str]()
        while True:
            found = self._search.choose(failed)
            due = [one for one in found.due if one.address not in tried]
            self.skipped = found.skipped
            if not due:
                return
            ended = 0
            for place, outcome, files in _outcomes(self._batch, due, builder, jobs, stopping):
                ended += 1
                self._search.learn(due[place], outcome, files)
                if _unpublishable(outcome):
                    failed.add(due[place].address)
                yield len(tried) + place, due[place], outcome
            tried |= {one.address for one in due}
            if ended < len(due):
                self.interrupted = True
                return
            if self._batch.searched is None:
                return


def _outcomes(
    batch: Batch, due: list[DiscoveredSeal], builder: Builder, jobs: int, stopping: threading.Event
) -> Iterator[tuple[int, Outcome, str]]:
    """Yield what became of every seal, and the listing of its files before, telling people on the way."""
    files: dict[str, str] = {}

    def requests() -> Iterator[Request]:
        for one in due:
            if batch.searched is not None:
                # Before it is read: a file that comes while it is checked is a change to what was refused.
                files[one.address] = file_digests_at(one.address)
            yield replace(batch.common, seal=one.address)

    with Display(batch.screen, len(due), hidden=batch.as_json) as display:

        def stage(request: Request, at: str | None) -> None:
            display.stage(request.shown, at)

        for place, outcome in run(requests(), builder, jobs, stopping=stopping, on_stage=stage):
            display.done()
            if not batch.as_json:
                with display.set_aside():
                    tell(batch.screen, outcome)
            yield place, outcome, files.get(due[place].address, "")


def _builder(
    batch: Batch, stopping: threading.Event
) -> AbstractContextManager[tuple[Builder, Callable[[], None], int]]:
    """Return a context manager that gives who builds, how to end that at once, and how many builds go at a time."""
    if batch.cluster is not None:
        from pipeline.batch.cluster import Cluster  # noqa: PLC0415 - an optional dependency

        return Cluster(batch.cluster, batch.jobs, patience=batch.cluster_seconds, stopping=stopping)
    return _here(batch.jobs or 1)


@contextmanager
def _here(jobs: int) -> Iterator[tuple[Builder, Callable[[], None], int]]:
    """Build on this machine, whose cores the builds share."""
    processes = Processes(max(1, len(os.sched_getaffinity(0)) // jobs), forked=True)
    try:
        yield processes, processes.end, jobs
    finally:
        processes.end()


def _unpublishable(outcome: Outcome) -> bool:
    """Return whether a seal cannot be published itself, so that an earlier one is not to wait for it."""
    return outcome.kind in {"refused", "crashed"} or outcome.entry.get("error") in _ITS_OWN_FAULT


def _passing(outcome: Outcome) -> bool:
    """Return whether a failure may pass by itself: the store was away, or the process crashed."""
    return outcome.kind == "crashed" or outcome.entry.get("error") == StorageUnavailable.__name__
