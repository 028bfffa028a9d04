"""The options of a batch, and the request for each of its builds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from datasets.storage import open_storage, require_supported
from pipeline.archive.exclusions import exclusions
from pipeline.folder import require_folder
from pipeline.notices.market_file import require_prices
from pipeline.seal.signature import read_keys
from pipeline.seal.store import without_secrets
from schemas.errors import SettingsError

Address: TypeAlias = "str | os.PathLike[str]"
"""A folder, or the URL of a supported store."""


@dataclass(frozen=True, slots=True)
class Request:
    """One seal to build: plain data, sent between processes and machines.

    Attributes
    ----------
    seal, root
        Where it is and where it goes. They may hold secrets, so they are never shown, nor on a command line.
    options
        Keyword arguments of :func:`pipeline.snapshot_builder.build_seal`.
    listed
        Whether the seal's files are listed before they are read, for a refusal that is to be stored.
    """

    seal: str
    root: str
    options: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = False

    @property
    def shown(self) -> str:
        """The seal's address for messages."""
        return without_secrets(self.seal)


@dataclass(frozen=True, slots=True)
class Batch:
    """The options of a batch.

    Attributes
    ----------
    root
        Of the datasets.
    options
        Of each build, as :attr:`Request.options`.
    seals
        Addresses that were named.
    searched
        Folder or prefix in which seals are looked for; None when they were named.
    jobs
        Builds at a time; None is one on this machine, and as many as there are places on a cluster.
    cluster
        Address of a Dask scheduler; None builds on this machine.
    cluster_seconds
        How long a cluster may be silent, or without workers, before the batch ends.
    recheck
        Whether seals that are remembered as refused are checked again.
    """

    root: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seals: tuple[str, ...] = ()
    searched: str | None = None
    jobs: int | None = None
    cluster: str | None = None
    cluster_seconds: float = 60.0
    recheck: bool = False


def make_batch(
    root: Address,
    option: str,
    *,
    seals: tuple[str, ...] = (),
    searched: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    cluster_seconds: float = 60.0,
    recheck: bool = False,
    seal_keys: Address | None = None,
    prices: Address | None = None,
    archives: Address | None = None,
    exclude: str | None = None,
    single_writer: bool = False,
    **switches: bool,
) -> Batch:
    """Check the options of a batch before any seal is read.

    Parameters
    ----------
    root
        Of the datasets.
    option
        Where the root came from, which messages begin with.
    exclude
        Patterns of source files, separated by commas.
    **switches
        `force` and `strict`, as :func:`pipeline.snapshot_builder.build_seal` takes them.

    Raises
    ------
    SettingsError
        When the root is no folder, a store is not supported, the file of keys or the market prices cannot be used, or options exclude each other.
    """
    if jobs is not None and jobs < 1:
        raise SettingsError(f"jobs: {jobs} is not a number of builds; give 1 or more")
    if single_writer and (cluster is not None or jobs not in {None, 1}):
        raise SettingsError("--single-writer builds one seal at a time: leave out --jobs and --cluster")
    keys = None if seal_keys is None else str(Path(seal_keys).absolute())
    if keys is not None:
        read_keys(keys)
    if prices is not None:
        prices = os.fspath(prices)
        require_prices(prices)
    fix = "give the folder to publish to, which is made if need be"
    require_folder(open_storage(root), option, fix, made=True)
    archives = None if archives is None else os.fspath(archives)
    if archives is not None:
        require_supported(archives)
    options = {
        "seal_keys": keys,
        "prices": prices,
        "archives": archives,
        "exclude": exclusions(exclude),
        "single_writer": single_writer,
        **switches,
    }
    return Batch(os.fspath(root), options, seals, searched, jobs, cluster, cluster_seconds, recheck)
