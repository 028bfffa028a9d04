"""The command's side of a batch: print each seal's result as it is known, once or while following a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.report import Tally, print_line, print_result, print_summary
from pipeline.batch.result import NOT_STARTED, SUCCESSES
from pipeline.batch.run import Run, Step
from schemas.errors import StorageUnavailable
from schemas.exit_codes import ExitCode
from schemas.terminal import echo


def build_once(batch: Batch) -> int:
    """Build what is due, report it, and return the exit code.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    StorageUnavailable
        When the datasets root, or the place that is searched, does not answer.
    """
    tally, cancellation = Tally(), Cancellation()
    with Run(batch, cancellation) as run, stoppable(cancellation):
        if not run.scan():
            echo(f"no finished seal lies below {batch.shown}", err=True)
        for step in run.steps():
            _report(batch, run, step)
            tally.add(step.place, step.result)
    exit_code = run.lost.exit_code if run.lost else tally.exit_code
    if batch.as_json:
        print_summary(tally, exit_code)
    elif len(batch.seals) != 1:
        tally.print_table()
    return batch.metrics.ended(exit_code)


def follow(batch: Batch) -> int:
    """Build what is due, again and again, until a signal asks to end; return 0 then, 5 when the cluster was lost.

    A refused seal is tried again when it is sealed again, or when missing files of it arrive; one whose store was away, or
    whose process crashed, at the next scan. A store that is away is waited for.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    """
    tally, cancellation = Tally(endless=True), Cancellation()
    away: str | None = None
    with Run(batch, cancellation) as run, stoppable(cancellation):
        watched = _Watched(batch, run, tally)
        while not cancellation.stopping.is_set():
            try:
                seen = run.scan()
                if away is not None:
                    echo("the store answers again", err=True)
                    away = None
                watched.build(seen)
            except StorageUnavailable as error:
                if away is None:
                    echo(f"{error}; looking again every {batch.interval:g} s", err=True)
                away = str(error)
                batch.metrics.scanned(worked=False)
            cancellation.stopping.wait(batch.interval)
    exit_code = run.lost.exit_code if run.lost else ExitCode.DONE
    if batch.as_json:
        print_summary(tally, exit_code)
    return batch.metrics.ended(exit_code)


class _Watched:
    """State of a watcher between scans: the seals it does not retry until their manifest changes."""

    def __init__(self, batch: Batch, run: Run, tally: Tally) -> None:
        self._batch = batch
        self._run = run
        self._tally = tally
        self._given_up: dict[str, str] = {}
        self._early: dict[str, datetime] = {}

    def build(self, seen: list[DiscoveredSeal]) -> None:
        """Build and report what is due of a scan."""
        # A seal that was written again has another digest; one refused for its time may be due by now.
        now = datetime.now(UTC)
        self._given_up = {
            one.address: one.digest
            for one in seen
            if self._given_up.get(one.address) == one.digest and self._early.get(one.address, now) >= now
        }
        for step in self._run.steps(self._given_up):
            if not step.attempted or step.result.outcome == NOT_STARTED:
                continue  # a batch reports it once; a watcher would report it at every scan
            _report(self._batch, self._run, step)
            self._tally.add(step.place, step.result)
            one, result = step.seal, step.result
            if result.outcome in SUCCESSES or result.retryable:
                continue
            if result.outcome != "refused":
                self._given_up[one.address] = one.digest
            elif one.sealed_at is not None and one.sealed_at > now:
                self._given_up[one.address], self._early[one.address] = one.digest, one.sealed_at


def _report(batch: Batch, run: Run, step: Step) -> None:
    """Count and print one result; seals that need no build are left out for people."""
    result = step.result
    batch.metrics.add(result)
    if batch.as_json:
        print_line(result)
    elif result.outcome != NOT_STARTED and (
        step.attempted or batch.searched is None or result.outcome not in SUCCESSES
    ):
        with run.set_aside():
            print_result(batch.screen, result)
