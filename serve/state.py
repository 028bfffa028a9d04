"""Stores, caches and threads of one serving process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from datasets.storage import Storage, open_storage
from datasets.storage.cache import Cache
from datasets.storage.file_digests import DIGESTS
from schemas.errors import SettingsError
from schemas.project import project_version
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.cache import LISTING, ROWS, SnapshotKey, cache_bytes, make_caches
from serve.compute import CURRENT_REQUEST, REASONS, ComputeQueue
from serve.downloads.archives import SourceArchives
from serve.downloads.files import TableViews
from serve.downloads.links import checked_url, open_signer
from serve.followed_catalogue import FollowedCatalogue
from serve.market_data.operator_files import MarketData, factor_files
from serve.observability.damage import Damage
from serve.observability.health import Components
from serve.pages.books import list_books
from serve.pages.duckdb import Engine
from serve.pages.equity import curve_page
from serve.pages.listing import list_alphas
from serve.pages.query import PageResult, PageWork
from serve.pages.row_folder import open_folder
from serve.pages.symbols import RunSymbols
from serve.pages.tables import RowTables, TablePages
from serve.research.neighbours import ReturnsStores
from serve.settings import Settings


class ServerState:
    """The open components of a serving process, as an async context manager.

    Parameters
    ----------
    settings
        Settings of the program.
    access_settings
        Settings of keys, accounts and limits.

    Raises
    ------
    SettingsError
        When no file system supports an address, a remote root has no cache, or a public endpoint is not a URL.
    """

    access: Authenticator
    components: Components

    def __init__(self, settings: Settings, access_settings: AccessSettings) -> None:
        self.settings = settings
        self.access_settings = access_settings
        self.build = settings.build or project_version()
        DIGESTS.trust(settings.verify_seconds)
        storage = open_datasets(settings)
        self.cache = storage.cache
        self.snapshots = FollowedCatalogue(
            storage, settings.refresh_seconds, self._catalogue_changed, settings.list_seconds
        )
        self.damage = Damage(storage, self.snapshots)
        self.engine = Engine()
        self.caches = caches = make_caches(cache_bytes(settings.memory_bytes, settings.workers))
        self.bodies = caches["bodies"]
        """Cache of encoded bodies."""
        rows = _folder(settings, settings.rows, "rows")
        folder = open_folder(rows, settings.rows_bytes, storage.identity) if settings.rows_bytes else None
        self.row_tables = RowTables(self.engine, caches[ROWS], self._is_served, folder)
        symbols = RunSymbols(self.engine, caches["symbols"])
        self.pages: Mapping[str, Callable[[Any, Any], PageResult | PageWork]] = {
            "tables": TablePages(self.engine, self.row_tables, caches["rebalances"], symbols).page,
            "curves": partial(curve_page, caches["ledgers"]),
            "books": list_books,
            "alphas": list_alphas,
        }
        """Source of pages -> its function, which takes a query, and the snapshot or the list that it is about."""
        returns = _folder(settings, settings.neighbours, "returns")
        self.neighbours = ReturnsStores(self.snapshots, returns, storage.identity, self.damage.note)
        self.market_data = MarketData(settings.market_data)
        self.factors = factor_files(settings.factors)
        self.source_downloads = SourceArchives(storage, settings.archives, settings.archives_public_endpoint)
        endpoint = checked_url(settings.datasets_public_endpoint, "ALPHA_RESULTS_DATASETS_PUBLIC_ENDPOINT")
        self.table_signer = open_signer(settings.datasets, "datasets", endpoint)
        self.public_url = checked_url(settings.public_url, "ALPHA_RESULTS_PUBLIC_URL")
        self.table_views = TableViews()
        threads = settings.threads or len(os.sched_getaffinity(0))
        self.computing = ComputeQueue(
            threads, settings.max_waiting_answers, settings.max_wait_seconds, self._note_damage
        )
        self.compute = self.computing.run
        """Runs work on a compute thread, in the turn of the current request's key."""

    async def __aenter__(self) -> Self:
        """Open the access store and start following the catalogue."""
        self.access = await Authenticator.open(self.access_settings)
        await asyncio.to_thread(self.snapshots.start)
        self.market_data.start()
        self.factors.start()
        files = (self.market_data, self.factors)
        self.components = Components(self.access, self.snapshots, self.damage, self.cache, files)
        await self.components.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for running computations, then close all components."""
        await asyncio.to_thread(self.neighbours.close)
        await self.components.stop()
        await asyncio.to_thread(self.snapshots.stop)
        await self.market_data.close()
        await self.factors.close()
        await asyncio.to_thread(self.row_tables.close)
        await asyncio.to_thread(self.computing.close)
        self.table_views.close()
        self.engine.close()
        await self.access.close()

    def _catalogue_changed(self) -> None:
        """Drop cached entries of snapshots that are no longer served."""
        self.row_tables.drop_unserved()
        for cache in self.caches.values():
            cache.remove_if(lambda owner, _: not self._is_served(owner))
        self.damage.drop_unserved()
        self.neighbours.catalogue_changed()

    def _note_damage(self, error: BaseException) -> None:
        """Record damage that the current request met, for the health of the service."""
        snapshot = getattr(CURRENT_REQUEST.get(), "snapshot", None)
        self.damage.note(None if snapshot is None else snapshot.pointer, error)

    def _is_served(self, owner: SnapshotKey) -> bool:
        alpha_id, edition = owner
        if alpha_id == LISTING:
            return edition == self.snapshots.listing.edition
        served = self.snapshots.resolve(alpha_id)
        return served is not None and served.id == edition


def sampled_values(service: ServerState, in_flight: int) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield the values of `serve.observability.metrics.SAMPLED`."""
    yield "requests_in_flight", (), in_flight
    snapshots, computing = service.snapshots, service.computing
    yield "compute_waiting", (), computing.waiting
    yield "compute_running", (), computing.running
    yield from (("compute_refused", (reason,), computing.refused[reason]) for reason in REASONS)
    yield "catalogue_age_seconds", (), snapshots.age
    yield "catalogue_alphas", (), len(snapshots.listing.pointers)
    yield "catalogue_unreadable", (), len(snapshots.broken)
    yield "snapshots_damaged", (), len(service.damage.alphas)
    yield from (("component_state", (name,), state) for name, state in service.components.states.items())
    for name, cache in service.caches.items():
        yield "memory_cache_reads", (name, "hit"), cache.hits
        yield "memory_cache_reads", (name, "miss"), cache.misses
        yield "memory_cache_bytes", (name,), cache.bytes
        yield "memory_cache_limit_bytes", (name,), cache.limit
    rows = service.row_tables.folder
    if rows is not None:
        yield "rendered_rows_reads", ("hit",), rows.hits
        yield "rendered_rows_reads", ("miss",), rows.misses
        yield "rendered_rows_evictions", (), rows.evictions
        yield "rendered_rows_bytes", (), rows.bytes
        yield "rendered_rows_limit_bytes", (), rows.limit
    if service.cache is not None:
        copies = service.cache.counts
        yield "cache_reads", ("hit",), copies["hits"]
        yield "cache_reads", ("miss",), copies["misses"]
        yield "cache_fetched_bytes", (), copies["fetched_bytes"]
        yield "cache_evictions", (), copies["evictions"]
        yield "cache_evicted_bytes", (), copies["evicted_bytes"]
        yield "cache_used_bytes", (), service.cache.used
        yield "cache_limit_bytes", (), service.cache.max_bytes
    yield "build_info", (service.build,), 1


def open_datasets(settings: Settings) -> Storage:
    """Open the datasets root; a remote root through its cache, because queries read only local files.

    Raises
    ------
    SettingsError
        When no file system supports the address, or a remote root has no cache that can be used.
    """
    storage = open_storage(settings.datasets)
    if storage.folder is not None:
        return storage
    if settings.cache is None:
        raise SettingsError(
            f"--cache: the datasets at {storage.address} are read through copies on this machine; name a folder for "
            f"them, or set ALPHA_RESULTS_CACHE"
        )
    return open_storage(settings.datasets, cache=Cache(settings.cache, settings.cache_bytes))


def _folder(settings: Settings, own: str | None, name: str) -> Path:
    """Return a local folder for derived files: the setting, else one in the cache, else one in the user's cache folder."""
    if own is not None:
        return Path(own)
    if settings.cache is not None:
        return Path(settings.cache) / f".{name}"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "alpha-results" / name
