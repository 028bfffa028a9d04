"""Request and outcome of one build: plain data that goes between processes and machines."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from typing import Any, Final

from datasets.archives import FAILED
from pipeline.seal.store import printable, without_secrets
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
class Request:
    """One seal to build.

    Attributes
    ----------
    seal, root
        Where it is and where it goes. They may hold secrets, so they are never shown, nor on a command line.
    force, archives, exclude, single_writer, strict, seal_keys
        As :func:`pipeline.snapshot_builder.build_seal` takes them.
    """

    seal: str
    root: str
    force: bool = False
    archives: str | None = None
    exclude: tuple[str, ...] = ()
    single_writer: bool = False
    strict: bool = False
    seal_keys: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the request as a JSON-ready mapping."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Request:
        """Read a request back."""
        return cls(**{**values, "exclude": tuple(values["exclude"])})

    @property
    def shown(self) -> str:
        """The seal's address as messages show it."""
        return without_secrets(self.seal)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one seal.

    Attributes
    ----------
    entry
        Its entry of the report: ``seal``, ``outcome`` and, depending on that, what was built or what went wrong.
    exit_code
        Of a command that did only this; 0 when it is not a failure.
    """

    entry: dict[str, Any]
    exit_code: int = 0

    @property
    def kind(self) -> str:
        """One word for what became of it."""
        return str(self.entry["outcome"])


def built(shown: str, result: Any) -> Outcome:
    """Report a build that ended well; `result` is a :class:`pipeline.snapshot_builder.BuildResult`."""
    entry = {"seal": shown, "outcome": "built" if result.changed else "unchanged"} | asdict(result)
    undelivered = result.archive is not None and result.archive.status == FAILED
    return Outcome(entry, ArchiveNotDelivered.exit_code if undelivered else 0)


def failed(shown: str, error: AlphaResultsError) -> Outcome:
    """Report a build that was refused or could not be made."""
    entry: dict[str, Any] = {
        "seal": shown,
        "outcome": "failed",
        "error": type(error).__name__,
        "message": printable(str(error)),
    }
    if isinstance(error, InternalFailure):
        entry["failure"] = "internal"
    if isinstance(error, SealRefused):
        entry |= {"outcome": "refused", "violations": list(error.violations)}
    return Outcome(entry, error.exit_code)


def crashed(shown: str, how: str, attempts: int) -> Outcome:
    """Outcome of a build whose process died."""
    times = "" if attempts == 1 else f", {attempts} times in a row"
    error = BuildCrashed(
        f"the build's process {how}{times}; nothing of it is served and what was served still is"
    )
    found = failed(shown, error)
    return Outcome({**found.entry, "outcome": "crashed", "attempts": attempts}, found.exit_code)


def not_started(shown: str) -> Outcome:
    """Report a seal that a batch did not come to before it was ended."""
    error = BuildNotStarted("the batch was ended before this seal had its turn; run it again")
    found = failed(shown, error)
    return Outcome({**found.entry, "outcome": NOT_STARTED}, found.exit_code)


def interrupted(shown: str) -> Outcome:
    """Report a seal that was being built when its batch was ended at once."""
    error = BuildNotStarted(
        "its build was ended with the batch; what is served is whole, and running it again builds the rest"
    )
    found = failed(shown, error)
    return Outcome({**found.entry, "outcome": NOT_STARTED}, found.exit_code)


def skipped(shown: str, kind: str, alpha_id: str, snapshot: str) -> Outcome:
    """Report a seal that nothing had to be done for: unchanged, superseded, rolled back, or its alpha withdrawn."""
    return Outcome(
        {"seal": shown, "outcome": kind, "alpha_id": alpha_id, "snapshot": snapshot, "changed": False}
    )


def ending(returncode: int) -> str:
    """Describe how a process ended: signal or exit code."""
    if returncode >= 0:
        return f"ended with code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"
