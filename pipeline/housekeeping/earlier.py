"""An earlier snapshot that is to be served again: read whole before anything moves."""

from __future__ import annotations

from dataclasses import replace

import orjson

from datasets.headline import stored_headline
from datasets.integrity import check_files
from datasets.layout import DESCRIPTION, MANIFEST, snapshot_path
from datasets.manifest import Manifest, named_by_content
from datasets.pointer import Pointer, make_pointer
from datasets.storage import Storage
from schemas.errors import AlphaNotPublished, SnapshotCorrupt


def intact(storage: Storage, alpha: str, snapshot: str) -> tuple[Pointer, bytes]:
    """Compare every file of a snapshot with its digest.

    Returns
    -------
    tuple
        The pointer that serves it, and the bytes of its manifest.

    Raises
    ------
    AlphaNotPublished
        When the root has no such snapshot.
    SnapshotCorrupt
        When it is not as it was published; the first file that differs is named.
    StorageUnavailable
        When the store does not answer.
    """
    path = f"{snapshot_path(alpha, snapshot)}/{MANIFEST}"
    try:
        encoded = storage.read(path)
    except FileNotFoundError:
        raise AlphaNotPublished(
            f"{alpha} has no snapshot {snapshot}; `alpha-results show {alpha}` lists those it has"
        ) from None
    manifest = Manifest.decode(encoded, path)
    if not named_by_content(encoded, snapshot):
        raise SnapshotCorrupt(f"snapshot {snapshot} is not intact: {path} is not what its id was made of")
    faults = check_files(storage, manifest, alpha, snapshot)
    if faults:
        raise SnapshotCorrupt(f"snapshot {snapshot} is not intact: {faults[0].file} {faults[0].message}")
    pointer = make_pointer(manifest, _description(storage, manifest))
    return replace(pointer, headline=stored_headline(storage, manifest)), encoded


def _description(storage: Storage, manifest: Manifest) -> dict[str, object] | None:
    if "description" not in manifest.kinds:
        return None
    found: dict[str, object] = orjson.loads(
        storage.read(f"{snapshot_path(manifest.alpha_id, manifest.snapshot)}/{DESCRIPTION}")
    )
    return found
