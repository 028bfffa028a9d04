"""Move an alpha's pointer, the step that changes the served snapshot.

Builders, rollback and gc change a pointer only by :func:`compare_and_swap`, which uses a lock in a local folder and a
conditional write on an object store. The pointer also coordinates their work on files: gc first lists in it the snapshots
that it will remove, and a command that serves a snapshot checks the files after reading the pointer that it will replace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Final

from datasets.catalogue.pointer_index import record_move
from datasets.figures.headline import has_headline
from datasets.layout import CATALOG, MANIFEST, by_alpha, pointer_path, snapshot_path
from datasets.manifest import Manifest
from datasets.pointer import MAX_EARLIER_SNAPSHOTS, Earlier, Pointer, RollbackScope
from datasets.storage import Storage, Version
from schemas.errors import (
    AlphaNotPublished,
    OtherFormat,
    PublicationContended,
    PublicationRefused,
    SnapshotCorrupt,
)
from schemas.instants import utc_text
from schemas.version import schema_version

_MAX_ATTEMPTS: Final = 50
"""Lost races in a row before giving up; in each, another process moved the alpha's pointer."""
_NAMES_SHOWN: Final = 3
"""Maximum number of alphas named in a message."""


@dataclass(frozen=True, slots=True)
class Published:
    """Result of a publication.

    Attributes
    ----------
    alpha_id, snapshot
        The served snapshot.
    changed
        False if the snapshot was already served and nothing was written.
    """

    alpha_id: str
    snapshot: str
    changed: bool


def served(storage: Storage, alpha_id: str) -> Pointer | None:
    """Return the pointer of an alpha; None if it is not published."""
    path = pointer_path(alpha_id)
    try:
        return _decode(storage.read(path), path)
    except FileNotFoundError:
        return None


def require_served(storage: Storage, alpha_id: str) -> Pointer:
    """Return the pointer of an alpha; raises AlphaNotPublished."""
    pointer = served(storage, alpha_id)
    if pointer is None:
        raise not_published(storage, alpha_id, published_alphas(storage))
    return pointer


def published_alphas(storage: Storage) -> list[str]:
    """List the alphas that have a pointer, by name, with one listing."""
    return sorted(by_alpha(storage.entries(CATALOG)))


def not_published(storage: Storage, alpha_id: str, names: Sequence[str] | None = None) -> AlphaNotPublished:
    """Return the error for an unpublished alpha; it suggests similar ones of `names`, or else shows some of them."""
    message = f"{storage.address} publishes no alpha {alpha_id!r}"
    if names is None:
        return AlphaNotPublished(message)
    if near := get_close_matches(alpha_id, names, _NAMES_SHOWN):
        return AlphaNotPublished(f"{message}; did you mean {' or '.join(near)}?")
    if len(names) <= _NAMES_SHOWN:
        return AlphaNotPublished(f"{message}; it publishes {', '.join(names) or 'none'}")
    shown = ", ".join(names[:_NAMES_SHOWN])
    return AlphaNotPublished(f"{message}; it publishes {len(names)}, {shown} among them")


def publish_pointer(storage: Storage, pointer: Pointer, manifest: bytes, *, force: bool = False) -> Published:
    """Serve a snapshot whose files are all in place.

    Parameters
    ----------
    pointer, manifest
        Pointer to the snapshot, without the time of publication, and the bytes of its manifest.
    force
        Whether to serve the snapshot even if a later seal is served, the snapshot was rolled back, or the current pointer
        has another format.

    Raises
    ------
    PublicationRefused
        When a later seal is served, the snapshot was rolled back, or the alpha is withdrawn.
    PublicationContended
        When gc is removing the snapshot's files, or other writers were faster too many times.
    SnapshotCorrupt
        When a file of the snapshot is missing, because gc removed it after an earlier build.
    StorageUnavailable
        When the store does not answer; the served snapshot is unchanged.
    """

    def decide(current: Pointer | None) -> Pointer | None:
        if current is None:
            require_complete(storage, manifest)
            now = moment()
            return replace(pointer, published_at=now, first_published_at=now, begun_at=now)
        if (current.snapshot, current.manifest_sha256) == (pointer.snapshot, pointer.manifest_sha256):
            return None if has_headline(current.headline) else replace(current, headline=pointer.headline)
        if not force and pointer.snapshot in current.rolled_back:
            raise _rolled_back_error(current)
        sealed_at = datetime.fromisoformat(pointer.sealed_at)
        refuse(current, pointer.seal_digest, pointer.schema_version, sealed_at, force=force)
        refuse_removed(current, pointer)
        require_complete(storage, manifest)
        return next_pointer(current, pointer)

    changed = compare_and_swap(storage, pointer.alpha_id, decide, replace_other_format=force)
    return Published(pointer.alpha_id, pointer.snapshot, changed=changed is not None)


