"""The catalogue of served snapshots, refreshed in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from datasets.catalogue.live import Catalogue
from datasets.disk import reading
from datasets.layout import ALPHAS, CATALOG, is_snapshot_id
from datasets.pinned import open_kept
from datasets.publication import pointers
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import AlphaNotPublished, SnapshotCorrupt, SnapshotNotKept, StorageUnavailable
from serve.reader_lease import ReaderLease

_log = structlog.get_logger("serve.catalog")
_STALE_INTERVALS: Final = 10.0
"""Refresh intervals after which a catalogue that was not refreshed is unhealthy."""
_REST_FACTOR: Final = 2.0
"""Minimum pause after a refresh, in multiples of its duration: tens of thousands of alphas in a bucket take
seconds to list, and answering comes first."""
_MAX_REST_SECONDS: Final = 5.0
"""Maximum seconds of such a pause, so that a publication is noticed within seconds."""


class FollowedCatalogue(Catalogue):
    """A catalogue that a separate thread refreshes.

    The thread is not one of the compute threads, so a busy service still notices publications.

    Parameters
    ----------
    storage
        The datasets root.
    seconds
        Seconds between two refreshes.
    list_seconds
        Seconds between two complete listings while no hint reports a moved pointer.
    changed
        Called after a refresh if the served snapshots changed.
    """

    def __init__(
        self,
        storage: Storage,
        seconds: float,
        changed: Callable[[], None] = lambda: None,
        list_seconds: float = 0.0,
    ) -> None:
        super().__init__(storage, list_seconds)
        self._changed = changed
        self._seconds = self._pause = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="catalogue", daemon=True)
        self.followed = True
        """Whether the last refresh succeeded."""
        self._lease = ReaderLease(storage)

    def start(self) -> None:
        """Refresh once, then in the background; if the store is unavailable at the start, the catalogue is empty."""
        self._poll()
        if self.followed and not self.listing.pointers:
            _log.warning(
                "no_alphas_published", root=self._storage.base, fix="build seals, or name another root"
            )
        self._thread.start()

    def stop(self) -> None:
        """Stop refreshing, and release the lease."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lease.release()

    def served(self, alpha_id: str) -> Snapshot:
        """Return the served snapshot of an alpha, without I/O.

        Raises
        ------
        AlphaNotPublished
            When there is none.
        StorageUnavailable, SnapshotCorrupt
            When that is unknown, see :meth:`require_known`.
        """
        snapshot = self.resolve(alpha_id)
        if snapshot is None:
            self.require_known(alpha_id)
            raise AlphaNotPublished(f"no alpha {alpha_id} is served")
        return snapshot

    def open_pinned(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return a snapshot by its id, as :func:`datasets.pinned.open_kept`.

        Raises
        ------
        AlphaNotPublished
            When the alpha is not published, or is withdrawn.
        SnapshotNotKept, SnapshotCorrupt, StorageUnavailable
            As in :func:`datasets.pinned.open_kept`.
        """
        current = self.resolve(alpha_id)
        if current is None:
            raise pointers.not_published(self._storage, alpha_id)
        return current if snapshot == current.id else open_kept(self._storage, current.pointer, snapshot)

    def open_fresh(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Open a snapshot like :meth:`open_pinned`, but read the pointer from the root instead of from memory.

        Another reader may already have seen a newer snapshot, and gc may have removed an old one since the last refresh.
        This costs one small read.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept, SnapshotCorrupt, StorageUnavailable
            As in :meth:`open_pinned`.
        """
        pointer = pointers.served(self._storage, alpha_id) if is_snapshot_id(snapshot) else None
        if pointer is None:
            return self.open_pinned(alpha_id, snapshot)
        if pointer.is_withdrawn:
            raise pointers.not_published(self._storage, alpha_id)
        return open_kept(self._storage, pointer, snapshot)

    def find_pinned(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return a snapshot by its id, after reading the pointer again if this process does not know the snapshot.

        Another process may have seen a newer snapshot and named it to the caller.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept, SnapshotCorrupt, StorageUnavailable
            As :meth:`open_fresh`.
        """
        try:
            return self.open_pinned(alpha_id, snapshot)
        except (AlphaNotPublished, SnapshotNotKept):
            return self.open_fresh(alpha_id, snapshot)

    @property
    def local(self) -> bool:
        """Whether the files are on this machine."""
        return self._storage.folder is not None

    def require_known(self, alpha_id: str | None = None) -> None:
        """Raise if the catalogue is unknown, because no alpha can then be reported as missing.

        Raises
        ------
        StorageUnavailable
            When the catalogue has never been read.
        SnapshotCorrupt
            When the pointer of this alpha cannot be read.
        """
        if self.age == float("inf"):
            raise StorageUnavailable("the catalogue has not been read yet")
        if alpha_id in self.broken:
            error = SnapshotCorrupt(self.broken[alpha_id])
            error.snapshot_key = alpha_id, ""  # only the pointer has the id
            raise error

    @property
    def healthy(self) -> bool:
        """Whether all pointers are known and followed."""
        late = self.age > self._pause * _STALE_INTERVALS + 1
        return self.followed and not late and not self.broken

    def _follow(self) -> None:
        while not self._stop.wait(self._pause):
            began = time.monotonic()
            self._poll()
            duration = time.monotonic() - began
            # The duration of a failed refresh says nothing about the next one, which may succeed.
            rest = min(duration * _REST_FACTOR, _MAX_REST_SECONDS) if self.followed else 0.0
            self._pause = max(self._seconds, rest)

    def _poll(self) -> None:
        try:
            changed = self.refresh()
        except Exception as error:  # noqa: BLE001 - after any error the known snapshots stay served
            if self.followed:
                _log.error("catalogue_unreachable", reason=str(error), kind=type(error).__name__)
            self.followed = False
            return
        if not self.followed:
            _log.info("catalogue_reachable_again")
        self.followed = True
        try:
            self._after_refresh(changed=changed)
        except Exception as error:  # noqa: BLE001 - otherwise this thread would end, and follow no other change
            _log.error("catalogue_change_not_completed", reason=str(error), kind=type(error).__name__)

    def _after_refresh(self, *, changed: bool) -> None:
        self._lease.refresh(self.listed_at)
        if changed:
            _ = self.listing.edition  # computed here, so that no request waits for it
            self.listing.columns.prepare()
            self._changed()
            first = next(iter(self.broken.values()), None)
            alphas, unreadable = len(self.listing.pointers), sorted(self.broken)
            _log.info("catalogue_changed", alphas=alphas, unreadable=unreadable, reason=first)

    def refresh(self) -> bool:
        """Read the changed pointers and return whether a served snapshot changed; refuse a missing root.

        Raises
        ------
        StorageUnavailable
            As for :class:`Catalogue`, and when the root's folder is missing or, at the first refresh, the folder of pointers.
        """
        if self._storage.missing:
            # An unmounted disk is not an empty catalogue.
            raise StorageUnavailable(f"{self._storage.base} does not exist")
        if self.age == float("inf") and self._lacks_pointers():
            raise StorageUnavailable(
                f"{self._storage.base} holds snapshots but no {CATALOG}/: restore that folder, or build the seals again"
            )
        return super().refresh()

    def _lacks_pointers(self) -> bool:
        """Whether a local root has published snapshots but no folder of pointers."""
        folder = self._storage.folder
        with reading(self._storage.address):
            return folder is not None and (folder / ALPHAS).is_dir() and not (folder / CATALOG).is_dir()
