"""The options of a batch, and what the requests of its seals share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from datasets.storage import open_storage, require_supported
from pipeline.archive.exclusions import exclusions
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


def common_request(
    root: str,
    option: str,
    *,
    force: bool,
    archives: str | None,
    exclude: str | None,
    single_writer: bool,
    strict: bool,
    seal_keys: str | None,
) -> Request:
    """Check the options that all seals share, and return them as a request without a seal.

    Parameters
    ----------
    root, option
        The datasets root, and the option it came from, which messages begin with.
    exclude
        Patterns separated by commas.
    seal_keys
        File of the teams' keys.

    Raises
    ------
    SettingsError
        When the root is no folder, a store is not supported, or a pattern or the file of keys cannot be used.
    """
    patterns = exclusions(exclude)
    keys = None if seal_keys is None else str(Path(seal_keys).absolute())
    if keys is not None:
        read_keys(keys)
    require_folder(
        open_storage(root), option, "give the folder to publish to, which is made if need be", made=True
    )
    if archives is not None:
        require_supported(archives)
    return Request("", root, force, archives, patterns, single_writer, strict, keys)
