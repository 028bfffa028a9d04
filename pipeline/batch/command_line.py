"""Runs of a batch command: once, or while watching a folder."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.output import Output
from pipeline.batch.result import NOT_STARTED
from pipeline.batch.run import UNPUBLISHABLE, Run
from pipeline.seal.store import without_secrets
from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.exit_codes import ExitCode


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

    A refused seal is built again once it is resealed or its missing files arrive. After an unavailable store or a crashed
    process, the next scan builds the seal again; after an error of the files of keys or market prices, the first scan that
    finds them changed. An unavailable store does not end the loop; when it is back, every seal that failed is built again.
    `interval` is the seconds between scans.
    """
    cancellation, unavailable = Cancellation(), False
    retry_at: dict[tuple[str, str], datetime] = {}  # address and digest -> earliest next build
    failed = _Failed(batch)
    with Run(batch, cancellation, output.display.stage) as run, output.display, stoppable(cancellation):
        while not cancellation.stopping:
            try:
                seen = run.scan()
                output.scanned()
                if unavailable:
                    echo("the store answers again", err=True)
                    unavailable = False
                    retry_at.clear()  # a seal may have failed because its store was going away
                failed.refresh()
                now = datetime.now(UTC)
                left_out = [s.address for s in seen if retry_at.get((s.address, s.digest), now) > now]
                held = [seal.address for seal in seen if seal in failed]
                for step in run.steps(left_out, held):
                    seal, result = step.seal, step.result
                    if not step.attempted or result.outcome == NOT_STARTED:
                        continue  # reported once; otherwise every scan would report it
                    output.add(step)
                    if result.outcome == "refused":
                        # Refusals are stored, except those of seals dated in the future.
                        retry_at[seal.address, seal.digest] = seal.sealed_at or now
                    elif isinstance(result.error, UNPUBLISHABLE) and not result.retryable:
                        retry_at[seal.address, seal.digest] = datetime.max.replace(tzinfo=UTC)
                    elif result.error is not None and not result.retryable:
                        failed.add(seal, result.error)
            except StorageUnavailable as error:
                if not unavailable:
                    echo(f"{error}; looking again every {interval:g} s", err=True)
                unavailable = True
                output.scanned(worked=False)
            cancellation.wait(interval)
    lost = run.executor.lost
    return output.end(lost.exit_code if lost else ExitCode.DONE)


class _Failed:
    """Seals whose builds failed for reasons outside them, so that no earlier seal may take their place."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._operator_files = batch.operator_files()
        self._by_seal: dict[tuple[str, str], AlphaResultsError] = {}

    def __contains__(self, seal: DiscoveredSeal) -> bool:
        return (seal.address, seal.digest) in self._by_seal

    def refresh(self) -> None:
        """Forget the seals that failed by a file of keys or prices, if one has changed.

        Called before the builds, so that a correction during a build counts as a change.
        """
        before, self._operator_files = self._operator_files, self._batch.operator_files()
        if self._operator_files != before:
            self._by_seal = {
                seal: error for seal, error in self._by_seal.items() if not isinstance(error, SettingsError)
            }

    def add(self, seal: DiscoveredSeal, error: AlphaResultsError) -> None:
        """Remember a failed seal."""
        self._by_seal[seal.address, seal.digest] = error