def compare_and_swap(
    storage: Storage,
    alpha_id: str,
    decide: Callable[[Pointer | None], Pointer | None],
    *,
    replace_other_format: bool = False,
) -> Pointer | None:
    """Replace a pointer by the result of a function, by compare-and-swap.

    Parameters
    ----------
    decide
        Called with the current pointer, None if there is none; returns the new one, or None to leave it unchanged. If
        another writer is faster, it is called again with the pointer that this writer wrote.
    replace_other_format
        Whether to treat a pointer of another format as missing, instead of raising.

    Returns
    -------
    Pointer or None
        The new pointer; None if it was not changed.

    Raises
    ------
    PublicationContended
        When other writers were faster too many times.
    SnapshotCorrupt
        When the current pointer cannot be read.
    """
    path = pointer_path(alpha_id)
    written: bytes | None = None
    for _ in range(_MAX_ATTEMPTS):
        version = storage.read_version(path)
        current = _decoded(version, path, replace_other_format=replace_other_format)
        if current is not None and version.data == written:
            # The client retried a write whose answer was lost, and the retry met its own result.
            break
        proposed = decide(current)
        if proposed is None:
            return None
        current, written = proposed, proposed.encode()
        if storage.put_if(path, written, version.tag):
            break
    else:
        raise PublicationContended(
            f"{alpha_id}: other builds moved its pointer {_MAX_ATTEMPTS} times meanwhile; try again"
        )
    record_move(storage)
    return current


def next_pointer(current: Pointer, following: Pointer) -> Pointer:
    """Return the successor of a pointer, with its history and decisions."""
    # A coarse clock, or one that was set back, must not reverse the order of snapshots.
    now = moment(after=datetime.fromisoformat(current.published_at))
    earlier = {
        **current.earlier,
        current.snapshot: Earlier(current.first_published_at, now, current.manifest_sha256),
    }
    before = earlier.pop(following.snapshot, None)
    latest = sorted(
        earlier, key=lambda snapshot: (datetime.fromisoformat(earlier[snapshot].replaced_at), snapshot)
    )
    return replace(
        following,
        published_at=now,
        first_published_at=before.published_at if before else now,
        begun_at=current.begun_at,
        earlier={snapshot: earlier[snapshot] for snapshot in sorted(latest[-MAX_EARLIER_SNAPSHOTS:])},
        # Serving a snapshot revokes the rollback from it.
        rolled_back={
            snapshot: scope
            for snapshot, scope in current.rolled_back.items()
            if snapshot != following.snapshot
            and not scope.covers(following.seal_digest, following.schema_version)
        },
        removing=current.removing,
        withdrawn=current.withdrawn,
        decisions=current.decisions,
    )


def rollback_scope(current: Pointer, proposed: Pointer) -> RollbackScope:
    """Return the scope of a rollback from one snapshot to another: the seal, its build with one version, or only the files. Pure."""
    if current.seal_digest != proposed.seal_digest:
        return RollbackScope(current.seal_digest, None)
    if current.schema_version != proposed.schema_version:
        return RollbackScope(current.seal_digest, current.schema_version)
    # Both snapshots have the same seal and version, so a wider scope would cover the served one too.
    return RollbackScope(None, None)


