"""Verify the files of a root against manifests and pointers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datasets.layout import MANIFEST, snapshot_path
from datasets.manifest import FileEntry, Manifest, digest, has_content_id
from datasets.pointer import Pointer
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt
from schemas.plurals import counted


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a snapshot.

    Attributes
    ----------
    file
        Path of the file, relative to the root.
    check
        The failed check: ``pointer``, ``manifest``, ``digest``, … or the id of a rule.
    message
        Description of the fault.
    """

    file: str
    check: str
    message: str


def check_manifest(storage: Storage, pointer: Pointer) -> tuple[Manifest | None, list[Fault]]:
    """Read the manifest that a pointer names, and compare the two.

    Returns
    -------
    tuple
        The manifest, None if it cannot be trusted, and its faults.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    path = f"{snapshot_path(pointer.alpha_id, pointer.snapshot)}/{MANIFEST}"
    try:
        data = storage.read(path)
        if digest(data) != pointer.manifest_sha256:
            return None, [Fault(path, "digest", "is not the manifest its pointer names: its SHA-256 differs")]
        manifest = Manifest.decode(data, path)
        if not has_content_id(data, pointer.snapshot):
            return None, [
                Fault(path, "manifest", "does not match the snapshot's id, which is a digest of it")
            ]
    except FileNotFoundError:
        return None, [Fault(path, "missing", "is missing")]
    except SnapshotCorrupt as error:
        return None, [Fault(path, "manifest", f"cannot be read: {error}")]
    values = {
        name: (getattr(manifest, name), getattr(pointer, name))
        for name in ("alpha_id", "snapshot", "sealed_at", "started_at", "missing")
    }
    return manifest, [
        Fault(path, "manifest", f"says {name} {own!r} where its pointer says {expected!r}")
        for name, (own, expected) in values.items()
        if own != expected
    ]


def check_files(
    storage: Storage,
    manifest: Manifest,
    alpha_id: str,
    snapshot: str,
    on_intact: Callable[[FileEntry, bytes], None] | None = None,
) -> list[Fault]:
    """Read every file of a snapshot again and compare it with its manifest.

    Parameters
    ----------
    alpha_id, snapshot
        Alpha and snapshot of the folder, which the manifest must name.
    on_intact
        Called with the entry and the bytes of each intact file.

    Returns
    -------
    list of Fault
        Empty if all files are present and intact.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    folder = snapshot_path(alpha_id, snapshot)
    faults = []
    if (manifest.alpha_id, manifest.snapshot) != (alpha_id, snapshot):
        faults.append(
            Fault(
                f"{folder}/{MANIFEST}",
                "manifest",
                f"belongs to {manifest.alpha_id} {manifest.snapshot}, not to this folder",
            )
        )
    sizes = {below: stored.size for below, stored in storage.files_below(folder).items()}
    for entry in manifest.files:
        path = f"{folder}/{entry.path}"
        size = sizes.get(entry.path)
        try:
            # Limit the read to the size in the manifest, because the file may have grown.
            data = storage.read(path, entry.bytes) if size == entry.bytes else None
        except FileNotFoundError:
            size = data = None
        except SnapshotCorrupt as error:
            faults.append(Fault(path, "size", str(error)))
            continue
        if size is None:
            faults.append(Fault(path, "missing", "is missing, or not a regular file"))
        elif data is None:
            faults.append(
                Fault(path, "size", f"has {counted(size, 'byte')} where its manifest says {entry.bytes}")
            )
        elif digest(data) != entry.sha256:
            faults.append(Fault(path, "digest", "is not what was published: its SHA-256 differs"))
        elif on_intact is not None:
            on_intact(entry, data)
    return faults


def read_manifests(storage: Storage, alpha_id: str, snapshots: Sequence[str]) -> dict[str, Manifest]:
    """Read the manifests of several snapshots; missing ones, and those of another snapshot, are skipped.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    paths = {f"{snapshot_path(alpha_id, snapshot)}/{MANIFEST}": snapshot for snapshot in snapshots}
    manifests = {}
    for path, data in storage.read_many(list(paths)).items():
        try:
            if data is not None and has_content_id(data, paths[path]):
                manifests[paths[path]] = Manifest.decode(data, path)
        except SnapshotCorrupt:
            continue
    return manifests
