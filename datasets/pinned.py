"""Snapshots by their id: what a caller that names one goes on reading while newer ones are published.

An id is answered for as long as the pointer of its alpha remembers it and gc has not announced its removal, which gc
does no sooner than its grace period after the snapshot was replaced. Nothing is listed for it: the pointer in memory
says whether there is such a snapshot, and only its manifest is read, once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Final

from datasets.catalogue import Catalogue
from datasets.layout import MANIFEST, is_snapshot_id, snapshot_path
from datasets.manifest import Manifest, Pointer, digest, named_by_content, pointer_of
from datasets.notes import Earlier
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import AlphaNotPublished, SnapshotCorrupt, SnapshotNotKept

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
        self._opened: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
        self._lock = threading.Lock()

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
            When nothing is served under that address: not published, or withdrawn.
        SnapshotNotKept
            When the text is no id, or names no snapshot of the alpha that is kept; it says which one is served.
        SnapshotCorrupt, StorageUnavailable
            When its manifest cannot be read.
        """
        served = self._catalogue.resolve(alpha_id)
        if served is None:
            raise AlphaNotPublished(f"{self._storage.address} publishes no alpha {alpha_id!r}")
        if snapshot == served.id:
            return served
        pointer = served.pointer
        if not is_snapshot_id(snapshot) or snapshot not in pointer.replaced or snapshot in pointer.removing:
            raise _not_kept(alpha_id, snapshot, served.id)
        key = (alpha_id, snapshot)
        with self._lock:
            found = self._opened.get(key)
            if found is not None:
                self._opened.move_to_end(key)
                return found
        found = self._open(pointer, snapshot)
        with self._lock:
            found = self._opened.setdefault(key, found)
            while len(self._opened) > OPENED:
                self._opened.popitem(last=False)
        return found

    def _open(self, current: Pointer, snapshot: str) -> Snapshot:
        """Open an earlier snapshot; what its pointer said then is put together again from its manifest."""
        alpha_id = current.alpha_id
        path = f"{snapshot_path(alpha_id, snapshot)}/{MANIFEST}"
        known = current.notes.earlier.get(snapshot)
        if known is None:
            # A release that takes no notes replaced it: its id says whether the manifest is its own.
            try:
                data = self._storage.read(path)
            except FileNotFoundError:
                raise _not_kept(alpha_id, snapshot, current.snapshot) from None
            if not named_by_content(data, snapshot):
                raise SnapshotCorrupt(f"{path} is not the manifest of that snapshot")
            known = Earlier(published_before(current, snapshot), digest(data))
        draft = replace(current, snapshot=snapshot, manifest_sha256=known.manifest_sha256)
        opened = Snapshot(self._storage, draft)
        try:
            manifest: Manifest = opened.manifest
        except SnapshotCorrupt as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise _not_kept(
                    alpha_id, snapshot, current.snapshot
                ) from None  # gc went faster than this look
            raise
        pointer = pointer_of(manifest, opened.description())
        notes = replace(pointer.notes, published_at=known.published_at)
        opened.pointer = replace(
            pointer,
            manifest_sha256=known.manifest_sha256,
            published_at=known.published_at,
            notes=notes,
        )
        return opened


def published_before(pointer: Pointer, snapshot: str) -> str:
    """Return when a snapshot that is not in the notes became the served one: when the one before it was replaced.

    Of the very first one, which replaced none, it is the moment it was replaced itself.
    """
    left = pointer.replaced[snapshot]
    return max((at for at in pointer.replaced.values() if at < left), default=left)


def _not_kept(alpha_id: str, snapshot: str, current: str) -> SnapshotNotKept:
    # What is no id is not repeated: it may be anything a caller wrote.
    named = snapshot if is_snapshot_id(snapshot) else "of that name"
    return SnapshotNotKept(f"{alpha_id} has no snapshot {named}; {current} is served", current)
