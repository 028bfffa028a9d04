"""A published snapshot with changed check records, resigned and served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from datasets.headline import stored_headline
from datasets.layout import MANIFEST, pointer_path, snapshot_path
from datasets.manifest import Manifest, digest
from datasets.pointer import Pointer
from datasets.storage import open_storage


def record(root: Path, alpha: str, **changes: Any) -> Manifest:
    """Change fields of the served manifest and everything derived from it; return the new one."""
    path = root / pointer_path(alpha)
    pointer = Pointer.decode(path.read_bytes(), str(path))
    folder = root / snapshot_path(alpha, pointer.snapshot)
    manifest = Manifest.decode((folder / MANIFEST).read_bytes(), "manifest")
    manifest = replace(manifest, **changes).with_id()
    (folder / MANIFEST).write_bytes(manifest.encode())
    folder.rename(root / snapshot_path(alpha, manifest.snapshot))
    pointer = replace(
        pointer,
        snapshot=manifest.snapshot,
        manifest_sha256=digest(manifest.encode()),
    )
    headline = stored_headline(open_storage(root), manifest)
    path.write_bytes(replace(pointer, headline=headline).encode())
    return manifest
