"""The pointers of a root on an object store in one object, so that a first look is a listing and one read.

::

    <root>/index/pointers.json    entity tag, size and text of every pointer, rewritten by batches and gc
    <root>/index/moved            the latest moves of pointers: an idle poll is one conditional read of it, and a poll
                                  after few moves reads those pointers alone

Both are hints. A text is used only where a listing of the store still shows its tag and size, and all pointers are listed
now and then whatever the hints say. A node keeps a file of the same format, for its next start.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from datasets.layout import CATALOG, INDEX, by_alpha, pointer_path
from datasets.manifest import digest
from datasets.storage import Signature, Storage
from schemas.errors import AlphaNotPublished, AlphaResultsError, SnapshotCorrupt

_log = logging.getLogger(__name__)

INDEX_PATH: Final = f"{INDEX}/pointers.json"
MOVED_PATH: Final = f"{INDEX}/moved"
MAX_INDEX_BYTES: Final = 256 << 20
"""A larger index, of some 100,000 alphas, is neither written nor read."""
MAX_MOVES: Final = 100
"""Moves that are recorded; a reader that missed more lists all pointers."""
_FORMAT: Final = 2
_TRIES: Final = 3

Texts = Mapping[str, tuple[Signature, bytes]]
"""Alpha -> what a listing showed of its pointer, and the pointer's bytes."""


class Moves(NamedTuple):
    """The latest moves of pointers.

    Attributes
    ----------
    tag
        Changes with every move.
    entries
        Id and alpha of each move, oldest first; empty in a folder.
    """

    tag: Signature
    entries: tuple[tuple[str, str], ...] = ()

    def since(self, earlier: Moves | None) -> tuple[str, ...] | None:
        """Return the alphas whose pointers moved since an earlier poll; None where that is not recorded."""
        if earlier is None:
            return None
        if earlier.tag == self.tag:
            return ()
        ids = [move for move, _ in self.entries]
        if not earlier.entries or earlier.entries[-1][0] not in ids:
            return None
        begin = ids.index(earlier.entries[-1][0]) + 1
        return tuple(dict.fromkeys(alpha for _, alpha in self.entries[begin:]))


def encode(pointers: Texts) -> bytes:
    """Return the bytes of an index: a line with the digest of the rest, then a JSON document."""
    entries = {alpha: (*signature, data.decode()) for alpha, (signature, data) in pointers.items()}
    body = orjson.dumps({"format": _FORMAT, "pointers": entries})
    return digest(body).encode() + b"\n" + body


def decode(data: bytes | None) -> Texts:
    """Read an index back; empty when there is none, it is damaged or of another format."""
    expected, _, body = (data or b"").partition(b"\n")
    if digest(body).encode() != expected:
        return {}
    content = orjson.loads(body)
    if content.get("format") != _FORMAT:
        return {}
    return {alpha: (tuple(marks), text.encode()) for alpha, (*marks, text) in content["pointers"].items()}


def are_few(changed: int, alphas: int) -> bool:
    """Whether so many pointers are sooner read one by one than from the index."""
    return changed <= 8 + alphas // 100


def record_move(storage: Storage, alpha_id: str | None) -> None:
    """Record for readers of an object store that a pointer moved; in a folder its modification time is the record.

    The publication stands whether or not this succeeds: readers find the pointer when they list all of them next.

    Parameters
    ----------
    alpha_id
        Whose pointer; None has readers list them all.
    """
    if storage.folder is not None:
        return
    move = uuid.uuid4().hex
    try:
        for _ in range(_TRIES if alpha_id is not None else 0):
            version = storage.read_version(MOVED_PATH)
            entries = [*_decode_moves(version.data), (move, alpha_id)]
            if storage.put_if(MOVED_PATH, orjson.dumps(entries[-MAX_MOVES:]), version.tag):
                return
        storage.put(MOVED_PATH, orjson.dumps([(move, "")]))
    except (AlphaResultsError, OSError) as error:
        _log.warning(
            "%s of %s cannot be written, so serving nodes find the change when they list all pointers next: %s",
            MOVED_PATH,
            storage.address,
            error,
        )


def read_moves(storage: Storage, known: Moves | None) -> Moves | None:
    """Return the latest moves of pointers; None where they are not recorded.

    Parameters
    ----------
    known
        Those of the poll before, which make the read conditional.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    if storage.folder is not None:
        signature = storage.folder_signature(CATALOG)
        return None if signature is None else Moves(signature)
    version = storage.read_if_changed(MOVED_PATH, str(known.tag[0]) if known else None)
    if version is None:
        return known
    return None if version.tag is None else Moves((version.tag,), _decode_moves(version.data))


def _decode_moves(data: bytes | None) -> tuple[tuple[str, str], ...]:
    """Read recorded moves; empty when there are none, or they are damaged: readers then list all pointers."""
    try:
        entries = tuple((str(move), str(alpha)) for move, alpha in orjson.loads(data or b"[]"))
        for _, alpha in entries:
            pointer_path(alpha) if alpha else None
    except (ValueError, TypeError, AlphaNotPublished):
        return ()
    return entries


def read_index(storage: Storage) -> Texts:
    """Return the index of an object store; empty where there is none, or it is too large.

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


def rebuild(storage: Storage) -> None:
    """Rewrite the index of an object store from a listing, unless it misses only few pointers.

    One that cannot be written, or that somebody else rewrote meanwhile, costs first looks some reads and nothing else.
    """
    if storage.folder is not None:
        return
    try:
        version = storage.read_version(INDEX_PATH, MAX_INDEX_BYTES)
        known, listed = decode(version.data), by_alpha(storage.entries(CATALOG))
        pointers = {
            alpha: known[alpha]
            for alpha, signature in listed.items()
            if alpha in known and known[alpha][0] == signature
        }
        missing = [alpha for alpha in listed if alpha not in pointers]
        if known and are_few(len(missing), len(listed)):
            return
        contents = storage.read_many([pointer_path(alpha) for alpha in missing])
        for alpha in missing:
            data = contents[pointer_path(alpha)]
            if data is not None and _is_text(data):
                pointers[alpha] = (listed[alpha], data)
        if len(data := encode(pointers)) <= MAX_INDEX_BYTES:
            storage.put_if(INDEX_PATH, data, version.tag)
        if not known:  # as in a root that was copied without its index
            record_move(storage, None)
    except (AlphaResultsError, OSError) as error:
        _log.warning("the index of %s cannot be written: %s", storage.address, error)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
