"""Result of one seal of a batch: plain data between processes and machines, typed for programs, and a line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from datasets.archives import FAILED
from schemas import errors
from schemas.errors import (
    AlphaResultsError,
    ArchiveNotDelivered,
    BuildCrashed,
    BuildNotStarted,
    InternalFailure,
    SealRefused,
)

SUCCESSES: Final = ("built", "unchanged", "superseded", "rolled back", "withdrawn")
"""Outcomes that are not failures; every other one is."""
NOT_STARTED: Final = "not started"
"""Outcome of a seal whose batch was ended before it was built."""


@dataclass(frozen=True, slots=True)
class SealResult:
    """Outcome of one seal.

    Attributes
    ----------
    entry
        Everything the report says of it, ready for JSON: ``seal``, ``outcome`` and, depending on that, violations,
        warnings, files, bytes and seconds of each stage.
    exit_code
        Of a command that did only this; 0 after a success.
    files
        Digest of the listing of the seal's files before they were read; empty if it was not requested.
    at
        When that was known, in UTC.
    """

    entry: Mapping[str, Any]
    exit_code: int = 0
    files: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def seal(self) -> str:
        """The seal's address, without secrets."""
        return str(self.entry["seal"])

    @property
    def outcome(self) -> str:
        """Its outcome, such as ``built`` or ``refused``; docs/operations.md lists them."""
        return str(self.entry["outcome"])

    @property
    def alpha_id(self) -> str | None:
        """The alpha, if known."""
        return self.entry.get("alpha_id")

    @property
    def snapshot(self) -> str | None:
        """The served snapshot, if known."""
        return self.entry.get("snapshot")

    @property
    def error(self) -> AlphaResultsError | None:
        """The failure, an error of the project's tree; None after a success.

        Of a seal that is published but whose source archive was not delivered it is
        :class:`~schemas.errors.ArchiveNotDelivered`.
        """
        entry = self.entry
        if self.outcome in SUCCESSES:
            archive = entry.get("archive") or {}
            if archive.get("status") != FAILED:
                return None
            return ArchiveNotDelivered(
                f"{entry['seal']}: published, but its source archive was not delivered: {archive.get('reason')}"
            )
        if self.outcome in {"refused", "still refused"}:
            return SealRefused(entry["message"], entry["violations"])
        kind = getattr(errors, str(entry.get("error")), AlphaResultsError)
        # Only errors constructed from a message; builds raise no others.
        return (kind if kind.__init__ is AlphaResultsError.__init__ else AlphaResultsError)(entry["message"])

    @property
    def retryable(self) -> bool:
        """Whether it failed and may succeed later without a change."""
        error = self.error
        return error is not None and error.retryable

    def raise_for_failure(self) -> None:
        """Raise the failure, if any.

        Raises
        ------
        AlphaResultsError
            The error of :attr:`error`: :class:`~schemas.errors.SealRefused` with the broken rules,
            :class:`~schemas.errors.StorageUnavailable` and so on.
        """
        if (error := self.error) is not None:
            raise error

    def to_line(self) -> dict[str, Any]:
        """Return the line of ``--json``: time, report and, for a failure, `retryable`."""
        line = {"at": stamp(self.at), **self.entry}
        return line if self.error is None else {**line, "retryable": self.retryable}


def stamp(moment: datetime) -> str:
    """Format an instant for JSON lines: UTC, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def built(shown: str, result: Any) -> SealResult:
    """Report a successful build; `result` is a :class:`pipeline.snapshot_builder.BuildResult`."""
    entry = {"seal": shown, "outcome": "built" if result.changed else "unchanged"} | asdict(result)
    undelivered = result.archive is not None and result.archive.status == FAILED
    return SealResult(entry, ArchiveNotDelivered.exit_code if undelivered else 0)


def failed(shown: str, error: AlphaResultsError, **replaced: Any) -> SealResult:
    """Report a refused or failed build; `replaced` are entries with other values."""
    entry: dict[str, Any] = {
        "seal": shown,
        "outcome": "failed",
        "error": type(error).__name__,
        "message": str(error),
    }
    if isinstance(error, InternalFailure):
        entry["failure"] = "internal"
    if isinstance(error, SealRefused):
        entry |= {"outcome": "refused", "violations": list(error.violations)}
    return SealResult(entry | replaced, int(error.exit_code))


def crashed(shown: str, how: str, attempts: int) -> SealResult:
    """Report a build whose process died."""
    times = "" if attempts == 1 else f", {attempts} times in a row"
    error = BuildCrashed(
        f"the build's process {how}{times}; nothing of it is served and what was served still is"
    )
    return failed(shown, error, outcome="crashed", attempts=attempts)


def not_started(shown: str, *, begun: bool = False) -> SealResult:
    """Report a seal whose batch was ended before its turn, or, if it had `begun`, during its build."""
    how = (
        "its build was ended with the batch" if begun else "the batch was ended before this seal had its turn"
    )
    error = BuildNotStarted(f"{how}; what is served is complete, and running it again builds the rest")
    return failed(shown, error, outcome=NOT_STARTED)


def skipped(shown: str, outcome: str, alpha_id: str, snapshot: str) -> SealResult:
    """Report a seal that needs no build: unchanged, superseded, rolled back, or its alpha withdrawn."""
    return SealResult(
        {"seal": shown, "outcome": outcome, "alpha_id": alpha_id, "snapshot": snapshot, "changed": False}
    )