def is_current(pointer: Pointer, seal_digest: str) -> bool:
    """Whether a pointer serves the seal, built with this version of the pipeline. Pure."""
    built_from = (pointer.seal_digest, pointer.schema_version)
    return built_from == (seal_digest, schema_version()) and has_headline(pointer.headline)


def refuse(current: Pointer, seal_digest: str, declared: str, sealed_at: datetime, *, force: bool) -> None:
    """Refuse a seal that is older than the served one or was rolled back, and every seal of a withdrawn alpha.

    Parameters
    ----------
    current
        The current pointer.
    seal_digest, declared, sealed_at
        The candidate: digest of the seal, version of the declarations, and time of sealing.
    force
        Whether to refuse only withdrawn alphas.

    Raises
    ------
    PublicationRefused
        When the seal must not be served.
    """
    refuse_withdrawn(current)
    if force:
        return
    if current.was_rolled_back(seal_digest, declared):
        raise _rolled_back_error(current)
    if datetime.fromisoformat(current.sealed_at) > sealed_at:
        raise PublicationRefused(
            f"{current.alpha_id}: the snapshot served was sealed at {current.sealed_at}, later than this seal "
            f"({utc_text(sealed_at)}); give --force to serve the older one"
        )


def _rolled_back_error(current: Pointer) -> PublicationRefused:
    return PublicationRefused(
        f"{current.alpha_id}: this seal was rolled back; give --force to serve it again"
    )


def refuse_withdrawn(current: Pointer) -> None:
    """Refuse to serve a withdrawn alpha, forced or not; only `restore` ends a withdrawal.

    Raises
    ------
    PublicationRefused
        When the alpha is withdrawn.
    """
    if current.withdrawn:
        raise PublicationRefused(
            f"{current.alpha_id} is withdrawn, so nothing of it is published; "
            f"`alpha-results restore {current.alpha_id}` undoes that"
        )


def refuse_removed(current: Pointer, proposed: Pointer) -> None:
    """Refuse to serve a snapshot that gc is removing.

    Raises
    ------
    PublicationContended
        When the pointer lists the snapshot as being removed.
    """
    if proposed.snapshot in current.removing:
        raise PublicationContended(
            f"{proposed.alpha_id}: gc is removing the files of snapshot {proposed.snapshot}; try again when it is done, "
            f"or run `alpha-results gc` to finish one that was interrupted"
        )


def require_complete(storage: Storage, manifest: bytes) -> None:
    """Check that every file exists, because gc may have removed files of an earlier build that this build reuses.

    Raises
    ------
    SnapshotCorrupt
        When a file is missing or truncated.
    """
    decoded = Manifest.decode(manifest, "the manifest")
    folder = snapshot_path(decoded.alpha_id, decoded.snapshot)
    stored = storage.files_below(folder)
    for path, size in ((MANIFEST, len(manifest)), *((entry.path, entry.bytes) for entry in decoded.files)):
        if path not in stored or stored[path].size != size:
            raise SnapshotCorrupt(
                f"{folder}/{path} is missing or cut short, so the snapshot is not served; build the seal again"
            )


def _decoded(version: Version, path: str, *, replace_other_format: bool) -> Pointer | None:
    if version.data is None:
        return None
    try:
        return _decode(version.data, path)
    except OtherFormat:
        if replace_other_format:
            return None
        raise


def _decode(data: bytes, path: str) -> Pointer:
    """Decode a pointer; the message about a damaged one says how to replace it, which even a forced build does not."""
    try:
        return Pointer.decode(data, path)
    except OtherFormat:
        raise
    except SnapshotCorrupt as error:
        raise SnapshotCorrupt(f"{error}; remove that file and build the seal again") from error


def moment(after: datetime | None = None) -> str:
    """Return the current time in ISO 8601 to the microsecond, always later than a given time."""
    now = datetime.now(UTC)
    if after is not None:
        now = max(now, after + timedelta(microseconds=1))
    return utc_text(now, "microseconds")
