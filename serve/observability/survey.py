"""Looks in the background whether what is served is whole, so that health knows before a caller does."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from itertools import islice
from typing import Final

import structlog

from datasets.integrity import check_manifest
from datasets.layout import snapshot_path
from datasets.manifest import Manifest
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from datasets.storage import Storage
from schemas.errors import SnapshotError, StorageUnavailable
from serve.catalog import Catalog
from serve.observability.damage import Damage

_log = structlog.get_logger("serve.observability.survey")
_PAUSE_SECONDS: Final = 1.0
"""Between two passes over the alphas, and between two looks at those known to be damaged."""
_MAX_DAMAGED: Final = 50
"""Alphas known to be damaged that are checked in between."""
_REST_FACTOR: Final = 50
"""How many times longer than a look at one alpha the rest after it is: answering comes first."""


class Survey:
    """A thread that compares each publication with its pointer, and damaged ones with their digests.

    Of a root on this machine every alpha is checked again and again: its manifest against its pointer, the presence
    and the size of its files. Of a remote one each publication is checked once, its manifest alone: nothing is
    fetched that nobody may want. What stands in the files is compared when they are opened.

    Parameters
    ----------
    storage
        The datasets root.
    snapshots
        What is served.
    damage
        Called with what is found.
    """

    def __init__(self, storage: Storage, snapshots: Catalog, damage: Damage) -> None:
        self._storage = storage
        self._snapshots = snapshots
        self._damage = damage
        self._looked_at: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="survey", daemon=True)
        self._checked = float("-inf")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the alpha at work."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._pass()
            except Exception as error:  # noqa: BLE001 - whatever it was, the next pass may do better
                _log.warning("survey_broken_off", kind=type(error).__name__, reason=str(error))
            self._stop.wait(_PAUSE_SECONDS)

    def _pass(self) -> None:
        if self._storage.cache is not None:
            self._storage.cache.look()
        for snapshot in self._due():
            began = time.monotonic()
            self._look(snapshot)
            if self._stop.wait((time.monotonic() - began) * _REST_FACTOR) or not self._snapshots.followed:
                return

    def _due(self) -> Iterator[Snapshot]:
        """Yield what is served, and those known to be damaged in between as well."""
        yield from self._known_damaged()
        for pointer in self._snapshots.pointers():
            snapshot = self._snapshots.resolve(pointer.alpha_id)
            if snapshot is not None and (self._again(pointer) or snapshot not in self._looked_at):
                yield snapshot
            if time.monotonic() - self._checked >= _PAUSE_SECONDS:
                yield from self._known_damaged()

    def _again(self, pointer: Pointer) -> bool:
        """Whether a publication that was checked is checked once more."""
        return self._storage.folder is not None or pointer.alpha_id in self._damage.alphas

    def _known_damaged(self) -> Iterator[Snapshot]:
        for alpha_id in islice(self._damage.alphas, _MAX_DAMAGED):
            snapshot = self._snapshots.resolve(alpha_id)
            if snapshot is not None:
                yield snapshot
        self._checked = time.monotonic()

    def _look(self, snapshot: Snapshot) -> None:
        pointer = snapshot.pointer
        known = self._damage.alphas.get(pointer.alpha_id)
        try:
            reason = self._wrong(snapshot, pointer, all_files=known is not None)
        except SnapshotError as error:
            reason = str(error)
        except StorageUnavailable as error:
            if self._storage.folder is None:
                raise
            reason = str(error)
        if self._snapshots.resolve(pointer.alpha_id) is not snapshot or not self._snapshots.followed:
            return  # another one is served since, or the whole root went away
        if reason is not None:
            self._damage.found(pointer, reason)
        elif known is not None:
            self._damage.intact(pointer, known)
        self._looked_at.add(snapshot)

    def _wrong(self, snapshot: Snapshot, pointer: Pointer, *, all_files: bool) -> str | None:
        """Say what is wrong with a publication, None when nothing is; its files are compared with their digests if asked for."""
        manifest, faults = check_manifest(self._storage, pointer)
        if faults or manifest is None:
            return "; ".join(f"{fault.file} {fault.message}" for fault in faults)
        if all_files:
            for entry in manifest.files:
                snapshot.file(entry.dataset, entry.book)
        return self._incomplete(manifest, pointer) if self._storage.folder is not None else None

    def _incomplete(self, manifest: Manifest, pointer: Pointer) -> str | None:
        folder = snapshot_path(pointer.alpha_id, pointer.snapshot)
        for entry in manifest.files:
            size = self._storage.size(f"{folder}/{entry.path}")
            if size != entry.bytes:
                found = (
                    "is missing"
                    if size is None
                    else f"has {size} bytes where its manifest says {entry.bytes}"
                )
                return f"{folder}/{entry.path} {found}"
        return None
