"""Index of all pointers of an object store in one object, so that the first refresh needs one listing and one read.

::

    <root>/index/pointers.json    entity tag, size and text of every pointer, rewritten by batches and gc
    <root>/index/moved            rewritten by every move of a pointer, so that an idle poll is one read

Both are hints. A text is used only if a listing of the store still shows its tag and size, and all pointers are listed
periodically regardless of the hints. A node saves a file of the same format for its next start.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import orjson

from datasets.disk import reading
from datasets.layout import CATALOG, INDEX, by_alpha, pointer_path
from datasets.manifest import digest
from datasets.storage import Signature, Storage
from schemas.errors import AlphaResultsError, SnapshotCorrupt

_log = logging.getLogger(__name__)

INDEX_PATH: Final = f"{INDEX}/pointers.json"
MOVED_PATH: Final = f"{INDEX}/moved"
MAX_INDEX_BYTES: Final = 256 << 20
"""Maximum bytes of an index, enough for about 100,000 alphas."""
_FORMAT: Final = 2
_COARSEST_CLOCK_SECONDS: Final = 2.0
"""Resolution of the coarsest file-system clock: changes further apart have different times."""

Texts = Mapping[str, tuple[Signature, bytes]]
"""Alpha -> signature of its pointer in a listing, and the pointer's bytes."""


def encode(pointers: Texts) -> bytes:
    """Return the bytes of an index: a line with the digest of the rest, then a JSON document."""
    entries = {alpha: (*signature, data.decode()) for alpha, (signature, data) in pointers.items()}
    body = orjson.dumps({"format": _FORMAT, "pointers": entries})
    return digest(body).encode() + b"\n" + body


def decode(data: bytes | None) -> Texts:
    """Decode an index; empty if it is missing, damaged or of another format."""
    expected, _, body = (data or b"").partition(b"\n")
    if digest(body).encode() != expected:
        return {}
    content = orjson.loads(body)
    if content.get("format") != _FORMAT:
        return {}
    return {alpha: (tuple(marks), text.encode()) for alpha, (*marks, text) in content["pointers"].items()}


def prefer_single_reads(changed: int, alphas: int) -> bool:
    """Whether reading the changed pointers one by one is faster than reading the index."""
    return changed <= 8 + alphas // 100


def record_move(storage: Storage) -> None:
    """Tell readers of an object store that a pointer moved; in a local folder, its modification time tells them.

    Publication does not depend on this record: readers see the pointer at their next listing.
    """
    if storage.folder is not None:
        return
    try:
        storage.put(MOVED_PATH, uuid.uuid4().hex.encode())
    except (AlphaResultsError, OSError) as error:
        _log.warning(
            "%s of %s cannot be written, so serving nodes find the change when they list all pointers next: %s",
            MOVED_PATH,
            storage.address,
            error,
        )


def last_move(storage: Storage) -> Signature | None:
    """Return a value that changes with every recorded move of a pointer; None if moves are not recorded.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    if storage.folder is not None:
        return _folder_version(storage.folder / CATALOG)
    tag = storage.read_version(MOVED_PATH).tag
    return None if tag is None else (tag,)


def _folder_version(folder: Path) -> Signature | None:
    """Return device, inode and modification time of a folder; every rename into it changes the time.

    None for a missing folder, and for one that has just changed: the file system's clock is coarse, so another rename a
    moment later may leave the same time.
    """
    with reading(folder), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = folder.stat()
        if time.time() - status.st_mtime >= _COARSEST_CLOCK_SECONDS:
            return (status.st_dev, status.st_ino, status.st_mtime_ns)
    return None


def read_index(storage: Storage) -> Texts:
    """Return the index of an object store; empty if it is missing or too large.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    if storage.folder is not None:
        return {}
    try:
        return decode(storage.read_version(INDEX_PATH, MAX_INDEX_BYTES).data)
    except SnapshotCorrupt:
        return {}


def as_listed(texts: Texts, listed: Mapping[str, Signature]) -> dict[str, tuple[Signature, bytes]]:
    """Return the pointers of an index whose signature is that of a listing."""
    return {alpha: texts[alpha] for alpha in listed if alpha in texts and texts[alpha][0] == listed[alpha]}


def read_pointers(storage: Storage, alphas: Iterable[str]) -> dict[str, bytes | None]:
    """Return the bytes of the pointers of several alphas, as :meth:`datasets.storage.Storage.read_many`."""
    paths = {pointer_path(alpha): alpha for alpha in alphas}
    return {paths[path]: data for path, data in storage.read_many(list(paths)).items()}


def rebuild(storage: Storage) -> None:
    """Rewrite the index of an object store from a listing, unless it lacks only a few pointers.

    If it cannot be written, or another process rewrites it meanwhile, readers only need more reads at their start.
    """
    if storage.folder is not None:
        return
    try:
        version = storage.read_version(INDEX_PATH, MAX_INDEX_BYTES)
        known, listed = decode(version.data), by_alpha(storage.entries(CATALOG))
        pointers = as_listed(known, listed)
        missing = [alpha for alpha in listed if alpha not in pointers]
        if known and prefer_single_reads(len(missing), len(listed)):
            return
        for alpha, data in read_pointers(storage, missing).items():
            if data is not None and _is_text(data):
                pointers[alpha] = (listed[alpha], data)
        if len(data := encode(pointers)) <= MAX_INDEX_BYTES:
            storage.put_if(INDEX_PATH, data, version.tag)
        if not known:  # for example after the root was copied without its index
            record_move(storage)
    except (AlphaResultsError, OSError) as error:
        _log.warning("the index of %s cannot be written: %s", storage.address, error)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
