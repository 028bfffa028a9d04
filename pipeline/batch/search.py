"""Discovery of one batch: finished seals, the served catalogue and remembered refusals."""

from __future__ import annotations

from collections.abc import Collection

from datasets.catalogue import Catalogue
from datasets.pointer_index import rebuild
from datasets.storage import open_storage
from pipeline.batch.batch import Batch
from pipeline.batch.discover import Delivered, DiscoveredSeal, Seals, WorkPlan, choose, named
from pipeline.batch.refusals import Refusals
from pipeline.batch.request import Outcome


class Search:
    """Finds seals, selects those that are due, and remembers refusals.

    Parameters
    ----------
    batch
        The options of the batch.

    Raises
    ------
    SettingsError
        When an address makes no sense.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._storage = storage = open_storage(batch.common.root, single_writer=batch.common.single_writer)
        self._catalogue = Catalogue(storage)
        self._delivered = Delivered(storage) if batch.common.archives is not None else None
        self._seals: Seals | None = None
        self._refusals: Refusals | None = None
        self._seen: list[DiscoveredSeal] = []
        if batch.searched is not None:
            self._seals = Seals(batch.searched)
            self._refusals = Refusals(
                storage,
                batch.searched,
                pause=batch.interval,
                late_seconds=batch.late_seconds,
                recheck=batch.recheck or batch.common.force,
            )

    @property
    def seen(self) -> list[DiscoveredSeal]:
        """What the last scan found."""
        return self._seen

    def scan(self) -> list[DiscoveredSeal]:
        """Find every finished seal, and read what is served.

        Raises
        ------
        SettingsError
            At the first look, when nothing lies below the prefix that is searched.
        StorageUnavailable
            When a store does not answer.
        """
        self._seen = named(self._batch.seals) if self._seals is None else self._seals.scan()
        self._catalogue.refresh()
        if self._delivered is not None:
            self._delivered.refresh(self._seen)
        if self._refusals is not None:
            self._refusals.refresh(self._seen)
        return self._seen

    def choose(self, failed: Collection[str]) -> WorkPlan:
        """Return what is due of the last look, but for seals at some addresses that cannot be published."""
        found = choose(
            self._seen,
            self._catalogue,
            self._batch.common,
            searched=self._seals is not None,
            delivered=self._delivered,
            refused=None if self._refusals is None else self._refusals.known,
            failed=failed,
        )
        if found.due:
            self._storage.require_safe_writers()  # before a process is started for any of them
        return found

    def rebuild_index(self) -> None:
        """Rewrite the index of a bucket's pointers, once builds have moved many."""
        rebuild(self._storage)

    def record(self, one: DiscoveredSeal, outcome: Outcome, files: str) -> None:
        """Remember what became of a seal, whose listing was `files` before."""
        if self._refusals is not None:
            self._refusals.record(one, outcome, files)
