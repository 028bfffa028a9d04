"""Following the index: what it says that it did not say before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from datasets.pointer_index.format import HEAD, Base, Head, IndexDamaged, Mark
from datasets.pointer_index.read import read_base
from datasets.storage import Storage

_ATTEMPTS: Final = 2


class Follower:
    """One reader's view of the index. Not safe between threads.

    Parameters
    ----------
    storage
        The root, on an object store.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage: Final = storage
        self._tag: str | None = None
        self._base = ""
        self.marks: dict[str, Mark] = {}
        """Alpha -> mark of its pointer, as the index said at the last look."""
        self.fault: str | None = "it was not read yet"
        """Why the index cannot be followed; None when it can."""
        self.base = Base()
        """The base read by the last look, empty when that read none; see :meth:`forget_texts`."""

    def look(self) -> Mapping[str, Mark]:
        """Return the pointers of which the index says something new: one conditional request when there is nothing.

        What is missing or damaged sets :attr:`fault` and is an empty answer.

        Raises
        ------
        StorageUnavailable
            When the store does not answer.
        """
        for _ in range(_ATTEMPTS):
            found = self._storage.read_changed(HEAD, self._tag)
            if found is None:
                return {}
            if found.data is None:
                self._tag, self.fault = None, "there is none"
                return {}
            try:
                head = Head.decode(found.data)
                marks = self._all(head)
            except IndexDamaged as error:
                self._tag, self.fault = None, str(error)
                continue  # another base may have come between the two reads
            changed = {alpha: mark for alpha, mark in marks.items() if self.marks.get(alpha) != mark}
            self.marks, self._base, self._tag, self.fault = marks, head.base, found.tag, None
            return changed
        return {}

    def _all(self, head: Head) -> dict[str, Mark]:
        if head.base and head.base != self._base:
            self.base = read_base(self._storage, head)
            return {**self.base.marks, **head.changes}
        return {**self.marks, **head.changes}

    def forget_texts(self) -> None:
        """Let the texts of the base go: they are of use for one look and take as much memory as all pointers."""
        self.base = Base()
