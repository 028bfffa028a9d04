"""Runs of a batch command: once, or while watching a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.output import Output
from pipeline.batch.result import NOT_STARTED
from pipeline.batch.run import Run
from pipeline.seal.store import without_secrets
from schemas.errors import StorageUnavailable
from schemas.exit_codes import ExitCode
from schemas.terminal import echo


def build_once(batch: Batch, output: Output) -> int:
    """Build the due seals, report them, and return the exit code; raises as :class:`~pipeline.batch.run.Run` and its scan."""
    cancellation, interrupted = Cancellation(), True
    with Run(batch, cancellation, output.display.stage) as run, output.display, stoppable(cancellation):
        if not run.scan():
            echo(f"no finished seal lies below {without_secrets(batch.searched or '')}", err=True)
        output.scanned()
        for step in run.steps():
            output.add(step)
        interrupted = False
    lost = run.executor.lost
    return output.end(lost.exit_code if lost else None, interrupted=interrupted)


def follow(batch: Batch, output: Output, interval: float) -> int:
    """Search and build until a signal; return 0, or 5 if the cluster was lost.

    A refused seal is tried again when it is sealed again or its missing files arrive; a seal whose store was unavailable or
    whose process crashed, at the next scan. The scan waits for an unavailable store. Scans are `interval` seconds apart.
    """
    cancellation, away = Cancellation(), False
    given_up: dict[tuple[str, str], datetime] = {}  # address and digest -> time of its next try
    with Run(batch, cancellation, output.display.stage) as run, output.display, stoppable(cancellation):
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
                    one, result = step.seal, step.result
                    if not step.attempted or result.outcome == NOT_STARTED:
                        continue  # reported once; otherwise every scan would report it
                    output.add(step)
                    if result.outcome == "refused":
                        # Refusals are remembered, but for those of seals whose time has not come.
                        given_up[one.address, one.digest] = one.sealed_at or now
                    elif result.error is not None and not result.retryable:
                        given_up[one.address, one.digest] = datetime.max.replace(tzinfo=UTC)
            except StorageUnavailable as error:
                if not away:
                    echo(f"{error}; looking again every {interval:g} s", err=True)
                away = True
                output.scanned(worked=False)
            cancellation.wait(interval)
    lost = run.executor.lost
    return output.end(lost.exit_code if lost else ExitCode.DONE)
