"""The command's side of a batch: print each seal's outcome as it is known, once or while following a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.interruption import stoppable
from pipeline.batch.report import Tally, print_line, print_outcome, print_summary
from pipeline.batch.request import NOT_STARTED, SUCCESSES
from pipeline.batch.result import SealResult
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
            tally.add(step.place, step.outcome)
    exit_code = run.lost.exit_code if run.lost else tally.exit_code
    if batch.as_json:
        print_summary(tally, exit_code)
    else:
        tally.print_table()
    return batch.metrics.ended(exit_code)


def follow(batch: Batch) -> int:
    """Build what is due, again and again, until a signal asks to end; return 0 then, 5 when the cluster was lost.

    A seal that was refused is tried again when it is sealed anew, or when files of it come that were not there; one
    whose store was away, or whose process crashed, at the next look. A store that is away is waited for.

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
        """Build and report what is due of a look."""
        # What is sealed anew has another digest; what was refused for its time may be right by now.
        now = datetime.now(UTC)
        self._given_up = {
            one.address: one.digest
            for one in seen
            if self._given_up.get(one.address) == one.digest and self._early.get(one.address, now) >= now
        }
        for step in self._run.steps(self._given_up):
            if not step.attempted or step.outcome.kind == NOT_STARTED:
                continue  # a batch says it once; whoever looks every minute would say it every minute
            _report(self._batch, self._run, step)
            self._tally.add(step.place, step.outcome)
            one, outcome = step.seal, step.outcome
            if outcome.kind in SUCCESSES or SealResult.from_outcome(outcome).retryable:
                continue
            if outcome.kind != "refused":
                self._given_up[one.address] = one.digest
            elif one.sealed_at is not None and one.sealed_at > now:
                self._given_up[one.address], self._early[one.address] = one.digest, one.sealed_at


def _report(batch: Batch, run: Run, step: Step) -> None:
    """Count and print one outcome; seals that need no work are left out for people."""
    outcome = step.outcome
    batch.metrics.add(outcome)
    if batch.as_json:
        print_line(SealResult.from_outcome(outcome))
    elif outcome.kind != NOT_STARTED and (
        step.attempted or batch.searched is None or outcome.kind not in SUCCESSES
    ):
        with run.set_aside():
            print_outcome(batch.screen, outcome)
