"""Runs of a batch command: once, or while watching a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.output import Output
from pipeline.batch.result import NOT_STARTED, SUCCESSES
from pipeline.batch.run import Run, Step
from pipeline.seal.store import without_secrets
from schemas.errors import StorageUnavailable
from schemas.exit_codes import ExitCode
from schemas.terminal import echo


def build_once(batch: Batch, output: Output) -> int:
    """Build the due seals, report them, and return the exit code.

    Raises
    ------
    SettingsError
        When an address is invalid.
    StorageUnavailable
        When the datasets root, or the place that is searched, does not answer.
    """
    cancellation, interrupted = Cancellation(), True
    with _run(batch, cancellation, output) as run, output.display, stoppable(cancellation):
        if not run.scan():
            echo(f"no finished seal lies below {without_secrets(batch.searched or '')}", err=True)
        output.scanned()
        for step in run.steps():
            output.add(step)
        interrupted = False
    return output.end(run.lost.exit_code if run.lost else None, interrupted=interrupted)


def follow(batch: Batch, output: Output, interval: float) -> int:
    """Search and build until a signal; return 0, or 5 if the cluster was lost.

    A refused seal is tried again when it is sealed again or its missing files arrive; a seal whose store was unavailable or
    whose process crashed, at the next scan. The scan waits for an unavailable store.

    Parameters
    ----------
    interval
        Seconds between two scans.

    Raises
    ------
    SettingsError
        When an address is invalid.
    """
    cancellation, away = Cancellation(), False
    given_up: dict[tuple[str, str], datetime] = {}  # address and digest -> time of its next try
    with _run(batch, cancellation, output) as run, output.display, stoppable(cancellation):
        while not cancellation.stopping:
            try:
                seen = run.scan()
                output.scanned()
                if away:
                    echo("the store answers again", err=True)
                    away = False
                now = datetime.now(UTC)
                left_out = [one.address for one in seen if given_up.get((one.address, one.digest), now) > now]
                for step in run.steps(left_out):
                    if not step.attempted or step.result.outcome == NOT_STARTED:
                        continue  # reported once; otherwise every scan would report it
                    output.add(step)
                    if (until := _given_up_until(step, now)) is not None:
                        given_up[step.seal.address, step.seal.digest] = until
            except StorageUnavailable as error:
                if not away:
                    echo(f"{error}; looking again every {interval:g} s", err=True)
                away = True
                output.scanned(worked=False)
            cancellation.wait(interval)
    return output.end(run.lost.exit_code if run.lost else ExitCode.DONE)


def _run(batch: Batch, cancellation: Cancellation, output: Output) -> Run:
    def stage(seal: str, at: str | None) -> None:
        output.display.stage(seal, at, run.due)

    run = Run(batch, cancellation, stage)
    return run


def _given_up_until(step: Step, now: datetime) -> datetime | None:
    """Return when a seal that failed is tried again unless it is sealed anew; None when the next scan may choose it.

    Refusals are remembered by the scan, but for those of seals whose time has not come.
    """
    result = step.result
    if result.outcome in SUCCESSES or result.retryable:
        return None
    if result.outcome != "refused":
        return datetime.max.replace(tzinfo=UTC)
    return step.seal.sealed_at if step.seal.sealed_at is not None and step.seal.sealed_at > now else None
