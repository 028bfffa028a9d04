"""Pointers to snapshots that do not exist, for large catalogues."""

from __future__ import annotations

from typing import Final

from datasets.pointer import Earlier, Pointer

WORDS: Final = ("momentum", "reversal", "quality", "value", "carry", "seasonality", "drift", "breadth")


def synthetic_pointer(number: int) -> Pointer:
    """Return a pointer of typical length to a snapshot that does not exist."""
    word, day = WORDS[number % len(WORDS)], f"2025-01-{number % 28 + 1:02d}"
    return Pointer(
        alpha_id=f"Test_{word}_{number:05d}",
        snapshot=f"{number:020x}",
        manifest_sha256="0" * 64,
        name=f"{word.title()} number {number}",
        tldr=f"A synthetic alpha on {word} with enough of a summary to be as long as most of them are.",
        complete=True,
        missing=(),
        started_at=f"{day}T00:00:00Z",
        sealed_at=f"{day}T01:00:00Z",
        published_at="2025-02-01T00:00:00Z",
        first_published_at="2025-02-01T00:00:00Z",
        kinds=("description", "rebalances", "decisions"),
        earlier={f"{number + 1:020x}": Earlier("2025-01-30T00:00:00Z", "2025-01-31T00:00:00Z", "0" * 64)},
    )
