"""The options of a batch."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from datasets.market_data.operator_files import find_files
from datasets.storage import Signature, open_storage
from pipeline.archive.exclusions import exclusions
from pipeline.folder import require_folder
from pipeline.notices.market.price_file import require_prices
from pipeline.seal.signature import read_keys
from schemas.errors import AlphaResultsError, SettingsError

Address: TypeAlias = "str | os.PathLike[str]"
"""A folder, or the URL of a supported store."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """The options of a batch, checked before any seal is read.

    Attributes
    ----------
    root
        Datasets root.
    root_option
        Option or variable that gave the root; messages begin with it.
    seals
        Addresses of the named seals.
    searched
        Folder or prefix to search for seals; None when seals are named.
    recheck
        Whether to check seals with a stored refusal again.
    jobs
        Concurrent builds; None means one on this machine, or all slots of a cluster.
    cluster
        Address of a Dask scheduler; None builds on this machine.
    cluster_seconds
        How long a cluster may be silent, or without workers, before the batch ends.
    force, strict, seal_keys, prices, archives, exclude, single_writer
        As the flags of ``build``; `exclude` holds patterns separated by commas.
    build_options
        Keyword arguments of :func:`pipeline.snapshot_builder.build_seal`: plain data, sent between processes and machines.

    Raises
    ------
    SettingsError
        When the root or the place of archives is not a folder, a store is not supported, the file of keys or the market
        prices cannot be used, or options exclude each other.
    """

    root: Address
    root_option: str = "root"
    seals: tuple[str, ...] = ()
    searched: str | None = None
    recheck: bool = False
    jobs: int | None = None
    cluster: str | None = None
    cluster_seconds: float = 60.0
    force: bool = False
    strict: bool = False
    seal_keys: Address | None = None
    prices: Address | None = None
    archives: Address | None = None
    exclude: str | None = None
    single_writer: bool = False
    build_options: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise SettingsError(f"jobs: {self.jobs} is not a number of builds; give 1 or more")
        if self.single_writer and (self.cluster is not None or self.jobs not in {None, 1}):
            raise SettingsError("--single-writer builds one seal at a time: leave out --jobs and --cluster")
        keys = None if self.seal_keys is None else str(Path(self.seal_keys).absolute())
        if keys is not None:
            read_keys(keys)
        prices = None if self.prices is None else os.fspath(self.prices)
        if prices is not None:
            require_prices(prices)
        fix = "give the folder to publish to, which is created if it does not exist"
        require_folder(open_storage(self.root), self.root_option, fix, allow_missing=True)
        archives = None if self.archives is None else os.fspath(self.archives)
        if archives is not None:
            fix = "give the folder for archives, which is created if it does not exist"
            require_folder(open_storage(archives), "--archives", fix, allow_missing=True)
        self.build_options = {
            "root": os.fspath(self.root),
            "force": self.force,
            "strict": self.strict,
            "seal_keys": keys,
            "prices": prices,
            "archives": archives,
            "exclude": exclusions(self.exclude),
            "single_writer": self.single_writer,
        }

    def operator_files(self) -> tuple[tuple[tuple[str, Signature, bool], ...], ...]:
        """Return name, signature and readability of the files of keys and of market prices; empty for files that cannot be listed.

        The value changes when an operator corrects a file that builds could not use.
        """
        addresses = (self.build_options["seal_keys"], self.build_options["prices"])
        return tuple(_files_at(address) for address in addresses if address is not None)


def _files_at(address: str) -> tuple[tuple[str, Signature, bool], ...]:
    try:
        storage = open_storage(address)
        files = find_files(storage)
    except (AlphaResultsError, OSError):
        return ()
    # A changed permission leaves the signature as it is.
    return tuple(
        (name, signature, storage.folder is None or os.access(storage.url(name), os.R_OK))
        for name, signature in files.items()
    )
