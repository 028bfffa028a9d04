"""Snapshots by their id: what a caller that names one goes on reading while newer ones are published.

An id is answered for as long as the pointer of its alpha remembers it and gc has not announced its removal, which gc
does no sooner than its grace period after the snapshot was replaced. No listing is needed: the pointer in memory
says whether there is such a snapshot, and only its manifest is read, once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Final

from datasets.catalogue import Catalogue
from datasets.layout import is_snapshot_id
from datasets.pointer import Pointer, make_pointer
from datasets.publication.pointers import not_published, served
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt, SnapshotNotKept

OPENED: Final = 256
"""Earlier snapshots that stay opened: their manifests and descriptions are in memory."""


class PinnedSnapshots:
    """Opens the snapshots of an alpha by id. Safe between threads.

    Parameters
    ----------
    storage
        The datasets root.
    catalogue
        Of the root; whoever has it refreshes it.
    """

    def __init__(self, storage: Storage, catalogue: Catalogue) -> None:
        self._storage = storage
        self._catalogue = catalogue
        self._opened: OrderedDict[tuple[str, str, str], Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def opened(self, alpha_id: str, snapshot: str) -> Snapshot | None:
        """Return what :meth:`open` does without reading anything; None when that takes reading.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept
            As :meth:`open`.
        """
        current = self._kept(alpha_id, snapshot)
        return current if snapshot == current.id else self._known(current.pointer, snapshot)

    def open(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return one snapshot of an alpha, the served one or one that was replaced and is still kept.

        Returns
        -------
        Snapshot
            Its ``pointer.published_at`` is the moment it became the served one for the first time, as
            :attr:`Snapshot.published_at` of the served one: pinned, an answer never changes.

        Raises
        ------
        AlphaNotPublished
            When no snapshot is served under that address: not published, or withdrawn.
        SnapshotNotKept
            When the text is not an id, or names a snapshot that the alpha does not have any more; it says which one is served.
        SnapshotCorrupt, StorageUnavailable
            When its manifest cannot be read.
        """
        current = self._kept(alpha_id, snapshot)
        return self.opened(alpha_id, snapshot) or self._open(current.pointer, snapshot)

    def open_fresh(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Do as :meth:`open`, by the pointer as it lies in the root rather than by the one in memory.

        Another reader of the root may have seen a newer snapshot before this one, and gc may have removed an old one
        since the pointer was read last. One small read.

        Raises
        ------
        AlphaNotPublished, SnapshotNotKept, SnapshotCorrupt, StorageUnavailable
            As :meth:`open`.
        """
        pointer = served(self._storage, alpha_id) if is_snapshot_id(snapshot) else None
        if pointer is None:
            pointer = self._kept(alpha_id, snapshot).pointer
        if pointer.is_withdrawn:
            raise not_published(self._storage, alpha_id)
        _require_kept(pointer, snapshot)
        return self._known(pointer, snapshot) or self._open(pointer, snapshot)

    def _kept(self, alpha_id: str, snapshot: str) -> Snapshot:
        """Return what is served of an alpha, if the snapshot named is that or is still kept, without reading."""
        current = self._catalogue.resolve(alpha_id)
        if current is None:
            raise not_published(self._storage, alpha_id)
        _require_kept(current.pointer, snapshot)
        return current

    def _known(self, current: Pointer, snapshot: str) -> Snapshot | None:
        key = _key(current, snapshot)
        with self._lock:
            opened = self._opened.get(key)
            if opened is not None:
                self._opened.move_to_end(key)
            return opened

    def _open(self, current: Pointer, snapshot: str) -> Snapshot:
        opened = Snapshot(self._storage, current)
        if snapshot != current.snapshot:
            opened = self._open_earlier(current, snapshot)
        with self._lock:
            self._opened[_key(current, snapshot)] = opened
            while len(self._opened) > OPENED:
                self._opened.popitem(last=False)
        return opened

    def _open_earlier(self, current: Pointer, snapshot: str) -> Snapshot:
        """Open an earlier snapshot; what its pointer said then is put together again from its manifest."""
        earlier = current.earlier[snapshot]
        draft = replace(current, snapshot=snapshot, manifest_sha256=earlier.manifest_sha256)
        opened = Snapshot(self._storage, draft)
        try:
            manifest = opened.manifest
        except SnapshotCorrupt as error:
            if isinstance(error.__cause__, FileNotFoundError):  # gc went faster than this look
                raise _not_kept(current.alpha_id, snapshot, current.snapshot) from None
            raise
        pointer = replace(
            make_pointer(manifest, opened.description()),
            manifest_sha256=earlier.manifest_sha256,
            published_at=earlier.published_at,
            first_published_at=earlier.published_at,
        )
        return opened.with_pointer(pointer)


def _key(current: Pointer, snapshot: str) -> tuple[str, str, str]:
    """Return alpha, snapshot and when it was first published: it may be removed, built and published once more."""
    earlier = current.earlier.get(snapshot)
    return current.alpha_id, snapshot, (earlier or current).published_at


def still_kept(pointer: Pointer, snapshot: str) -> bool:
    """Whether a snapshot is the served one, or one that was replaced and is still there."""
    replaced = snapshot in pointer.earlier and snapshot not in pointer.removing
    return snapshot == pointer.snapshot or (is_snapshot_id(snapshot) and replaced)


def _require_kept(pointer: Pointer, snapshot: str) -> None:
    if not still_kept(pointer, snapshot):
        raise _not_kept(pointer.alpha_id, snapshot, pointer.snapshot)


def _not_kept(alpha_id: str, snapshot: str, current: str) -> SnapshotNotKept:
    # What is not an id is not repeated: it may be anything a caller wrote.
    named = snapshot if is_snapshot_id(snapshot) else "of that name"
    return SnapshotNotKept(f"{alpha_id} has no snapshot {named}; {current} is served", current)
