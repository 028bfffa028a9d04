"""Result of one seal of a batch, for programs: typed, and as a line of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from datasets.archives import FAILED
from pipeline.batch.request import SUCCESSES, Outcome
from schemas.errors import AlphaResultsError, ArchiveNotDelivered, SealRefused


@dataclass(frozen=True, slots=True)
class SealResult:
    """What became of one seal.

    Attributes
    ----------
    seal
        Its address, without secrets.
    outcome
        One word for it: ``built``, ``unchanged``, ``superseded``, ``rolled back``, ``withdrawn``, ``refused``,
        ``still refused``, ``failed``, ``crashed`` or ``not started``; docs/operations.md says when.
    at
        When that was known, in UTC.
    alpha_id, snapshot
        What is served; None where the outcome does not say.
    error
        What went wrong, an error of the project's tree, whose ``retryable`` says whether trying again may help; None
        when nothing did. Of a seal that is published but whose source archive was not delivered it is
        :class:`~schemas.errors.ArchiveNotDelivered`.
    exit_code
        Of a command that did only this; 0 when nothing went wrong.
    entry
        Everything the report says of it, ready for JSON: violations, warnings, files, bytes and seconds of each stage.
    """

    seal: str
    outcome: str
    at: datetime
    alpha_id: str | None
    snapshot: str | None
    error: AlphaResultsError | None
    exit_code: int
    entry: Mapping[str, Any]

    @property
    def retryable(self) -> bool:
        """Whether it failed, and the same build may succeed later without anything being changed."""
        return self.error is not None and self.error.retryable

    def raise_for_failure(self) -> None:
        """Raise what went wrong; return when nothing did.

        Raises
        ------
        AlphaResultsError
            The error of :attr:`error`: :class:`~schemas.errors.SealRefused` with the broken rules,
            :class:`~schemas.errors.StorageUnavailable` and so on.
        """
        if self.error is not None:
            raise self.error

    def to_line(self) -> dict[str, Any]:
        """Return the line of ``--json``: when, what the report says, and of a failure whether to try again."""
        line = {"at": stamp(self.at), **self.entry}
        return line if self.error is None else {**line, "retryable": self.retryable}

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> SealResult:
        """Describe an outcome that is known just now."""
        entry = outcome.entry
        return cls(
            seal=entry["seal"],
            outcome=outcome.kind,
            at=datetime.now(UTC),
            alpha_id=entry.get("alpha_id"),
            snapshot=entry.get("snapshot"),
            error=_error(outcome),
            exit_code=int(outcome.exit_code),
            entry=entry,
        )


def stamp(moment: datetime) -> str:
    """Return a moment in UTC as lines of JSON have it, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error(outcome: Outcome) -> AlphaResultsError | None:
    """Reconstruct the error that a build's process reported."""
    entry = outcome.entry
    if outcome.kind in SUCCESSES:
        archive = entry.get("archive") or {}
        if archive.get("status") != FAILED:
            return None
        return ArchiveNotDelivered(
            f"{entry['seal']}: published, but its source archive was not delivered: {archive.get('reason')}"
        )
    if outcome.kind in {"refused", "still refused"}:
        return SealRefused(entry["message"], entry["violations"])
    for kind in _tree(AlphaResultsError):
        # Only those that take a message and nothing else; no build raises another.
        if kind.__name__ == entry.get("error") and kind.__init__ is AlphaResultsError.__init__:
            return kind(entry["message"])
    return AlphaResultsError(entry["message"])


def _tree(kind: type[AlphaResultsError]) -> Iterator[type[AlphaResultsError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)
