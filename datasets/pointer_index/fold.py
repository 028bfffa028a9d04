"""Making a new base: what the index says, checked against a listing of the pointers."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from datasets.layout import CATALOG, INDEX, by_alpha, pointer_path
from datasets.pointer_index.format import HEAD, Base, Head, Mark, base_path
from datasets.pointer_index.read import known_head, read_current
from datasets.storage import Storage
from schemas.errors import AlphaResultsError

_log = logging.getLogger(__name__)

_READS: Final = 1_000
"""Pointers that one publication reads at most, so that it does not wait for a root that had no index yet."""
_ATTEMPTS: Final = 20
_LEFT_BEHIND: Final = timedelta(hours=1)
"""Age from which a base that the head does not name was left by a writer that died."""


def rebuild(storage: Storage) -> bool:
    """Make a new base that has every pointer of the root, and remove what interrupted writers left of the index.

    Returns
    -------
    bool
        Whether the index is complete now; True where there is none, on a folder of this machine.
        Where it cannot be written readers list the pointers, so that is a
        warning in the log and not an error.
    """
    if storage.folder is not None:
        return True
    try:
        return _rebuilt(storage)
    except (AlphaResultsError, OSError) as error:
        _log.warning("the index of %s cannot be written: %s", storage.address, error)
        return False


def _rebuilt(storage: Storage) -> bool:
    made = fold(storage, reads=None)
    head = known_head(storage.read_version(HEAD))
    current = {HEAD, base_path(head.base)} if head is not None else {HEAD}
    # A base that somebody is about to name is seconds old.
    before = datetime.now(UTC) - _LEFT_BEHIND
    found = storage.files_below(INDEX).values()
    storage.remove_files(one.path for one in found if one.path not in current and one.modified < before)
    return made


def fold(storage: Storage, reads: int | None = _READS) -> bool:
    """Put a base in place of the one there is, and of the changes since.

    Parameters
    ----------
    reads
        How many pointers are read at most that the index has wrong or not at all; None reads all of them. The rest
        waits for the next base.

    Returns
    -------
    bool
        Whether the head names the new base. False when somebody else made one meanwhile.
    """
    head, old = read_current(storage)
    made = _checked(storage, head or Head(), old or Base(), reads)
    name, data = made.encode()
    storage.write(base_path(name), data)
    for _ in range(_ATTEMPTS):
        seen = storage.read_version(HEAD)
        now = known_head(seen)
        if now is not None and now.base != (head.base if head else ""):
            if now.base != name:
                storage.remove_files([base_path(name)])
            return now.base == name
        before = head.changes if head else {}
        since = {
            alpha: mark for alpha, mark in (now.changes if now else {}).items() if before.get(alpha) != mark
        }
        if storage.compare_and_swap(HEAD, Head(name, since).encode(), seen):
            if head is not None and head.base not in {"", name}:
                storage.remove_files([base_path(head.base)])
            return True
    return False


def _checked(storage: Storage, head: Head, old: Base, reads: int | None) -> Base:
    listed: dict[str, Mark] = {
        alpha: (str(signature[0]), int(signature[1]))
        for alpha, signature in by_alpha(storage.entries(CATALOG)).items()
    }
    texts = {alpha: text for alpha, text in old.texts.items() if listed.get(alpha) == old.marks[alpha]}
    # Where not all are read, what moved lately goes first.
    wanted = sorted((a for a in listed if a not in texts), key=lambda alpha: alpha not in head.changes)[
        :reads
    ]
    found = storage.read_many([pointer_path(alpha) for alpha in wanted])
    # One that was moved since the listing keeps the mark of the listing, so nobody takes its text for that of now.
    texts |= {alpha: data for alpha, data in zip(wanted, found.values(), strict=True) if data is not None}
    marks = {alpha: mark for alpha, mark in listed.items() if alpha in texts}
    return Base(marks, texts)
