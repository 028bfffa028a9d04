"""A datasets root as an analyst opens it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import polars as pl

from datasets.analysis import Alpha
from datasets.cache import DEFAULT_BYTES, Cache
from datasets.catalogue import Catalogue
from datasets.layout import ALPHAS, CATALOG, REFUSED
from datasets.storage import Storage, open_storage
from schemas.errors import AlphaNotPublished, SettingsError


class Root:
    """The alphas published under one address, as a read-only mapping from alpha id to snapshot.

    Parameters
    ----------
    storage
        The datasets root.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.catalogue = Catalogue(storage)
        self.catalogue.refresh()

    def __getitem__(self, alpha_id: str) -> Alpha:
        """Return the served snapshot of an alpha; AlphaNotPublished when there is none."""
        served = self.catalogue.resolve(alpha_id)
        if served is None:
            raise AlphaNotPublished(f"{self.storage.address} publishes no alpha {alpha_id!r}")
        return Alpha(self.storage, served.pointer)

    def __contains__(self, alpha_id: object) -> bool:
        """Whether an alpha is published."""
        return isinstance(alpha_id, str) and self.catalogue.resolve(alpha_id) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the alphas, latest started first."""
        return (pointer.alpha_id for pointer in self.catalogue.pointers())

    def __len__(self) -> int:
        """Return how many alphas are published."""
        return len(self.catalogue.pointers())

    def list(self) -> pl.DataFrame:
        """Return one row per alpha: address, name, snapshot, completeness and dates."""
        columns = (
            "alpha_id",
            "name",
            "tldr",
            "snapshot",
            "complete",
            "started_at",
            "sealed_at",
            "published_at",
        )
        rows = [[getattr(pointer, name) for name in columns] for pointer in self.catalogue.pointers()]
        schema = {name: pl.Boolean if name == "complete" else pl.String for name in columns}
        return pl.DataFrame(rows, schema=schema, orient="row")


def is_root(storage: Storage) -> bool:
    """Whether anything was ever published below an address, or refused to be; one listing.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    return not {CATALOG, ALPHAS, REFUSED}.isdisjoint(storage.folders(""))


def open_root(
    address: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int = DEFAULT_BYTES,
) -> Root:
    """Open a datasets root for reading.

    A folder in which nothing was published yet is a root without alphas.

    Parameters
    ----------
    address
        A local folder or the URL of a supported store.
    cache
        Folder for copies of a remote root's files, used from one session to the next; without one every file is
        read from the store each time. A local root needs none.
    cache_bytes
        Its largest size.

    Raises
    ------
    SettingsError
        When no file system answers to the address, the folder is not there or holds something else, or the cache folder
        cannot be used.
    StorageUnavailable
        When a remote store does not answer.
    """
    storage = open_storage(address, cache=None if cache is None else Cache(cache, cache_bytes))
    if storage.missing:
        raise SettingsError(
            f"{storage.address}: there is no such folder; give the one that `build --datasets` wrote to"
        )
    folder = storage.folder
    if folder is not None and not (folder / CATALOG).is_dir() and any(folder.iterdir()):
        raise SettingsError(f"{storage.address} holds no {CATALOG}/, so it is not a root of published alphas")
    return Root(storage)
