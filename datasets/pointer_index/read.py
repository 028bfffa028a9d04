"""Reading the two objects of the index."""

from __future__ import annotations

from datasets.pointer_index.format import HEAD, Base, Head, IndexDamaged, base_path
from datasets.storage import Storage, Version


def known_head(seen: Version) -> Head | None:
    """Return the head in what was read, None when there is none or it is damaged: a writer begins anew then."""
    if seen.data is None:
        return None
    try:
        return Head.decode(seen.data)
    except IndexDamaged:
        return None


def read_base(storage: Storage, head: Head) -> Base:
    """Read the base that a head names.

    Raises
    ------
    IndexDamaged
        When it names none, or it is not there or damaged.
    """
    if not head.base:
        raise IndexDamaged("the head names no base")
    try:
        return Base.decode(head.base, storage.read(base_path(head.base)))
    except FileNotFoundError as error:
        raise IndexDamaged(f"the base {head.base} is not there") from error


def read_current(storage: Storage) -> tuple[Head | None, Base | None]:
    """Read the head, and its base where it can be read; once more when another base came meanwhile."""
    for _ in range(2):
        head = known_head(storage.read_version(HEAD))
        if head is None:
            break
        try:
            return head, read_base(storage, head)
        except IndexDamaged:
            continue
    return head, None
