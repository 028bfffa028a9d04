"""One batch from end to end, and one that follows its seals without end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import click
from rich.console import Console

from datasets.catalogue import Catalogue
from datasets.storage import open_storage
from pipeline.batch.discover import Delivered, Found, Seals, Sighting, choose, named
from pipeline.batch.interruption import stoppable
from pipeline.batch.metrics_file import MetricsFile
from pipeline.batch.process import Processes
from pipeline.batch.report import Display, Tally, print_document, print_line, tell
from pipeline.batch.request import FINE, Outcome, Request
from pipeline.batch.schedule import Builder, run
from schemas.errors import StorageUnavailable

INTERRUPTED: Final = 130
"""Exit code of a batch that was asked to end before every seal had its turn, when nothing failed before."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch is told.

    Attributes
    ----------
    common
        A request for any seal, for what all have in common.
    seals
        Addresses that were named.
    searched
        Folder or prefix in which seals are looked for; None when they were named.
    jobs
        Builds at a time; None is one on this machine, and as many as there are places on a cluster.
    cluster
        Address of a Dask scheduler; None builds on this machine.
    as_json
        Whether a program reads the output.
    metrics
        Where results are counted for the monitoring.
    """

    common: Request
    seals: tuple[str, ...] = ()
    searched: str | None = None
    jobs: int | None = None
    cluster: str | None = None
    as_json: bool = False
    metrics: MetricsFile = field(default_factory=lambda: MetricsFile(None))
    screen: Console = field(default_factory=lambda: Console(stderr=True))


def build_once(batch: Batch) -> int:
    """Build what is due, report it, and return the exit code.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    StorageUnavailable
        When the datasets root, or the place that is searched, does not answer.
    """
    finder = _Finder(batch)
    tally, entries = Tally(), []
    with _builder(batch) as (builder, end, jobs), stoppable(end) as stopping:
        found = finder.look()
        batch.metrics.looked()
        for place, outcome in _outcomes(batch, found, builder, jobs, stopping):
            tally.add(place, outcome)
            batch.metrics.add(outcome)
            if batch.as_json:
                entries.append(outcome.entry)
        interrupted = sum(tally.counts.values()) < len(found.due) + len(found.settled)
    if batch.as_json:
        print_document(entries, tally.summary())
    else:
        tally.print_table()
    return batch.metrics.ended(tally.exit_code or (INTERRUPTED if interrupted else 0))


def follow(batch: Batch, seconds: float) -> int:
    """Build what is due, again and again, until a signal asks to end; return 0 then.

    A seal that failed is tried again when it is sealed anew; one whose store was away, or whose process crashed, at
    the next look. A store that is away is waited for.

    Parameters
    ----------
    seconds
        Pause between two looks.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    """
    finder = _Finder(batch)
    given_up: dict[str, str] = {}
    away: str | None = None
    with _builder(batch) as (builder, end, jobs), stoppable(end) as stopping:
        while not stopping.is_set():
            try:
                found = finder.look()
            except StorageUnavailable as error:
                if away is None:
                    click.echo(f"{error}; looking again every {seconds:g} s", err=True)
                away = str(error)
                batch.metrics.looked(worked=False)
                stopping.wait(seconds)
                continue
            batch.metrics.looked()
            if away is not None:
                click.echo("the store answers again", err=True)
                away = None
            due = [one for one in found.due if given_up.get(one.address) != one.digest]
            seen = {one.address for one in found.due}
            given_up = {address: digest for address, digest in given_up.items() if address in seen}
            for place, outcome in _outcomes(
                batch, replace(found, due=due, settled=[]), builder, jobs, stopping
            ):
                batch.metrics.add(outcome)
                if batch.as_json:
                    print_line(outcome.entry)
                if outcome.kind not in FINE and not _passing(outcome):
                    given_up[due[place].address] = due[place].digest
            stopping.wait(seconds)
    return batch.metrics.ended(0)


class _Finder:
    """Looks for what is due, and remembers what it saw."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._storage = storage = open_storage(batch.common.root, single_writer=batch.common.single_writer)
        self._catalogue = Catalogue(storage)
        self._seals = Seals(batch.searched) if batch.searched is not None else None
        self._delivered = Delivered(storage) if batch.common.archives is not None else None

    def look(self) -> Found:
        seen: list[Sighting] = named(self._batch.seals) if self._seals is None else self._seals.look()
        self._catalogue.refresh()
        if self._delivered is not None:
            self._delivered.learn(seen)
        found = choose(
            seen,
            self._catalogue,
            self._batch.common,
            searched=self._seals is not None,
            delivered=self._delivered,
        )
        if found.due:
            self._storage.require_safe_writers()  # before a process is started for any of them
        return found


def _outcomes(
    batch: Batch, found: Found, builder: Builder, jobs: int, stopping: threading.Event
) -> Iterator[tuple[int, Outcome]]:
    """Yield what became of every seal, telling people on the way; settled ones stand behind those that were built."""
    requests = [replace(batch.common, seal=one.address) for one in found.due]
    with Display(batch.screen, len(requests), hidden=batch.as_json) as display:

        def stage(request: Request, at: str | None) -> None:
            display.stage(request.shown, at)

        for place, outcome in run(requests, builder, jobs, stopping=stopping, on_stage=stage):
            display.done()
            if not batch.as_json:
                tell(batch.screen, outcome)
            yield place, outcome
    for place, outcome in enumerate(found.settled, start=len(requests)):
        if not batch.as_json and batch.searched is None:
            tell(batch.screen, outcome)
        yield place, outcome


def _builder(batch: Batch) -> AbstractContextManager[tuple[Builder, Callable[[], None], int]]:
    """Return a context manager that gives who builds, how to end that at once, and how many builds go at a time."""
    if batch.cluster is not None:
        from pipeline.batch.cluster import Cluster  # noqa: PLC0415 - an optional dependency

        return Cluster(batch.cluster, batch.jobs)
    return _here(batch.jobs or 1)


@contextmanager
def _here(jobs: int) -> Iterator[tuple[Builder, Callable[[], None], int]]:
    """Build on this machine, whose cores the builds share."""
    processes = Processes(max(1, len(os.sched_getaffinity(0)) // jobs))
    try:
        yield processes, processes.end, jobs
    finally:
        processes.end()


def _passing(outcome: Outcome) -> bool:
    """Tell whether a failure may pass by itself: the store was away, or the process crashed."""
    return outcome.kind == "crashed" or outcome.entry.get("error") == StorageUnavailable.__name__
