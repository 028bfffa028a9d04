"""Atomic publication: first the files (several at a time), then the manifest, and finally the pointer.

A snapshot's id is a digest of its manifest, which contains the digest of every file. A file that exists under an id is
therefore identical or damaged, and only a damaged file is replaced.

Readers start from the pointer, so a snapshot becomes visible in the last step, which replaces one small file atomically. A
build killed at any moment leaves published files untouched; the next build removes its files from the staging folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from datasets.disk import locked, make_folder, temporary_folder, writing
from datasets.headline import make_headline
from datasets.layout import MANIFEST, STAGING, snapshot_path
from datasets.manifest import FileEntry, Manifest, digest
from datasets.pointer import make_pointer
from datasets.publication.pointers import Published, publish_pointer
from datasets.storage import DRAFT_SUFFIX, Storage
from datasets.storage.file_digests import file_digest
from schemas.errors import SnapshotCorrupt, StorageUnavailable
from schemas.plurals import counted

CONCURRENT_WRITES: Final = 8
"""Files of a snapshot written concurrently: enough to hide the latency of a store, few enough to keep buffers small."""

DRAFT_AGE: Final = timedelta(hours=1)
"""Age at which a draft is removed: no write takes as long."""

_LOCK: Final = ".lock"
"""File in a build's folder that the build's process locks."""


class Publication:
    """A private folder in which a snapshot is written and from which it is published.

    Use it as a context manager, which removes unpublished files.

    Parameters
    ----------
    storage
        The datasets root.
    alpha_id
        Alpha of the snapshot.
    earlier
        Manifest of an earlier snapshot of the alpha. On a local root, identical files are hard links to its files. None if
        there is none, or if it cannot be trusted.

    Attributes
    ----------
    folder
        Folder for the snapshot's files, under their final relative paths.
    """

    def __init__(self, storage: Storage, alpha_id: str, earlier: Manifest | None = None) -> None:
        self._storage = storage
        self._alpha_id = alpha_id
        self._earlier = "" if earlier is None else snapshot_path(alpha_id, earlier.snapshot)
        self._lock = contextlib.ExitStack()
        self._earlier_digests = (
            {} if earlier is None else {entry.path: entry.sha256 for entry in earlier.files}
        )

    def __enter__(self) -> Self:
        """Create the staging folder and lock it; a folder without a held lock belongs to a dead build."""
        parent, prefix, mode = _drafts(self._storage)
        self._work = parent / f"{prefix}-{uuid.uuid4().hex}"
        self.folder = self._work / "snapshot"
        with writing(self._work):
            make_folder(parent)
            with locked(parent / f".{prefix}.lock"):
                _sweep(parent, prefix)
                try:
                    self._work.mkdir(mode=mode)
                    self._lock.enter_context(locked(self._work / _LOCK))
                    self.folder.mkdir()
                except OSError:
                    self.__exit__()
                    raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove unpublished files."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._lock.close()

    def link_unchanged(self, relative: str, sha256: str) -> bool:
        """Link the earlier snapshot's file into the folder if it has the same bytes, and return whether it has.

        Only on a local root. The earlier file is verified first, so that a damaged file is not reused.
        """
        if self._storage.folder is None or self._earlier_digests.get(relative) != sha256:
            return False
        source, target = self._storage.folder / self._earlier / relative, self.folder / relative
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(source)
            if file_digest(target) == sha256:
                return True
            target.unlink()
        except OSError:
            # Missing, unreadable, or on a file system without links: the caller writes the file, and reports disk errors.
            target.unlink(missing_ok=True)
        return False

    def commit(
        self, manifest: Manifest, description: Mapping[str, Any] | None, *, force: bool = False
    ) -> Published:
        """Move the files to their final names, then the manifest, then the pointer.

        Parameters
        ----------
        manifest
            Manifest of the files in `folder`, without its id; it is written after the files.
        description
            The description of the run, as for :func:`datasets.pointer.make_pointer`.
        force
            Whether to replace a pointer whose seal is newer.

        Returns
        -------
        Published
            ``changed`` is also True if the snapshot was already served and some of its files had to be replaced.

        Raises
        ------
        PublicationRefused
            When a later seal is served and `force` is not given.
        StorageUnavailable
            When the store is unavailable or the disk full; no part of the new snapshot is visible.
        """
        manifest = manifest.with_id()
        encoded = manifest.encode()
        pointer = replace(
            make_pointer(manifest, digest(encoded), description),
            headline=make_headline(manifest, lambda path: (self.folder / path).read_bytes()),
        )
        destination = snapshot_path(self._alpha_id, manifest.snapshot)
        present = self._storage.files_below(destination)

        def put(entry: FileEntry) -> bool:
            target = f"{destination}/{entry.path}"
            if entry.path in present and self._in_place(target, present[entry.path].size, entry):
                return False
            self._storage.put(target, self.folder / entry.path)
            return True

        # In any order, but all of them before the manifest.
        with ThreadPoolExecutor(CONCURRENT_WRITES, thread_name_prefix="upload") as pool:
            placed = any(list(pool.map(put, manifest.files)))
        if MANIFEST not in present or self._storage.read_version(f"{destination}/{MANIFEST}").data != encoded:
            self._storage.put(f"{destination}/{MANIFEST}", encoded)
            placed = True
        published = publish_pointer(self._storage, pointer, encoded, force=force)
        return Published(published.alpha_id, published.snapshot, changed=published.changed or placed)

    def _in_place(self, target: str, size: int, entry: FileEntry) -> bool:
        """Whether an earlier build already placed an identical file; intact files are never replaced."""
        if size != entry.bytes:
            return False
        try:
            return digest(self._storage.read(target, entry.bytes)) == entry.sha256
        except (FileNotFoundError, SnapshotCorrupt):
            return False


def sweep_staging(storage: Storage, before: datetime) -> None:
    """Remove files of killed processes: local build folders, and drafts in the root last written before an instant.

    Raises
    ------
    StorageUnavailable
        When the store does not answer, or the disk is read-only or too full for a lock file.
    """
    parent, prefix, _ = _drafts(storage)
    with writing(parent), locked(parent / f".{prefix}.lock"):
        _sweep(parent, prefix)
        if storage.folder is not None:
            for draft in parent.glob(f"*{DRAFT_SUFFIX}"):
                # A live process may have moved its draft into place since the listing.
                with contextlib.suppress(FileNotFoundError):
                    if draft.stat().st_mtime < before.timestamp():
                        draft.unlink()
            return
    staged = storage.files_below(STAGING).values()
    storage.remove_files(
        entry.path for entry in staged if entry.path.endswith(DRAFT_SUFFIX) and entry.modified < before
    )


def remove_snapshot(storage: Storage, alpha_id: str, snapshot: str) -> None:
    """Remove the files of a snapshot that its pointer names as being removed.

    A local folder is first renamed, which hides it in one step, even from a build that is placing files in it. If the process
    is killed, the renamed folder is later swept like that of a dead build.

    Raises
    ------
    StorageUnavailable
        When the store does not answer, or does not permit removal.
    """
    folder = snapshot_path(alpha_id, snapshot)
    if storage.folder is not None:
        parent, prefix, _ = _drafts(storage)
        removed = parent / f"{prefix}-{uuid.uuid4().hex}"
        with writing(storage.folder / folder), contextlib.suppress(FileNotFoundError):
            parent.mkdir(parents=True, exist_ok=True)
            (storage.folder / folder).replace(removed)
        shutil.rmtree(removed, ignore_errors=True)
        return
    storage.remove_files(entry.path for entry in storage.files_below(folder).values())
    # A bulk removal may fail for some files without an error.
    if remaining := storage.files_below(folder):
        raise StorageUnavailable(
            f"the store of {storage.address} did not remove {counted(len(remaining), 'file')} of {folder}: check that this user may remove files"
        )


def _drafts(storage: Storage) -> tuple[Path, str, int]:
    """Return the parent of build folders, the prefix of their names, and their permissions before the umask.

    For a local root, the parent is on the same disk, so that a rename publishes a file.
    """
    if storage.folder is not None:
        return storage.folder / STAGING, "build", 0o777
    return Path(temporary_folder()), f"alpha-results-build-{os.getuid()}", 0o700


def _sweep(parent: Path, prefix: str) -> None:
    """Remove the folders of killed builds, whose lock is free or missing.

    The caller holds the lock of `parent`, so that no build is between creating its folder and locking it. A folder
    without a lock file is being removed, or its owner was killed during the removal.
    """
    for folder in parent.glob(f"{prefix}-*"):
        # A held lock belongs to a live build, and an inaccessible folder to another user.
        refusals = (BlockingIOError, FileNotFoundError, PermissionError)
        with contextlib.suppress(*refusals), contextlib.ExitStack() as lock:
            if (folder / _LOCK).exists():
                lock.enter_context(locked(folder / _LOCK, wait=False))
            shutil.rmtree(folder, ignore_errors=True)
