"""Selection of due seals: manifests are compared with the served catalogue by digest."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from datasets.catalogue.live import Catalogue
from datasets.pointer import Pointer
from datasets.provenance.archives import DELIVERED, FAILED, ArchiveState, archive_state_path
from datasets.publication.pointers import is_current
from datasets.storage import Storage
from pipeline.batch.batch import Batch
from pipeline.batch.discover import DiscoveredSeal, Seals
from pipeline.batch.refusals import Refusals
from pipeline.batch.result import SUCCESSES, SealResult
from pipeline.seal.store import shown_address
from schemas.errors import SnapshotCorrupt
from schemas.version import schema_version

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class WorkPlan(NamedTuple):
    """The due seals in scan order, and the other seals with their results."""

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
        self._exclude: tuple[str, ...] = batch.build_options["exclude"]
        self._delivered: set[str] = set()
        """Digests of seals whose source archive is delivered, or would have no file."""
        self._seals = Seals(searched)
        self._refusals = Refusals(
            storage,
            searched,
            recheck=batch.recheck or self._force,
            seal_keys=batch.build_options["seal_keys"],
        )
        self._seen: list[DiscoveredSeal] = []
        self._published: set[str] = set()
        """Digests of seals that this command has published."""
        self._forced: frozenset[str] = frozenset()
        """Those that were published before the last scan; `force` publishes each only once."""
        self._served: dict[str, str] = {}
        """Alpha -> snapshot that this command has served since the last scan."""

    def scan(self) -> list[DiscoveredSeal]:
        """Find the finished seals, and read the served catalogue.

        Raises
        ------
        SettingsError
            At the first scan, when the searched prefix holds no object.
        StorageUnavailable
            When a store does not answer.
        """
        self._seen = self._seals.scan()
        self._catalogue.refresh()
        self._forced = frozenset(self._published)
        self._served.clear()
        if self._archives is not None:
            self._read_archive_states()
        self._refusals.refresh(self._seen)
        return self._seen

    def choose(self, failed: Collection[str] = ()) -> WorkPlan:
        """Split the seals of the last scan into those to build and those to skip; ignore `failed` addresses.

        Only the latest seal of an alpha is built. A seal that is older than the served seal, or was rolled back, is skipped
        without counting as a failure.
        """
        plan = WorkPlan([], [])
        candidates: list[tuple[DiscoveredSeal, str | None, str | None]] = []
        for seal in self._seen:
            if seal.address in failed:
                continue
            pointer = self._pointer(seal)
            reason = None
            if seal.alpha_id in self._catalogue.withdrawn:
                reason = "withdrawn"
            elif pointer is not None and (not self._force or seal.digest in self._forced):
                reason = _skip_reason(seal, pointer)
            refusal = self._refusals.known(seal) if reason is None else None
            if refusal is None:
                served = self._served.get(seal.alpha_id or "", pointer.snapshot if pointer else None)
                candidates.append((seal, reason, served))
            else:
                plan.skipped.append((seal, refusal))
        latest = _latest(seal for seal, *_ in candidates)
        for seal, state, snapshot in candidates:
            reason = state
            if reason is None and seal.alpha_id is not None and latest[seal.alpha_id] is not seal:
                reason = "superseded"
            if reason is None or (reason == "unchanged" and self._is_undelivered(seal)):
                plan.due.append(seal)
            else:
                details = {"alpha_id": seal.alpha_id, "snapshot": snapshot, "changed": False}
                result = SealResult(shown_address(seal.address), reason, details=details)
                plan.skipped.append((seal, result))
        if plan.due:
            self._storage.require_safe_writers()  # before a process is started for a seal
        return plan

    def record(self, seal: DiscoveredSeal, result: SealResult, files: str) -> None:
        """Remember a published seal, and store or remove a refusal as :meth:`Refusals.record` does."""
        if result.outcome in SUCCESSES:
            self._published.add(seal.digest)
            if seal.alpha_id is not None and result.snapshot is not None:
                self._served[seal.alpha_id] = result.snapshot
        self._refusals.record(seal, result, files)

    def _is_undelivered(self, seal: DiscoveredSeal) -> bool:
        return self._archives is not None and seal.has_source and seal.digest not in self._delivered

    def _read_archive_states(self) -> None:
        """Read the archive states of all seals not yet known to be delivered, in one request."""
        paths = {
            archive_state_path(seal.alpha_id, seal.digest): seal.digest
            for seal in self._seen
            if seal.alpha_id is not None and self._is_undelivered(seal)
        }
        for path, raw in self._storage.read_many(list(paths)).items():
            if raw is None:
                continue
            # A damaged state makes its seal due; the build rewrites it.
            with contextlib.suppress(SnapshotCorrupt):
                state = ArchiveState.decode(raw, path)
                # The patterns of this command are known to leave out every source file.
                empty = state.status == FAILED and state.left_out > 0 and state.exclude == self._exclude
                if empty or state.status == DELIVERED:
                    self._delivered.add(paths[path])

    def _pointer(self, seal: DiscoveredSeal) -> Pointer | None:
        if seal.alpha_id is None or seal.alpha_id in self._catalogue.broken:
            return None
        snapshot = self._catalogue.resolve(seal.alpha_id)
        return snapshot.pointer if snapshot else None


def _latest(seen: Iterable[DiscoveredSeal]) -> dict[str | None, DiscoveredSeal]:
    """Return the latest seal of each alpha, the first of several with the same time."""
    latest: dict[str | None, DiscoveredSeal] = {}
    for seal in sorted(seen, key=lambda seal: seal.sealed_at or _LONG_AGO, reverse=True):
        latest.setdefault(seal.alpha_id, seal)
    return latest


def _skip_reason(seal: DiscoveredSeal, pointer: Pointer) -> str | None:
    if is_current(pointer, seal.digest):
        return "unchanged"
    if pointer.was_rolled_back(seal.digest, schema_version()):
        return "rolled back"
    later = seal.sealed_at is not None and datetime.fromisoformat(pointer.sealed_at) > seal.sealed_at
    return "superseded" if later else None
