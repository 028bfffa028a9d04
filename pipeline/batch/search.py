"""Selection of due seals: manifests are compared with the served catalogue by digest."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from datasets.archives import DELIVERED, ArchiveState, archive_state_path
from datasets.catalogue import Catalogue
from datasets.pointer import Pointer
from datasets.publication.pointers import is_current
from datasets.storage import Storage
from pipeline.batch.batch import Batch
from pipeline.batch.discover import DiscoveredSeal, Seals
from pipeline.batch.refusals import Refusals
from pipeline.batch.result import SealResult
from pipeline.seal.store import without_secrets
from schemas.errors import SnapshotCorrupt
from schemas.version import schema_version

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class WorkPlan(NamedTuple):
    """The due seals in the order seen, and every other one with its result."""

    due: list[DiscoveredSeal]
    skipped: list[tuple[DiscoveredSeal, SealResult]]


class Search:
    """Finds seals, selects the due ones, and stores refusals.

    Raises
    ------
    SettingsError
        When an address is invalid.
    """

    def __init__(self, batch: Batch, searched: str, storage: Storage) -> None:
        self._storage = storage
        self._force = batch.force
        self._archives = batch.archives
        self._catalogue = Catalogue(storage)
        self._delivered: set[str] = set()  # digests of seals whose source archive is delivered
        self._seals = Seals(searched)
        self._refusals = Refusals(storage, searched, recheck=batch.recheck or self._force)
        self.record = self._refusals.record
        self._seen: list[DiscoveredSeal] = []

    def scan(self) -> list[DiscoveredSeal]:
        """Find the finished seals, and read the served catalogue.

        Raises
        ------
        SettingsError
            At the first scan, when no object lies below the prefix that is searched.
        StorageUnavailable
            When a store does not answer.
        """
        self._seen = self._seals.scan()
        self._catalogue.refresh()
        if self._archives is not None:
            self._read_archive_states()
        self._refusals.refresh(self._seen)
        return self._seen

    def choose(self, failed: Collection[str] = ()) -> WorkPlan:
        """Split the seals of the last scan into due ones and those that need no build; leave out `failed` addresses.

        Only the latest seal of an alpha is built, and neither one older than what is served nor one that was rolled back
        is a failure.
        """
        plan = WorkPlan([], [])
        candidates: list[tuple[DiscoveredSeal, str | None, str]] = []
        for one in self._seen:
            if one.address in failed:
                continue
            pointer = self._pointer(one)
            reason = None
            if one.alpha_id in self._catalogue.withdrawn:
                reason = "withdrawn"
            elif pointer is not None and not self._force:
                reason = _skip_reason(one, pointer)
            refusal = self._refusals.known(one) if reason is None else None
            if refusal is None:
                candidates.append((one, reason, pointer.snapshot if pointer else ""))
            else:
                plan.skipped.append((one, refusal))
        latest = _latest(one for one, *_ in candidates)
        for one, state, snapshot in candidates:
            reason = state
            if reason is None and one.alpha_id is not None and latest[one.alpha_id] is not one:
                reason = "superseded"
            if reason is None or (reason == "unchanged" and self._is_undelivered(one)):
                plan.due.append(one)
            else:
                details = {"alpha_id": one.alpha_id, "snapshot": snapshot, "changed": False}
                result = SealResult(without_secrets(one.address), reason, details=details)
                plan.skipped.append((one, result))
        if plan.due:
            self._storage.require_safe_writers()  # before a process is started for a seal
        return plan

    def _is_undelivered(self, one: DiscoveredSeal) -> bool:
        return self._archives is not None and one.has_source and one.digest not in self._delivered

    def _read_archive_states(self) -> None:
        """Read the states of the archives that are not known to be delivered, of many seals together."""
        paths = {
            archive_state_path(one.alpha_id, one.digest): one.digest
            for one in self._seen
            if one.alpha_id is not None and self._is_undelivered(one)
        }
        for path, raw in self._storage.read_many(list(paths)).items():
            # A damaged one makes its seal due: the build writes it again.
            with contextlib.suppress(SnapshotCorrupt):
                if raw is not None and ArchiveState.decode(raw, path).status == DELIVERED:
                    self._delivered.add(paths[path])

    def _pointer(self, one: DiscoveredSeal) -> Pointer | None:
        if one.alpha_id is None or one.alpha_id in self._catalogue.broken:
            return None
        snapshot = self._catalogue.resolve(one.alpha_id)
        return snapshot.pointer if snapshot else None


def _latest(seen: Iterable[DiscoveredSeal]) -> dict[str | None, DiscoveredSeal]:
    """Return the latest seal of each alpha, the first of several with the same time."""
    latest: dict[str | None, DiscoveredSeal] = {}
    for one in sorted(seen, key=lambda one: one.sealed_at or _LONG_AGO, reverse=True):
        latest.setdefault(one.alpha_id, one)
    return latest


def _skip_reason(one: DiscoveredSeal, pointer: Pointer) -> str | None:
    if is_current(pointer, one.digest):
        return "unchanged"
    if pointer.was_rolled_back(one.digest, schema_version()):
        return "rolled back"
    later = one.sealed_at is not None and datetime.fromisoformat(pointer.sealed_at) > one.sealed_at
    return "superseded" if later else None
