"""Result of one seal of a batch: plain data to send between processes and machines, and its line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from datasets.provenance.archives import FAILED
from pipeline.seal.store import shown_address
from schemas.console.terminal import escape_bytes
from schemas.errors import (
    AlphaResultsError,
    ArchiveLeftOut,
    ArchiveNotDelivered,
    BuildCrashed,
    BuildNotStarted,
    InternalFailure,
    SealRefused,
)
from schemas.exit_codes import ExitCode
from schemas.instants import utc_text

SUCCESSES: Final = ("built", "unchanged", "superseded", "rolled back", "withdrawn")
"""Outcomes that are not failures; all others are."""
STILL_REFUSED: Final = "still refused"
"""Outcome of a seal that an earlier command refused."""
NOT_STARTED: Final = "not started"
"""Outcome of a seal whose batch was ended before it was built."""
_FAILURES: Final = {SealRefused: "refused", BuildCrashed: "crashed", BuildNotStarted: NOT_STARTED}
"""Error -> outcome; all other errors are ``failed``."""


@dataclass(frozen=True, slots=True)
class SealResult:
    """Outcome of one seal.

    Attributes
    ----------
    seal
        Its address, without secrets.
    outcome
        Such as ``built`` or ``refused``; docs/operations.md lists them.
    error
        The failure; None after a success, unless the source archive was not delivered.
    details
        Further fields of the report, JSON-ready: files, bytes, warnings and seconds of each stage.
    at
        Time of the result, in UTC.
    """

    seal: str
    outcome: str
    error: AlphaResultsError | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def entry(self) -> dict[str, Any]:
        """All fields of the report, JSON-ready."""
        entry = {"seal": self.seal, "outcome": self.outcome, **self.details}
        if self.error is not None and self.outcome not in SUCCESSES:
            entry["message"] = escape_bytes(str(self.error))
        if isinstance(self.error, SealRefused):
            entry["violations"] = list(self.error.violations)
        return entry

    @property
    def exit_code(self) -> int:
        """Exit code of a command that processed only this seal; 0 after a success."""
        if self.outcome == STILL_REFUSED:
            return ExitCode.STILL_REFUSED
        return ExitCode.DONE if self.error is None else self.error.exit_code

    @property
    def alpha_id(self) -> str | None:
        """The alpha, if known."""
        return self.details.get("alpha_id")

    @property
    def snapshot(self) -> str | None:
        """The served snapshot, if known."""
        return self.details.get("snapshot")

    @property
    def retryable(self) -> bool:
        """Whether the failure may pass without a change."""
        return self.error is not None and self.error.retryable

    @property
    def lapses_at(self) -> datetime | None:
        """When the refusal of a seal dated in the future lapses; None for any other result."""
        violations = self.error.violations if isinstance(self.error, SealRefused) else ()
        times = next((x["examples"] for x in violations if x["rule"] == "seal.clock"), ())
        ahead = [time["found"] for time in times if time["found"] > time["now"]]
        return datetime.fromisoformat(max(ahead)) if ahead else None

    def raise_for_failure(self) -> None:
        """Raise the :attr:`error`, if any."""
        if self.error is not None:
            raise self.error

    def to_line(self) -> dict[str, Any]:
        """Return the line of ``--json``: time, report and, for a failure, `retryable`."""
        line = {"at": utc_text(self.at, "milliseconds"), **self.entry}
        return line if self.error is None else {**line, "retryable": self.retryable}


def built(seal: str, result: Any) -> SealResult:
    """Report a successful build; `result` is a :class:`pipeline.snapshot_builder.BuildResult`."""
    seal, error = shown_address(seal), None
    if result.archive is not None and result.archive.status == FAILED:
        kind = ArchiveLeftOut if result.archive.left_out else ArchiveNotDelivered
        error = kind(f"{seal}: published, but its source archive was not delivered: {result.archive.reason}")
    return SealResult(seal, "built" if result.changed else "unchanged", error, asdict(result))


def failed(seal: str, error: AlphaResultsError, **details: Any) -> SealResult:
    """Report a build that ended with an error."""
    if isinstance(error, InternalFailure):
        details["failure"] = "internal"
    details = {"error": type(error).__name__, **details}
    return SealResult(shown_address(seal), _FAILURES.get(type(error), "failed"), error, details)


def crashed(seal: str, how: str, attempts: int) -> SealResult:
    """Report a build whose process died."""
    times = "" if attempts == 1 else f", {attempts} times in a row"
    message = f"the build's process {how}{times}; none of its output is served, and the served snapshot is unchanged"
    return failed(seal, BuildCrashed(message), attempts=attempts)


def not_started(seal: str, how: str) -> SealResult:
    """Report a seal whose batch was ended before its turn, or during its build."""
    message = f"{how}; served snapshots are complete, and another run builds the rest"
    return failed(seal, BuildNotStarted(message))
