"""Retention: decide which snapshots of an alpha gc removes, and remove them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from datasets.layout import alpha_path, is_snapshot_id
from datasets.pointer import Pointer
from datasets.publication.decisions import empty_snapshots
from datasets.publication.pointers import compare_and_swap, served
from datasets.publication.publish import remove_snapshot
from datasets.storage import Storage, StoredFile

UNSERVED_GRACE: Final = timedelta(hours=1)
"""Minimum age before a snapshot that was never served is removed, because a build writes files before it moves the pointer."""
GRACE: Final = "within the grace period"
LEASE: Final = "a reader's lease"
NO_POINTER: Final = "never served"
"""Reasons to keep a snapshot regardless of its rank."""
_FOLDER: Final = "snapshot="


@dataclass(frozen=True, slots=True)
class Policy:
    """The retention policy of every alpha.

    Attributes
    ----------
    keep
        Number of snapshots to keep, including the served one; at least 1.
    grace
        How long a replaced snapshot is kept, so that callers that pin it can finish.
    """

    keep: int
    grace: timedelta


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A stored snapshot of an alpha.

    Attributes
    ----------
    snapshot
        Id of the snapshot.
    written
        When its newest file was written.
    bytes, files
        Total size and number of its files.
    """

    snapshot: str
    written: datetime
    bytes: int
    files: int


KeepReasons: TypeAlias = dict[StoredSnapshot, str | None]
"""Stored snapshot -> reason to keep it; None if it is removed."""


def list_snapshots(storage: Storage, alpha_id: str) -> tuple[StoredSnapshot, ...]:
    """List all stored snapshots of an alpha by id, including incomplete ones, in one listing.

    Folders whose name is not an id, such as an operator's copy, are left out: they are not the pipeline's to remove.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    files: dict[str, list[StoredFile]] = {}
    for path, entry in storage.files_below(alpha_path(alpha_id)).items():
        folder, separator, _ = path.partition("/")
        snapshot = folder.removeprefix(_FOLDER)
        if separator and folder.startswith(_FOLDER) and is_snapshot_id(snapshot):
            files.setdefault(snapshot, []).append(entry)
    return tuple(
        StoredSnapshot(snapshot, max(e.modified for e in entries), sum(e.size for e in entries), len(entries))
        for snapshot, entries in sorted(files.items())
    )


def decide(
    pointer: Pointer,
    stored: tuple[StoredSnapshot, ...],
    policy: Policy,
    *,
    needed_since: datetime | None,
    now: datetime,
) -> KeepReasons:
    """Decide which snapshots of an alpha are kept. Pure.

    Parameters
    ----------
    pointer
        The alpha's pointer.
    stored
        Stored snapshots.
    needed_since
        Snapshots replaced at or after this instant may still be read; None if there is no lease.
    now
        The current time. Snapshots dated later, after a clock was set back, are kept.

    Returns
    -------
    KeepReasons
        In the order of `stored`. Removals already begun are always finished.
    """
    replaced = {name: datetime.fromisoformat(x.replaced_at) for name, x in pointer.earlier.items()}
    unserved_since = {x.snapshot: replaced.get(x.snapshot, x.written) for x in stored}
    others = sorted(
        (x.snapshot for x in stored if x.snapshot not in (pointer.snapshot, *pointer.removing)),
        key=lambda snapshot: (snapshot in replaced, unserved_since[snapshot], snapshot),
        reverse=True,
    )
    # Snapshots of a withdrawn alpha are only kept while readers may need them.
    # Empty snapshots, which mark a withdrawal, do not count towards --keep.
    empty = empty_snapshots(pointer.alpha_id)
    ranked = [snapshot for snapshot in others if snapshot not in empty]
    latest = set() if pointer.is_withdrawn else set(ranked[: max(0, policy.keep - 1)])

    def reason(candidate: StoredSnapshot) -> str | None:
        if candidate.snapshot == pointer.snapshot:
            return "served"
        if candidate.snapshot in pointer.removing:
            return None
        if candidate.snapshot in latest:
            return f"one of the {policy.keep} kept"
        grace = policy.grace if candidate.snapshot in replaced else max(policy.grace, UNSERVED_GRACE)
        if now - max(unserved_since[candidate.snapshot], candidate.written) < grace:
            return GRACE
        if needed_since is not None and unserved_since[candidate.snapshot] >= needed_since:
            return LEASE
        return None

    return {x: reason(x) for x in stored}


def collect(
    storage: Storage,
    alpha_id: str,
    policy: Policy,
    *,
    needed_since: datetime | None,
    now: datetime,
    dry_run: bool = False,
) -> KeepReasons:
    """Remove the unneeded snapshots of an alpha.

    The pointer first lists them, so that no build or rollback serves one of them while its files are being removed. After a
    crash, the next call finishes the removal. An alpha without a pointer keeps everything, because its first build may be
    running.

    Returns
    -------
    KeepReasons
        With `dry_run`, nothing is removed.

    Raises
    ------
    SnapshotCorrupt
        When the pointer cannot be read, because the needed snapshots are then unknown.
    StorageUnavailable
        When the store does not answer, or does not permit removing.
    """
    stored = list_snapshots(storage, alpha_id)

    def reasons(pointer: Pointer) -> KeepReasons:
        return decide(pointer, stored, policy, needed_since=needed_since, now=now)

    current = served(storage, alpha_id)
    if current is None:
        return dict.fromkeys(stored, NO_POINTER)
    removable = _removable(reasons(current))
    if dry_run or not (removable or current.removing):
        return reasons(current)

    def announce(pointer: Pointer | None) -> Pointer | None:
        if pointer is None:
            return None
        named = tuple(sorted({*_removable(reasons(pointer)), *pointer.removing}))
        return None if named == pointer.removing else replace(pointer, removing=named)

    announced = compare_and_swap(storage, alpha_id, announce) or served(storage, alpha_id)
    if announced is None:
        return dict.fromkeys(stored, NO_POINTER)
    removed = set(announced.removing)
    for snapshot in announced.removing:
        remove_snapshot(storage, alpha_id, snapshot)

    def conclude(pointer: Pointer | None) -> Pointer | None:
        if pointer is None or not removed & set(pointer.removing):
            return None
        return replace(
            pointer,
            removing=tuple(snapshot for snapshot in pointer.removing if snapshot not in removed),
            earlier={name: x for name, x in pointer.earlier.items() if name not in removed},
        )

    compare_and_swap(storage, alpha_id, conclude)
    return {x: None if x.snapshot in removed else reason for x, reason in reasons(announced).items()}


def _removable(reasons: KeepReasons) -> tuple[str, ...]:
    return tuple(x.snapshot for x, reason in reasons.items() if reason is None)
