"""Why a figure or a block is not there, and the warnings that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from datasets.maths.withheld import Withheld
from serve.http.envelope import warning

MISSING_KIND: Final = "missing_kind"
ACCESS_LIMITED: Final = "access_limited"
BLOCK_ERROR: Final = "block_error"


@dataclass(frozen=True, slots=True)
class Absent:
    """The reason in place of a figure, a block or the data for them.

    Attributes
    ----------
    code
        Of the warning vocabulary.
    text
        One clause for readers, without a full stop.
    kind
        The kind of data concerned.
    """

    code: str
    text: str
    kind: str | None = None


FAILED: Final = Absent(BLOCK_ERROR, "an unforeseen failure while it was computed, which was logged")
"""Says nothing of the failure itself: the caller could not act on it."""


def unreadable(kind: str) -> Absent:
    """Say that published data cannot be read; which file it is stands in the log."""
    return Absent(BLOCK_ERROR, f"the published data of {kind} cannot be read for now, which was logged", kind)


def absent(withheld: Withheld) -> Absent:
    """Take over the reason of a figure that its window does not determine."""
    return Absent(withheld.reason_code, withheld.text)


class Warnings:
    """The warnings of one answer, in the order given, each of a block, a code and a kind only once."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str | None, str | None], dict[str, str]] = {}

    def add(
        self, block: str, code: str, message: str, kind: str | None = None, *, of: str | None = None
    ) -> None:
        """Warn of something about a block; where a block has several to be warned of, `of` tells them apart."""
        self._entries.setdefault((block, code, kind, of), warning(code, message, kind=kind, block=block))

    def null(self, block: str, reason: Absent) -> None:
        """Warn that a block is null."""
        self.add(block, reason.code, f"{block} is null: {reason.text}.", reason.kind)

    def withheld(self, block: str, reason: Absent) -> None:
        """Warn that statistics of a block could not be computed."""
        self.add(
            block,
            reason.code,
            f"Statistics of {block} that were not sealed are withheld: {reason.text}.",
            reason.kind,
        )

    @property
    def entries(self) -> tuple[dict[str, str], ...]:
        """What `meta.warnings` shows."""
        return tuple(self._entries.values())
