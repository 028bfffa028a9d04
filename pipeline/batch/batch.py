"""The options of a batch, and what the requests of its seals share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from datasets.storage import open_storage, require_supported
from pipeline.batch.metrics_file import MetricsFile
from pipeline.batch.request import Request
from pipeline.folder import require_folder
from pipeline.seal.signature import read_keys
from pipeline.seal.store import without_secrets
from schemas.screen import Screen


@dataclass(frozen=True, slots=True)
class Batch:
    """The options of a batch.

    Attributes
    ----------
    common
        A request without a seal: what the requests of all seals share.
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


def checked(request: Request, option: str) -> Request:
    """Check what the requests of all seals share, before any of them is read; return it with an absolute path of the keys.

    Parameters
    ----------
    option
        Where the datasets root came from, which messages begin with.

    Raises
    ------
    SettingsError
        When the root is no folder, a store is not supported, or the file of keys cannot be used.
    """
    keys = None if request.seal_keys is None else str(Path(request.seal_keys).absolute())
    if keys is not None:
        read_keys(keys)
    fix = "give the folder to publish to, which is made if need be"
    require_folder(open_storage(request.root), option, fix, made=True)
    if request.archives is not None:
        require_supported(request.archives)
    return replace(request, seal_keys=keys)
