"""Result of a build, and the duration of its stages."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from datasets.provenance.archives import ArchiveState


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Result of the build of one seal.

    Attributes
    ----------
    alpha_id, snapshot
        The alpha and its served snapshot.
    changed
        False when this snapshot was already served and no file was written.
    files, bytes
        Published files, the manifest among them, and their total size; 0 without a change.
    warnings
        Warnings of the check.
    notices
        The notices that apply.
    seconds
        Stage -> wall seconds.
    archive
        State of the source archive; None when the run sealed no source or the deployment keeps no archives.
    replaced_equal
        The served snapshot that was replaced although its seal, another one, has the same `sealed_at`; None otherwise.
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
    replaced_equal: str | None = None


class Stages:
    """Times the named stages of a build and notifies a listener when one starts.

    Parameters
    ----------
    on_stage
        Called with the name of each stage as it begins.
    """

    def __init__(self, on_stage: Callable[[str], None] | None = None) -> None:
        self._on_stage = on_stage
        self.seconds: dict[str, float] = {}
        """Stage -> wall seconds, in order; repeated stages are summed."""

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a block under a name."""
        if self._on_stage is not None:
            self._on_stage(name)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
