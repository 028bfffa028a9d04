"""Runs of a batch command: once, or while watching a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.discover import DiscoveredSeal
from pipeline.batch.output import Output
from pipeline.batch.result import NOT_STARTED
from pipeline.batch.run import UNPUBLISHABLE, BatchRun
from pipeline.seal.store import shown_address
from schemas.console.terminal import echo
from schemas.errors import SettingsError, StorageUnavailable
from schemas.exit_codes import ExitCode

_SealKey: TypeAlias = tuple[str, str]
"""Address and digest of a seal."""


def build_once(batch: Batch, output: Output) -> int:
    """Build the due seals, report them, and return the exit code; raises as :class:`~pipeline.batch.run.BatchRun` and its scan."""
    cancellation, interrupted = Cancellation(), True
    with BatchRun(batch, cancellation, output.display.stage) as run, output.display, stoppable(cancellation):
        if not run.scan():
            echo(f"no finished seal lies below {shown_address(batch.searched or '')}", err=True)
        output.scanned()
        for step in run.steps():
            output.add(step)
        interrupted = False
    lost = run.executor.lost or run.disk_full
    return output.end(lost.exit_code if lost else None, interrupted=interrupted)


def follow(batch: Batch, output: Output, interval: float) -> int:
    """Search and build until a signal; return 0, or 5 if the cluster was lost.

    A refused seal is built again once it is resealed or its missing files arrive. After an unavailable store, a full disk or a
    crashed process, the next scan builds the seal again; after an error in the file of keys or of market prices, the seal is
    built again once that file changes. An unavailable store does not end the loop; when it is back, every seal that failed is
    built again. `interval` is in seconds, between two scans.
    """
    cancellation, unavailable = Cancellation(), False
    # Earliest next build of a seal; until then an earlier seal of the alpha may take its place.
    retry_at: dict[_SealKey, datetime] = {}
    # Seals that failed for another reason, with the files of keys and prices if these were at fault, else None. No earlier
    # seal takes their place.
    failed: dict[_SealKey, Any] = {}
    with BatchRun(batch, cancellation, output.display.stage) as run, output.display, stoppable(cancellation):
        while not cancellation.stopping:
            try:
                seen = run.scan()
                output.scanned()
                if unavailable:
                    echo("the store answers again", err=True)
                    unavailable = False
                    retry_at.clear()  # a seal may have failed because its store was going away
                files = batch.operator_files()  # before the builds, so that a correction during one counts
                now = datetime.now(UTC)
                left_out = [seal.address for seal in seen if retry_at.get(_key(seal), now) > now]
                held = [s.address for s in seen if _key(s) in failed and failed[_key(s)] in (None, files)]
                for step in run.steps(left_out, held):
                    seal, result = _key(step.seal), step.result
                    if not step.attempted or result.outcome == NOT_STARTED:
                        continue  # reported once; otherwise every scan would report it
                    output.add(step)
                    if result.outcome == "refused":
                        # Refusals are stored, except those that lapse.
                        retry_at[seal] = result.lapses_at or now
                    elif isinstance(result.error, UNPUBLISHABLE) and not result.retryable:
                        retry_at[seal] = datetime.max.replace(tzinfo=UTC)
                    elif result.error is not None and not result.retryable:
                        failed[seal] = files if isinstance(result.error, SettingsError) else None
            except StorageUnavailable as error:
                if not unavailable:
                    echo(f"{error}; looking again every {interval:g} s", err=True)
                unavailable = True
                output.scanned(worked=False)
            cancellation.wait(interval)
    lost = run.executor.lost
    return output.end(lost.exit_code if lost else ExitCode.DONE)


def _key(seal: DiscoveredSeal) -> _SealKey:
    return seal.address, seal.digest
