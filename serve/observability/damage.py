"""Served alphas whose published files failed a check when opened."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from itertools import islice
from typing import Final, NamedTuple

import structlog
from polars.exceptions import PanicException

from datasets.pointer import Pointer
from datasets.provenance.integrity import check_manifest
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import (
    AlphaResultsError,
    DiskFull,
    DiskUnavailable,
    SnapshotCorrupt,
    SnapshotError,
    SnapshotUnreadable,
    StorageUnavailable,
)
from serve.followed_catalogue import FollowedCatalogue

_log = structlog.get_logger("serve.observability.damage")
_UNDECODABLE_SECONDS: Final = 300.0
"""Seconds that a snapshot counts as damaged after its files could not be decoded although their digests are intact."""
_MAX_CHECKED: Final = 50
"""Maximum number of damaged snapshots checked again at a time."""


class Damaged(NamedTuple):
    """The damage of a snapshot.

    Attributes
    ----------
    snapshot
        Its id.
    reason
        For operators; it may name files.
    until
        Monotonic time before which intact files do not clear the damage.
    """

    snapshot: str
    reason: str
    until: float


class Damage:
    """Snapshots that could not be read, until their files are intact again or other snapshots are served.

    Safe to share between threads.

    Parameters
    ----------
    storage
        The datasets root. On a local one a disk that fails is damage too; an unavailable remote store is not.
    snapshots
        The served snapshots; damage of earlier snapshots is reported to their callers, but not counted.
    """

    def __init__(self, storage: Storage, snapshots: FollowedCatalogue) -> None:
        self._storage = storage
        self._snapshots = snapshots
        self.alphas: Mapping[str, Damaged] = {}
        """Alpha -> damage of its served snapshot."""
        self._lock = threading.Lock()

    def note(self, pointer: Pointer | None, error: BaseException) -> None:
        """Record a failure to read the snapshot that the error names, else that of the pointer; other errors are ignored."""
        undecodable = isinstance(error, SnapshotUnreadable | PanicException)
        # A full disk can still be read: an answer wrote a temporary file there.
        lost = isinstance(error, DiskUnavailable) and not isinstance(error, DiskFull)
        unreadable = self._storage.folder is not None and lost
        if not (undecodable or unreadable or isinstance(error, SnapshotCorrupt)):
            return
        key = None if pointer is None else pointer.key
        if isinstance(error, AlphaResultsError):
            key = error.snapshot_key or key
        served = None if key is None else self._snapshots.resolve(key[0])
        if served is None or served.key != key:
            return
        until = time.monotonic() + _UNDECODABLE_SECONDS if undecodable else 0.0
        with self._lock:
            before = self.alphas.get(served.alpha_id)
            known = before is not None and before.snapshot == served.id
            if before is not None and known:
                until = max(until, before.until)
            # Replaced, never modified, so that readers see one state.
            damaged = Damaged(served.id, str(error), until)
            self.alphas = {**self.alphas, served.alpha_id: damaged}
        if not known:
            _log.error("snapshot_damaged", alpha=served.alpha_id, snapshot=served.id, reason=str(error))

    def recheck(self) -> None:
        """Verify the files of damaged snapshots again, and forget those that are intact."""
        for alpha_id, damaged in list(islice(self.alphas.items(), _MAX_CHECKED)):
            snapshot = self._snapshots.resolve(alpha_id)
            if snapshot is None or time.monotonic() < damaged.until or not self._intact(snapshot):
                continue
            # The verification does not refute a failure that was recorded meanwhile.
            if self.alphas.get(alpha_id) is damaged and self._snapshots.followed:
                self._forget([alpha_id])

    def _intact(self, snapshot: Snapshot) -> bool:
        try:
            manifest, faults = check_manifest(self._storage, snapshot.pointer)
            for entry in [] if manifest is None else manifest.files:
                snapshot.file(entry.dataset, entry.book)
        except (SnapshotError, StorageUnavailable):
            return False
        return manifest is not None and not faults

    def drop_unserved(self) -> None:
        """Forget snapshots that are no longer served."""
        served = [(alpha_id, x, self._snapshots.resolve(alpha_id)) for alpha_id, x in self.alphas.items()]
        self._forget([alpha_id for alpha_id, x, now in served if now is None or now.id != x.snapshot])

    def _forget(self, alphas: list[str]) -> None:
        with self._lock:
            self.alphas = {name: x for name, x in self.alphas.items() if name not in alphas}
        for alpha_id in alphas:
            _log.info("snapshot_no_longer_damaged", alpha=alpha_id)
