"""What is served now: the catalogue, followed in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from datasets.catalogue import Catalogue
from datasets.layout import ALPHAS, CATALOG
from datasets.listing import Listing
from datasets.pinned import PinnedSnapshots, still_kept
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import AlphaNotPublished, SnapshotCorrupt, SnapshotNotKept, StorageUnavailable
from serve.reader_lease import ReaderLease

_log = structlog.get_logger("serve.catalog")
_STALE_INTERVALS: Final = 10.0
"""A catalogue this many intervals old is no longer followed, whatever the reason."""
_REST_FACTOR: Final = 2.0
"""How many times longer than a look the pause after it is at least: tens of thousands of alphas in a bucket take
seconds to list, and answering comes first."""
_MAX_REST_SECONDS: Final = 5.0
"""Seconds such a pause takes at most: a publication is noticed within seconds all the same."""
_PIN_SECONDS: Final = 300.0
"""How long what is in memory of a snapshot that was replaced outlasts the last question that named it."""


class Catalog:
    """Resolves alphas to snapshots while a thread of its own looks for new ones.

    The thread is apart from those that compute answers, so that a busy service still notices a publication.

    Parameters
    ----------
    storage
        The datasets root.
    seconds
        Pause between two looks.
    list_seconds
        How long the pointers need not be listed while nothing says that one moved.
    changed
        Called after a look when something else is served than before, or a snapshot is no longer requested by its id.
    """

    def __init__(
        self,
        storage: Storage,
        seconds: float,
        changed: Callable[[], None] = lambda: None,
        list_seconds: float = 0.0,
    ) -> None:
        self._changed = changed
        self._storage = storage
        self._catalogue = Catalogue(storage, list_seconds)
        self.resolve: Final = self._catalogue.resolve
        """Return the snapshot served under an address; call it once a request."""
        self._seconds = self._pause = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="catalogue", daemon=True)
        self._failure: str | None = None
        self._first = True
        self._lease = ReaderLease(storage)
        self._pinned = PinnedSnapshots(storage, self._catalogue)
        self._requested: dict[tuple[str, str], float] = {}
        """Snapshot requested by its id -> time of the last request."""

    def start(self) -> None:
        """Look once, then keep looking; a store that is away leaves the catalogue empty until it is back."""
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """Stop looking, and claim no snapshot any more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lease.release()

    def pinned(self, alpha_id: str, snapshot: str) -> Snapshot | None:
        """Return a snapshot by its id without reading anything; None when it has to be opened first.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept
            As :meth:`datasets.pinned.PinnedSnapshots.open`.
        """
        opened = self._pinned.opened(alpha_id, snapshot)
        self._requested[alpha_id, snapshot] = time.monotonic()
        return opened

    def open_pinned(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return a snapshot by its id; errors as of :meth:`datasets.pinned.PinnedSnapshots.open`."""
        return self._pinned.open(alpha_id, snapshot)

    def find_pinned(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return a snapshot by its id, by the pointer as it is now where this process does not know it.

        Another one may have seen a newer snapshot already, and named it to the caller.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept, SnapshotCorrupt, StorageUnavailable
            As :meth:`open_pinned`.
        """
        try:
            return self.pinned(alpha_id, snapshot) or self.open_pinned(alpha_id, snapshot)
        except (AlphaNotPublished, SnapshotNotKept):
            return self.look_for(alpha_id, snapshot)

    def look_for(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return a snapshot by its id, by the pointer as it is now; errors as of the method above."""
        return self._pinned.open_fresh(alpha_id, snapshot)

    def reads(self, alpha_id: str, snapshot: str) -> bool:
        """Whether a snapshot is served, or was requested by its id lately and is still kept."""
        served = self._catalogue.resolve(alpha_id)
        if served is None:
            return False
        is_pinned = (alpha_id, snapshot) in self._requested and still_kept(served.pointer, snapshot)
        return is_pinned or served.id == snapshot

    @property
    def local(self) -> bool:
        """Whether the files lie on this machine."""
        return self._storage.folder is not None

    @property
    def listing(self) -> Listing:
        """Every pointer as of now; read it once a request."""
        return self._catalogue.listing

    def pointers(self) -> Sequence[Pointer]:
        """Return every pointer, latest started first, the address as tiebreak."""
        return self._catalogue.pointers()

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Alpha -> why its pointer could not be read."""
        return self._catalogue.broken

    @property
    def age(self) -> float:
        """Seconds since the last look that worked; infinite before the first."""
        return self._catalogue.age

    @property
    def followed(self) -> bool:
        """Whether the last look at the catalogue worked."""
        return self._failure is None

    def require_known(self, alpha_id: str | None = None) -> None:
        """Refuse to say that an alpha, or any, is not there while nobody can know.

        Raises
        ------
        StorageUnavailable
            When the catalogue was never read.
        SnapshotCorrupt
            When the pointer of this very alpha cannot be read.
        """
        if self._catalogue.age == float("inf"):
            raise StorageUnavailable("the catalogue was not read yet")
        if alpha_id in self._catalogue.broken:
            raise SnapshotCorrupt(self._catalogue.broken[alpha_id])

    @property
    def healthy(self) -> bool:
        """Whether everything published is known and being followed."""
        late = self._catalogue.age > self._pause * _STALE_INTERVALS + 1
        return self.followed and not late and not self._catalogue.broken

    def _follow(self) -> None:
        while not self._stop.wait(self._pause):
            began = time.monotonic()
            self._look()
            spent = time.monotonic() - began
            # A look that failed says nothing of how long one takes, and the next one may find the store again.
            rest = 0.0 if self._failure is not None else min(spent * _REST_FACTOR, _MAX_REST_SECONDS)
            self._pause = max(self._seconds, rest)

    def _look(self) -> None:
        try:
            changed = self._refresh()
        except Exception as error:  # noqa: BLE001 - whatever it was, what is served stays served
            if self._failure is None:
                _log.error("catalogue_unreachable", reason=str(error), kind=type(error).__name__)
            self._failure = str(error)
            return
        if self._failure is not None:
            _log.info("catalogue_reachable_again")
            self._failure = None
        self._lease.refresh(self._catalogue.listed_at)
        if changed:
            _ = self._catalogue.listing.edition  # computed here, where no request waits for it
            self._catalogue.listing.columns.prepare()
        if self._forget_idle() or changed:
            self._changed()
        if changed:
            broken = self._catalogue.broken
            first = next(iter(broken.values()), None)
            _log.info(
                "catalogue_changed", alphas=len(self.pointers()), unreadable=sorted(broken), reason=first
            )

    def _forget_idle(self) -> bool:
        """Forget snapshots that were not requested by their id lately; return whether there were any."""
        idle = [key for key, at in self._requested.copy().items() if time.monotonic() - at > _PIN_SECONDS]
        for key in idle:
            self._requested.pop(key, None)
        return bool(idle)

    def _refresh(self) -> bool:
        if self._storage.missing:
            # An unmounted disk is not an empty catalogue.
            raise StorageUnavailable(f"{self._storage.base} is not there")
        if self._first and self._lost():
            raise StorageUnavailable(
                f"{self._storage.base} holds snapshots and no {CATALOG}/: restore that folder, or build the seals again"
            )
        changed = self._catalogue.refresh()
        self._first = False
        return changed

    def _lost(self) -> bool:
        """Whether a root on this machine holds what only a publication writes, but no folder of pointers."""
        folder = self._storage.folder
        return folder is not None and (folder / ALPHAS).is_dir() and not (folder / CATALOG).is_dir()
