"""Retention: the snapshots of an alpha that gc may remove."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from datasets.layout import alpha_path
from datasets.pointer import Pointer
from datasets.publication.decisions import empty_snapshots
from datasets.publication.pointers import compare_and_swap, served
from datasets.publication.publish import remove_snapshot
from datasets.storage import Storage, StoredFile

UNSERVED_GRACE: Final = timedelta(hours=1)
"""Minimum age of a snapshot that was never served, because a build places its files shortly before it moves the pointer."""
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
        How many snapshots, the served one among them; at least 1.
    grace
        How long a snapshot is kept after it was replaced, so that callers that pin it can finish.
    """

    keep: int
    grace: timedelta


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """One stored snapshot of an alpha.

    Attributes
    ----------
    snapshot
        Its id.
    written
        When its newest file was written.
    bytes, files
        What it takes.
    """

    snapshot: str
    written: datetime
    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class GcDecision:
    """The decision on one snapshot.

    Attributes
    ----------
    stored
        Which.
    keep_reason
        Why it stays; None when it goes.
    """

    stored: StoredSnapshot
    keep_reason: str | None


def list_snapshots(storage: Storage, alpha_id: str) -> tuple[StoredSnapshot, ...]:
    """List the snapshots of an alpha, complete or not, served or not, by id; one listing.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    files: dict[str, list[StoredFile]] = {}
    for path, entry in storage.files_below(alpha_path(alpha_id)).items():
        folder, separator, _ = path.partition("/")
        if separator and folder.startswith(_FOLDER):
            files.setdefault(folder.removeprefix(_FOLDER), []).append(entry)
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
) -> tuple[GcDecision, ...]:
    """Decide which snapshots of an alpha are kept. Pure.

    Parameters
    ----------
    pointer
        The alpha's pointer.
    stored
        Stored snapshots.
    needed_since
        Snapshots replaced at or after this instant may still be read; None without any lease.
    now
        The current time. Later times, after a clock was set back, count as now, so these snapshots are kept.

    Returns
    -------
    tuple of GcDecision
        In the order of `stored`. Removals that were begun are always finished.
    """
    replaced = {name: datetime.fromisoformat(one.replaced_at) for name, one in pointer.earlier.items()}
    unserved_since = {h.snapshot: replaced.get(h.snapshot, h.written) for h in stored}
    others = sorted(
        (h.snapshot for h in stored if h.snapshot not in (pointer.snapshot, *pointer.removing)),
        key=lambda snapshot: (snapshot in replaced, unserved_since[snapshot], snapshot),
        reverse=True,
    )
    # Snapshots of a withdrawn alpha are only kept while readers may need them.
    # Empty snapshots, which mark a withdrawal, do not count towards --keep.
    empty = empty_snapshots(pointer.alpha_id)
    figures = [snapshot for snapshot in others if snapshot not in empty]
    numbered = set() if pointer.is_withdrawn else set(figures[: max(0, policy.keep - 1)])

    def reason(one: StoredSnapshot) -> str | None:
        if one.snapshot == pointer.snapshot:
            return "served"
        if one.snapshot in pointer.removing:
            return None
        if one.snapshot in numbered:
            return f"one of the {policy.keep} kept"
        grace = policy.grace if one.snapshot in replaced else max(policy.grace, UNSERVED_GRACE)
        if now - max(unserved_since[one.snapshot], one.written) < grace:
            return GRACE
        if needed_since is not None and unserved_since[one.snapshot] >= needed_since:
            return LEASE
        return None

    return tuple(GcDecision(one, reason(one)) for one in stored)


def collect(
    storage: Storage,
    alpha_id: str,
    policy: Policy,
    *,
    needed_since: datetime | None,
    now: datetime,
    dry_run: bool = False,
) -> tuple[GcDecision, ...]:
    """Remove the unneeded snapshots of an alpha.

    They are named in the pointer first, so that no build and no rollback serves one of them again while its files
    go; killed in between, the next call finishes. An alpha without a pointer keeps everything: its first build may
    be at work.

    Returns
    -------
    tuple of GcDecision
        One for every snapshot; with `dry_run`, the decision that gc would carry out.

    Raises
    ------
    SnapshotCorrupt
        When the pointer cannot be read: the snapshots that it needs are then unknown.
    StorageUnavailable
        When the store does not answer, or does not permit removing.
    """
    stored = list_snapshots(storage, alpha_id)

    def decisions(pointer: Pointer) -> tuple[GcDecision, ...]:
        return decide(pointer, stored, policy, needed_since=needed_since, now=now)

    current = served(storage, alpha_id)
    if current is None:
        return tuple(GcDecision(one, NO_POINTER) for one in stored)
    removable = _removable(decisions(current))
    if dry_run or not (removable or current.removing):
        return decisions(current)

    def announce(pointer: Pointer | None) -> Pointer | None:
        if pointer is None:
            return None
        named = tuple(sorted({*_removable(decisions(pointer)), *pointer.removing}))
        return None if named == pointer.removing else replace(pointer, removing=named)

    announced = compare_and_swap(storage, alpha_id, announce) or served(storage, alpha_id)
    if announced is None:
        return tuple(GcDecision(one, NO_POINTER) for one in stored)
    removed = set(announced.removing)
    for snapshot in announced.removing:
        remove_snapshot(storage, alpha_id, snapshot)

    def conclude(pointer: Pointer | None) -> Pointer | None:
        if pointer is None or not removed & set(pointer.removing):
            return None
        return replace(
            pointer,
            removing=tuple(snapshot for snapshot in pointer.removing if snapshot not in removed),
            earlier={name: one for name, one in pointer.earlier.items() if name not in removed},
        )

    compare_and_swap(storage, alpha_id, conclude)
    return tuple(
        GcDecision(f.stored, None) if f.stored.snapshot in removed else f for f in decisions(announced)
    )


def _removable(decisions: tuple[GcDecision, ...]) -> tuple[str, ...]:
    return tuple(decision.stored.snapshot for decision in decisions if decision.keep_reason is None)
