"""Open snapshots by id, for callers that pin one while newer ones are published.

An id is valid while the pointer of its alpha records it and gc has not announced its removal. Gc announces a removal no
sooner than its grace period after the snapshot was replaced. No listing is needed: the pointer in memory records the
snapshot, and only the manifest is read.
"""

from __future__ import annotations

from dataclasses import replace

from datasets.layout import is_snapshot_id
from datasets.pointer import Pointer, make_pointer
from datasets.publication.history import empty_snapshot_ids
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt, SnapshotNotKept


def open_kept(storage: Storage, current: Pointer, snapshot: str) -> Snapshot:
    """Return the served snapshot of an alpha, or an earlier one that is kept.

    Parameters
    ----------
    storage
        The datasets root.
    current
        The alpha's pointer.
    snapshot
        Id of the snapshot.

    Returns
    -------
    Snapshot
        An earlier snapshot's ``pointer``, made from its manifest, has as ``published_at`` the time when it was first served,
        like :attr:`Snapshot.published_at` of the served one, so that answers from a pinned snapshot never change.

    Raises
    ------
    SnapshotNotKept
        When `snapshot` is not an id, or that snapshot is not kept; the message names the served one.
    SnapshotCorrupt, StorageUnavailable
        When the manifest cannot be read.
    """
    if not is_kept(current, snapshot):
        raise _not_kept(current.alpha_id, snapshot, current.snapshot)
    if snapshot == current.snapshot:
        return Snapshot(storage, current)
    earlier = current.earlier[snapshot]
    draft = replace(current, snapshot=snapshot, manifest_sha256=earlier.manifest_sha256)
    opened = Snapshot(storage, draft)
    try:
        manifest = opened.manifest
    except SnapshotCorrupt as error:
        if isinstance(error.__cause__, FileNotFoundError):  # gc removed it meanwhile
            raise _not_kept(current.alpha_id, snapshot, current.snapshot) from None
        raise
    pointer = replace(
        make_pointer(manifest, earlier.manifest_sha256, opened.description()),
        published_at=earlier.published_at,
        first_published_at=earlier.published_at,
    )
    return opened.with_pointer(pointer)


def is_kept(pointer: Pointer, snapshot: str) -> bool:
    """Whether a snapshot is served or kept; the empty snapshot of a withdrawal is neither."""
    if snapshot == pointer.snapshot:
        return True
    replaced = snapshot in pointer.earlier and snapshot not in pointer.removing
    return is_snapshot_id(snapshot) and replaced and snapshot not in empty_snapshot_ids(pointer)


def _not_kept(alpha_id: str, snapshot: str, current: str) -> SnapshotNotKept:
    # Do not echo an invalid id, which is arbitrary text from a caller.
    shown = snapshot if is_snapshot_id(snapshot) else "of that name"
    return SnapshotNotKept(f"{alpha_id} has no snapshot {shown}; {current} is served", current)
