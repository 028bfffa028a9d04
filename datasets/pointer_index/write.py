"""Recording in the index that a pointer moved: after the pointer, on condition that nobody else wrote meanwhile.

The head is read first and the pointer after it. Whoever moves the same pointer later writes the head later too, so a
head that could be written never says an older thing than the one it replaced.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from datasets.layout import pointer_path
from datasets.pointer_index.fold import fold
from datasets.pointer_index.format import HEAD, Head, mark_of
from datasets.pointer_index.read import known_head
from datasets.storage import Storage
from datasets.storage.disk import locked
from schemas.errors import AlphaResultsError

_log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 30.0
"""How long a publication tries to be recorded while others are quicker."""
_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.3
_TURN_SECONDS: Final = 2.0
"""How long the other builds of this machine are waited for: one of them may hang."""
FOLD_AT: Final = 128
"""Changes from which a new base is made: a first look reads each of these pointers by itself."""
_FOLD_EVERY: Final = 32
"""Of those that find so many changes one in this many makes it, for several may publish at once."""


def record(storage: Storage, alpha_id: str) -> bool:
    """Record that the pointer of an alpha moved.

    The publication stands whatever becomes of this: an index that cannot be written is a warning in the log, and
    readers find the pointer when they list all of them next.

    Returns
    -------
    bool
        Whether the index says so now; False too where there is none, on a folder of this machine.
    """
    if storage.folder is not None:
        return False
    try:
        with _one_of_this_machine(storage):
            head = _recorded(storage, alpha_id)
        if head is not None and _wants_base(head):
            fold(storage)
    except (AlphaResultsError, OSError) as error:
        _log.warning(
            "the index of %s cannot be written, so serving nodes find the change of %s when they list all pointers "
            "next: %s",
            storage.address,
            alpha_id,
            error,
        )
        return False
    return head is not None


@contextlib.contextmanager
def _one_of_this_machine(storage: Storage) -> Iterator[None]:
    """Have the builds of a batch take turns: each would only find that the others were quicker, and ask again.

    Without a turn, after a while or for want of a lock, the store tells who was first.
    """
    path = Path(tempfile.gettempdir()) / f"alpha-results-index-{os.getuid()}-{storage.identity}.lock"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(locked(path, _TURN_SECONDS))
        yield


def _wants_base(head: Head) -> bool:
    """Whether it falls to the writer of a head to make a new base: one that was missing or damaged names none."""
    changes = len(head.changes)
    return (not head.base and changes == 1) or (changes >= FOLD_AT and changes % _FOLD_EVERY == 0)


def _recorded(storage: Storage, alpha_id: str) -> Head | None:
    """Return the head that says so; None when it could not be written, or there is no pointer any more."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, _FIRST_PAUSE
    while True:
        seen = storage.read_version(HEAD)
        head = known_head(seen)
        pointer = storage.read_version(pointer_path(alpha_id))
        if pointer.data is None:
            return None  # removed by hand: a listing tells
        mark = mark_of(pointer)
        if head is not None and head.changes.get(alpha_id) == mark:
            return head  # somebody who was quicker saw this pointer already
        following = replace(head or Head(), changes={**(head or Head()).changes, alpha_id: mark})
        if storage.compare_and_swap(HEAD, following.encode(), seen):
            return following
        if time.monotonic() > deadline:
            _log.warning("%s: others wrote the index of %s all the time", alpha_id, storage.address)
            return None
        time.sleep(random.uniform(0, pause))  # noqa: S311 - who waits how long is no secret
        pause = min(2 * pause, _LONGEST_PAUSE)
