"""The options of a batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.batch.metrics_file import MetricsFile
from pipeline.batch.request import Request
from pipeline.seal.store import without_secrets
from schemas.screen import Screen


@dataclass(frozen=True, slots=True)
class Batch:
    """The options of a batch.

    Attributes
    ----------
    common
        A request for any seal, for what all have in common.
    seals
        Addresses that were named.
    searched
        Folder or prefix in which seals are looked for; None when they were named.
    jobs
        Builds at a time; None is one on this machine, and as many as there are places on a cluster.
    cluster
        Address of a Dask scheduler; None builds on this machine.
    as_json
        Whether a program reads the output.
    metrics
        Where results are counted for the monitoring.
    interval, late_seconds
        Seconds between two scans of a watcher, and how long it tries a seal whose files come late.
    recheck
        Whether seals that are remembered as refused are checked again.
    cluster_seconds
        How long a cluster may be silent, or without workers, before the batch ends.
    """

    common: Request
    seals: tuple[str, ...] = ()
    searched: str | None = None
    jobs: int | None = None
    cluster: str | None = None
    as_json: bool = False
    metrics: MetricsFile = field(default_factory=lambda: MetricsFile(None))
    interval: float = 60.0
    late_seconds: float = 21_600.0
    recheck: bool = False
    cluster_seconds: float = 60.0
    screen: Screen = field(default_factory=lambda: Screen(stderr=True))

    @property
    def shown(self) -> str:
        """Where seals are looked for, as messages show it."""
        return without_secrets(self.searched or "")
