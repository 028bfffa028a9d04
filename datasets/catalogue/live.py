"""The live catalogue: all pointers in memory, refreshed by one listing."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from datasets.catalogue.listing import Listing
from datasets.catalogue.pointer_index import (
    as_listed,
    decode,
    encode,
    last_move,
    prefer_single_reads,
    read_index,
    read_pointers,
)
from datasets.layout import CATALOG, SAVED_CATALOGUE, by_alpha, pointer_path
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from datasets.storage import Signature, Storage
from schemas.errors import SnapshotCorrupt, StorageUnavailable
from schemas.kinds import REQUIRED_KINDS

T = TypeVar("T")
_SAVE_SECONDS: Final = 30.0
"""Minimum seconds between two saves of a changing catalogue."""


class Catalogue:
    """Resolves alphas to served snapshots, and follows changes of pointers.

    Readers never wait for a refresh, and a request keeps the snapshot that it resolved while another one is published.

    A refresh lists the pointers and reads the changed ones concurrently; if many changed, it reads the index of the
    root (:mod:`datasets.catalogue.pointer_index`). If a remote root has a cache, the pointers are also saved there, so that a
    restart reads only the changed ones, and can serve while the store is unavailable.

    Parameters
    ----------
    storage
        The datasets root.
    list_seconds
        Seconds for which a listing is trusted while no move of a pointer is recorded; 0 to list on every refresh.
    """

    def __init__(self, storage: Storage, list_seconds: float = 0.0) -> None:
        self._storage = storage
        self._list_seconds = list_seconds
        self._signatures: dict[str, Signature] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self.resolve: Final = self._snapshots.get
        """Return the served snapshot of an alpha; None if the alpha is not published."""
        self.listing = Listing(())
        """All pointers at the last refresh."""
        self._lock = threading.Lock()
        self._refreshed = self._listed = self._saved_at = float("-inf")
        self._move: Signature | None = None
        self._complete = False
        self.listed_at = datetime.min.replace(tzinfo=UTC)
        """Start of the last complete listing; snapshots replaced before then are no longer served."""
        self.broken: dict[str, str] = {}
        """Alpha id -> reason why its pointer could not be read; the previous snapshot is still served."""
        self._unserved: dict[str, Pointer] = {}
        self._unsaved = False
        self._file = None
        if storage.cache is not None:
            self._file = storage.cache.folder / storage.identity / SAVED_CATALOGUE
            self._load(self._file)

    def refresh(self) -> bool:
        """Read the changed pointers.

        All pointers are listed if the last listing is older than `list_seconds`, or if a pointer moved. A move shows in
        one read of an object store, or in the modification time of a local folder.

        Returns
        -------
        bool
            Whether a served snapshot changed.

        Raises
        ------
        StorageUnavailable
            When the store does not answer, or when a catalogue that had pointers is suddenly empty, as after a disk was
            unmounted. The catalogue is then unchanged.
        """
        with self._lock:
            now = time.monotonic()
            move = last_move(self._storage) if self._list_seconds else None
            if move is None or move != self._move or now - self._listed >= self._list_seconds:
                self._move = None  # after a failure, the next refresh lists again
                changed = self._list(now)
                # List again if a pointer was removed between the listing and its read.
                self._move = move if self._complete else None
            else:
                changed = False
            self._refreshed = time.monotonic()
            self._save(changed=changed)
            return changed

    def _list(self, now: float) -> bool:
        started = datetime.now(UTC)
        known, signatures = self._signatures, by_alpha(self._storage.entries(CATALOG))
        if known and not signatures:
            raise StorageUnavailable(
                f"{self._storage.url(CATALOG)} lists no alpha, but listed {len(known)} before, which are "
                f"still served: mount its disk or restore that folder. If it was emptied on purpose, restart this program"
            )
        changed = [alpha for alpha, signature in signatures.items() if known.get(alpha) != signature]
        removed = known.keys() - signatures.keys()
        if changed or removed:
            self._apply(signatures, changed)
        self._complete = self._signatures == signatures
        self.listed_at, self._listed = started, now
        return bool(changed or removed)

    def _read(self, signatures: Mapping[str, Signature], changed: list[str]) -> dict[str, bytes | None]:
        """Read the changed pointers, from the index if there are many."""
        index = {} if prefer_single_reads(len(changed), len(signatures)) else read_index(self._storage)
        indexed = as_listed(index, {alpha: signatures[alpha] for alpha in changed})
        others = [alpha for alpha in changed if alpha not in indexed]
        return {alpha: data for alpha, (_, data) in indexed.items()} | read_pointers(self._storage, others)

    def _apply(self, listed: dict[str, Signature], changed: list[str]) -> None:
        def still_listed(entries: Mapping[str, T]) -> dict[str, T]:
            return {alpha: entry for alpha, entry in entries.items() if alpha in listed}

        snapshots, signatures = still_listed(self._snapshots), still_listed(self._signatures)
        broken, unserved = still_listed(self.broken), still_listed(self._unserved)
        for alpha, data in self._read(listed, changed).items():
            if data is None:
                continue  # removed since the listing; the next refresh notices
            try:
                pointer = _decoded(alpha, pointer_path(alpha), data)
            except SnapshotCorrupt as error:
                broken[alpha] = str(error)
            else:
                broken.pop(alpha, None)
                served = snapshots.get(alpha)
                unserved.pop(alpha, None)
                if pointer.is_withdrawn:
                    snapshots.pop(alpha, None)
                    unserved[alpha] = pointer
                elif served is None or served.pointer != pointer:
                    snapshots[alpha] = Snapshot(self._storage, pointer)
            signatures[alpha] = listed[alpha]
        self._signatures, self.broken, self._unserved = signatures, broken, unserved
        self._replace_listing(snapshots)

    def _replace_listing(self, snapshots: dict[str, Snapshot]) -> None:
        # Latest started first, ties by address: two stable sorts.
        pointers = sorted((s.pointer for s in snapshots.values()), key=lambda x: x.alpha_id)
        pointers.sort(key=lambda x: datetime.fromisoformat(x.started_at), reverse=True)
        for alpha in self._snapshots.keys() - snapshots.keys():
            del self._snapshots[alpha]
        self._snapshots.update(snapshots)
        self.listing = Listing(tuple(pointers), tuple(self._unserved.values()))

    def _load(self, file: Path) -> None:
        """Load the pointers that an earlier process saved; a missing or damaged file is ignored."""
        try:
            saved = decode(file.read_bytes())
            pointers = {alpha: Pointer.decode(data, file.name) for alpha, (_, data) in saved.items()}
        except (OSError, SnapshotCorrupt):
            return
        self._signatures = {alpha: signature for alpha, (signature, _) in saved.items()}
        self._replace_listing(
            {alpha: Snapshot(self._storage, pointer) for alpha, pointer in pointers.items()}
        )

    def _save(self, *, changed: bool) -> None:
        """Save the pointers locally after a change, at limited frequency; if that fails, the old file stays."""
        self._unsaved = self._unsaved or changed
        if self._file is None or not self._unsaved or time.monotonic() - self._saved_at < _SAVE_SECONDS:
            return
        pointers = {
            # Of a pointer that cannot be read, the previous one is saved without a signature, so that a restart reads it again.
            alpha: (() if alpha in self.broken else self._signatures[alpha], snapshot.pointer.encode())
            for alpha, snapshot in self._snapshots.items()
            if alpha in self._signatures
        }
        draft = self._file.with_name(f"{uuid.uuid4().hex}.tmp")
        with contextlib.suppress(OSError):
            draft.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_bytes(encode(pointers))
                draft.replace(self._file)
            finally:
                draft.unlink(missing_ok=True)
        self._unsaved, self._saved_at = False, time.monotonic()

    @property
    def withdrawn(self) -> Mapping[str, Pointer]:
        """Alpha id -> pointer of withdrawn alphas."""
        return {alpha: pointer for alpha, pointer in self._unserved.items() if pointer.withdrawn}

    @property
    def age(self) -> float:
        """Seconds since the last successful refresh; infinite before the first."""
        return time.monotonic() - self._refreshed


def _decoded(alpha: str, path: str, data: bytes) -> Pointer:
    pointer = Pointer.decode(data, path)
    if pointer.alpha_id != alpha:
        raise SnapshotCorrupt(f"{path} names another alpha, {pointer.alpha_id!r}")
    wrong = [name for name in _MOMENTS if not _is_moment(getattr(pointer, name))]
    if wrong or not set(pointer.missing).issubset(REQUIRED_KINDS):
        raise SnapshotCorrupt(
            f"{path} is not a pointer: {', '.join(wrong or ['missing'])} cannot have the value stated"
        )
    return pointer


def _is_moment(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


_MOMENTS: Final = ("started_at", "sealed_at", "published_at", "first_published_at")
