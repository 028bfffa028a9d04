"""Decisions of operators on an alpha: rollback, withdrawal, restoration.

Each decision is one move of the pointer, which records who decided, when and why. The pointer of a withdrawn alpha remains
and names an empty snapshot, so that a catalogue of withdrawn alphas is not mistaken for a lost one.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from datasets.layout import MANIFEST, snapshot_path
from datasets.manifest import NO_SEAL, Manifest, digest
from datasets.pointer import Decision, Pointer, make_pointer
from datasets.publication.pointers import (
    Published,
    compare_and_swap,
    moment,
    next_pointer,
    not_published,
    refuse_removed,
    refuse_withdrawn,
    require_complete,
    require_served,
    rollback_scope,
)
from datasets.storage import Storage
from schemas.errors import PublicationContended, SettingsError
from schemas.kinds import REQUIRED_KINDS

_END_OF_TIME: Final = "9999-12-31T23:59:59Z"
_BEGINNING: Final = "0001-01-01T00:00:00Z"
MAX_REASON_CHARACTERS: Final = 500
"""Maximum characters of a reason, which is stored in the pointer."""


@dataclass(frozen=True, slots=True)
class Author:
    """Author and reason of a decision.

    Attributes
    ----------
    by
        User and host.
    reason
        Empty when none was given.
    """

    by: str
    reason: str = ""

    def decision(self, act: str, snapshot: str) -> Decision:
        """Return a new decision, made now."""
        return Decision(act, moment(), self.by, self.reason, snapshot)


def author(reason: str | None) -> Author:
    """Return the user of this process as the author of a decision.

    Raises
    ------
    SettingsError
        When the reason is too long, or is not UTF-8.
    """
    text = " ".join((reason or "").split())
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SettingsError("--reason: it holds bytes that are not UTF-8; write it in UTF-8") from error
    if len(text) > MAX_REASON_CHARACTERS:
        raise SettingsError(
            f"--reason: it has {len(text)} characters; at most {MAX_REASON_CHARACTERS} are allowed"
        )
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"  # a user without a name, as in a container
    return Author(f"{user}@{socket.gethostname()}", text)


def roll_back(storage: Storage, pointer: Pointer, manifest: bytes, by: Author, before: str) -> Published:
    """Serve an earlier snapshot, and record the rollback from the current one.

    Parameters
    ----------
    pointer, manifest
        Pointer and manifest of the earlier snapshot, as in :func:`datasets.publication.pointers.publish_pointer`.
    before
        The snapshot that was served when the operator decided.

    Returns
    -------
    Published
        Not changed if the snapshot is already served.

    Raises
    ------
    PublicationRefused
        While gc removes the files of the earlier snapshot, if the alpha is withdrawn, and if another snapshot than `before`
        is served by now.
    SnapshotCorrupt
        When a file of the earlier snapshot is missing.
    StorageUnavailable
        When the store does not answer; the served snapshot is unchanged.
    """

    def decide(current: Pointer) -> Pointer | None:
        refuse_withdrawn(current)
        if (current.snapshot, current.manifest_sha256) == (pointer.snapshot, pointer.manifest_sha256):
            return None
        if current.snapshot != before:
            raise PublicationContended(
                f"{current.alpha_id}: {current.snapshot} replaced {before} in the meantime, so nothing was rolled back; "
                "try again to roll it back, too"
            )
        refuse_removed(current, pointer)
        require_complete(storage, manifest)
        # Dated before the move, so that readers can match decision and move.
        decision = by.decision("rollback", current.snapshot)
        following = next_pointer(current, pointer)
        return replace(
            following,
            rolled_back={**following.rolled_back, current.snapshot: rollback_scope(current, following)},
            decisions=following.with_decision(decision),
        )

    changed = _move(storage, pointer.alpha_id, decide)
    return Published(pointer.alpha_id, pointer.snapshot, changed=changed is not None)


def withdraw(storage: Storage, alpha_id: str, by: Author) -> Published:
    """Stop serving an alpha until it is restored, even if it is built meanwhile.

    Returns
    -------
    Published
        The snapshot that was served. Not changed if the alpha is already withdrawn.

    Raises
    ------
    AlphaNotPublished
        When the alpha is not published.
    SettingsError
        When the store does not honour conditional writes, and single-writer mode is off.
    StorageUnavailable
        When the store does not answer, or its disk is full; the served snapshot is unchanged.
    """
    require_served(storage, alpha_id)
    storage.require_safe_writers()  # before the first write
    empty = _put_empty(storage, alpha_id, _END_OF_TIME)

    def decide(current: Pointer) -> Pointer | None:
        if current.withdrawn:
            return None
        refuse_removed(current, empty)
        decisions = current.with_decision(by.decision("withdraw", current.snapshot))
        return replace(next_pointer(current, empty), withdrawn=current.snapshot, decisions=decisions)

    changed = _move(storage, alpha_id, decide)
    final = changed or require_served(storage, alpha_id)
    return Published(alpha_id, final.withdrawn or final.snapshot, changed=changed is not None)


def restore(
    storage: Storage, alpha_id: str, by: Author, last_served: tuple[Pointer, bytes] | None
) -> Published:
    """Restore a withdrawn alpha: serve its last snapshot, or let the next build serve a new one.

    Parameters
    ----------
    last_served
        Pointer to the snapshot that was served when the alpha was withdrawn, and the bytes of its manifest; None if its files are gone.

    Raises
    ------
    AlphaNotPublished
        When the alpha is not published.
    PublicationRefused
        When the alpha was withdrawn again meanwhile, or gc is removing the snapshot's files.
    SettingsError
        As in :func:`withdraw`.
    SnapshotCorrupt, StorageUnavailable
        As in :func:`roll_back`.
    """
    storage.require_safe_writers()  # before the first write
    if last_served is None:
        following = _put_empty(storage, alpha_id, _BEGINNING)
    else:
        following, manifest = last_served

    def decide(current: Pointer) -> Pointer | None:
        if not current.withdrawn:
            return None
        if last_served is not None:
            if following.snapshot != current.withdrawn:
                raise PublicationContended(f"{alpha_id} was withdrawn again in the meantime; try again")
            refuse_removed(current, following)
            require_complete(storage, manifest)
        decisions = current.with_decision(by.decision("restore", current.withdrawn))
        return replace(next_pointer(current, following), withdrawn=None, decisions=decisions)

    changed = _move(storage, alpha_id, decide)
    return Published(alpha_id, following.snapshot, changed=changed is not None)


def _move(storage: Storage, alpha_id: str, decide: Callable[[Pointer], Pointer | None]) -> Pointer | None:
    """Replace the pointer of a published alpha by compare-and-swap."""

    def decide_served(current: Pointer | None) -> Pointer | None:
        if current is None:
            raise not_published(storage, alpha_id)
        return decide(current)

    return compare_and_swap(storage, alpha_id, decide_served)


def empty_snapshots(alpha_id: str) -> frozenset[str]:
    """Return the ids of the empty snapshots of a withdrawn alpha."""
    return frozenset(
        _empty_manifest(alpha_id, sealed_at).snapshot for sealed_at in (_END_OF_TIME, _BEGINNING)
    )


def _empty_manifest(alpha_id: str, sealed_at: str) -> Manifest:
    """Return the manifest of an empty snapshot; its sealing time determines which seals may replace it."""
    return Manifest(
        schema_version="none",
        alpha_id=alpha_id,
        source_alpha_id=alpha_id,
        snapshot="",
        seal_digest=NO_SEAL,
        started_at=_BEGINNING,
        sealed_at=sealed_at,
        equity_basis=1.0,
        smoothing=None,
        engine={},
        kinds=(),
        missing=tuple(REQUIRED_KINDS),
        columns={},
        files=(),
    ).with_id()


def _put_empty(storage: Storage, alpha_id: str, sealed_at: str) -> Pointer:
    """Write the manifest of an empty snapshot, before the pointer moves as for every snapshot, and return its pointer."""
    manifest = _empty_manifest(alpha_id, sealed_at)
    encoded = manifest.encode()
    storage.put(f"{snapshot_path(alpha_id, manifest.snapshot)}/{MANIFEST}", encoded)
    return make_pointer(manifest, digest(encoded), None)
