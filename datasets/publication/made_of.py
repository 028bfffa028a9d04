"""What a snapshot was made of, and what an operator's rollback therefore says of another one.

A rollback is a judgement on a seal, not on the files that one build made of it: built again with other declarations or
by another release of a library, the seal has another snapshot, and stays rolled back. Only when both snapshots are of
one seal is it a judgement on the build: then the seal stays good, as the earlier version of the declarations built it.
Where both have the same figures too, written by two releases of a library, it is one on those very files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from datasets.layout import MANIFEST, is_snapshot_id, snapshot_path
from datasets.manifest import Manifest, Pointer, digest, named_by_content
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt
from schemas.version import FIRST_RELEASE, same_declarations, snapshot_id

_VERSION = "@"


def is_made_of(pointer: Pointer, seal_digest: str, declared: str) -> bool | None:
    """Whether a pointer serves what this version of the declarations makes of a seal. Pure.

    Returns
    -------
    bool or None
        None when only the manifest can tell: another release moved the pointer.
    """
    seal, version = pointer.made_of
    if seal:
        return seal == seal_digest and same_declarations(version, declared)
    # The first release named a snapshot by these two alone.
    if pointer.snapshot == snapshot_id(seal_digest, FIRST_RELEASE):
        return same_declarations(FIRST_RELEASE, declared) or None
    return None


def was_rolled_back(pointer: Pointer, seal_digest: str, declared: str) -> bool:
    """Whether an operator rolled back from what a version of the declarations makes of a seal. Pure."""
    if not seal_digest:
        return False
    marks = pointer.notes.rolled_back
    # A mark without its snapshot is void: the first release takes out of the list what it serves again.
    if any(_judges(marks.get(snapshot, ""), seal_digest, declared) for snapshot in pointer.withdrawn):
        return True
    of_first = snapshot_id(seal_digest, FIRST_RELEASE)
    unknown = of_first in pointer.withdrawn and of_first not in marks
    # Where that very seal is served, it was the build that was judged.
    return unknown and pointer.made_of[0] != seal_digest


def make_mark(left: Pointer, wanted: Pointer) -> str:
    """Return how a rollback from one snapshot to another is remembered: by seal, by one build of it, or by its files alone. Pure."""
    return _mark_beside(*left.made_of, wanted)


def _mark_beside(seal: str, declared: str, wanted: Pointer) -> str:
    other, declared_of_other = wanted.made_of
    if seal != other:
        return seal
    # Of two writings with the same figures, what judges more than the files would judge the one that is served as well.
    return _VERSION if same_declarations(declared, declared_of_other) else f"{seal}{_VERSION}{declared}"


def lifted_by(current: Pointer, following: Pointer) -> frozenset[str]:
    """Return the snapshots whose rollback ends as another one, which says the opposite, becomes the served one. Pure."""
    seal, declared = following.made_of
    marks = current.notes.rolled_back
    lifted = {snapshot for snapshot in current.withdrawn if _judges(marks.get(snapshot, ""), seal, declared)}
    return frozenset({following.snapshot, *lifted})


def learned(storage: Storage, pointer: Pointer) -> Pointer:
    """Complete a pointer that another release moved by what the manifests in the root say.

    Returns
    -------
    Pointer
        With `made_of` of the served snapshot, and with a mark for each one rolled back from whose manifest is still
        there; where a manifest cannot be relied on, nothing is added.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    marks = pointer.notes.rolled_back
    unmarked = [one for one in pointer.withdrawn if one not in marks and is_snapshot_id(one)]
    unknown = [*unmarked, *([] if pointer.made_of[0] else [pointer.snapshot])]
    if not unknown:
        return pointer
    found = read_manifests(storage, pointer.alpha_id, unknown, {pointer.snapshot: pointer.manifest_sha256})
    notes = pointer.notes
    if pointer.snapshot in found:
        served = found[pointer.snapshot]
        notes = replace(
            notes,
            snapshot=pointer.snapshot,
            seal_digest=served.seal_digest,
            schema_version=served.declared,
            published_at=pointer.published_at,
        )
        pointer = replace(pointer, notes=notes)
    learned_marks = {
        snapshot: _mark_beside(manifest.seal_digest, manifest.declared, pointer)
        for snapshot, manifest in found.items()
        if snapshot in unmarked
    }
    return replace(pointer, notes=replace(notes, rolled_back={**marks, **learned_marks}))


def read_manifests(
    storage: Storage, alpha_id: str, snapshots: list[str], digests: Mapping[str, str] | None = None
) -> dict[str, Manifest]:
    """Read the manifests of several snapshots; one that is missing or not the snapshot's own is left out.

    Parameters
    ----------
    digests
        Snapshot -> SHA-256 its manifest must have, where that is known.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    paths = {f"{snapshot_path(alpha_id, snapshot)}/{MANIFEST}": snapshot for snapshot in snapshots}
    found = {}
    for path, data in storage.read_many(list(paths)).items():
        snapshot = paths[path]
        wanted = (digests or {}).get(snapshot)
        if data is None or (wanted is not None and digest(data) != wanted):
            continue
        try:
            manifest = Manifest.decode(data, path)
        except SnapshotCorrupt:
            continue
        if wanted is not None or named_by_content(data, snapshot):
            found[snapshot] = manifest
    return found


def _judges(mark: str, seal_digest: str, declared: str) -> bool:
    seal, versioned, version = mark.partition(_VERSION)
    return bool(seal) and seal == seal_digest and (not versioned or same_declarations(version, declared))
