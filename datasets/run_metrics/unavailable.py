"""Why a figure or a block is not there, and the warnings that say so."""

from __future__ import annotations

from typing import Final

from datasets.maths.unavailable import Unavailable
from schemas.warning_codes import warning

MISSING_KIND: Final = "missing_kind"
ACCESS_LIMITED: Final = "access_limited"
BLOCK_ERROR: Final = "block_error"
FAILED: Final = Unavailable(BLOCK_ERROR, "an unforeseen failure while it was computed, which was logged")
"""Says nothing of the failure itself: the caller could not act on it."""


def unreadable(kind: str) -> Unavailable:
    """Say that published data cannot be read; which file it is stands in the log."""
    return Unavailable(
        BLOCK_ERROR, f"the published data of {kind} cannot be read for now, which was logged", kind
    )


class Warnings:
    """The warnings of one answer, in the order given, each of a block, a code and a kind only once."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str | None, str | None], dict[str, str]] = {}

    def add(
        self, block: str, code: str, message: str, kind: str | None = None, *, of: str | None = None
    ) -> None:
        """Warn of something about a block; where a block has several to be warned of, `of` tells them apart."""
        self._entries.setdefault((block, code, kind, of), warning(code, message, kind=kind, block=block))

    def null(self, block: str, reason: Unavailable) -> None:
        """Warn that a block is null."""
        self.add(block, reason.code, f"{block} is null: {reason.text}.", reason.kind)

    def withheld(self, block: str, reason: Unavailable) -> None:
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
