"""Result of a build."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from datasets.archives import ArchiveState


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Result of the build of one seal.

    Attributes
    ----------
    alpha_id, snapshot
        What is served now.
    changed
        False when this very snapshot was served already and nothing was written.
    files, bytes
        Published files and their total size; 0 when nothing changed.
    warnings
        What the rule check noticed without refusing the seal.
    notices
        The notices that are given.
    seconds
        Stage -> wall seconds.
    archive
        State of the source archive; None when the run sealed no source or there is no place for archives.
    """

    alpha_id: str
    snapshot: str
    changed: bool
    files: int = 0
    bytes: int = 0
    warnings: tuple[dict[str, Any], ...] = ()
    notices: tuple[dict[str, Any], ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    archive: ArchiveState | None = None
