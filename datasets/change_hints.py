"""What tells that pointers moved, and is cheaper than a listing of them all.

On a folder of this machine that is the folder's own time, which every rename into it changes. On an object store it is the
index (:mod:`datasets.pointer_index`). Neither is believed for long: all pointers are listed again after a while. An
index that did not say of a pointer that it moved, as a publisher leaves it that is killed before it writes there, is
not gone by for longer than that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from datasets.layout import CATALOG, pointer_path
from datasets.pointer_index import Follower
from datasets.pointer_index.format import Mark, mark_of
from datasets.storage import Signature, Storage

_DISTRUST_SECONDS: Final = 600.0
"""How long all pointers are listed at every look after somebody moved one without telling the index."""
_ASK_SECONDS: Final = 30.0
"""Pause between two questions whether there is an index by now, or a sound one."""
_ALLOWANCE_SECONDS: Final = 5.0
"""How long after a pointer its publisher may write the index, others being quicker, before it counts as untold."""


class Hints:
    """One catalogue's way of finding out what changed without listing.

    Parameters
    ----------
    storage
        The datasets root.
    list_seconds
        How long it may be gone by.
    """

    def __init__(self, storage: Storage, list_seconds: float) -> None:
        self._storage: Final = storage
        self._list_seconds: Final = list_seconds
        self._index = Follower(storage) if storage.folder is None else None
        self._listed = self._asked = self._distrusted_until = float("-inf")
        self._folder: Signature | None = None
        self._known = False
        self._untold: dict[str, tuple[Mark | None, float]] = {}
        """Alpha that moved -> what the index said of it then, and when that was."""
        self._sought: set[str] = set()

    @property
    def fault(self) -> str | None:
        """Why the index is not gone by; None when it is, and on a folder."""
        if self._index is None:
            return None
        distrusted = time.monotonic() < self._distrusted_until
        return "pointers moved that it did not tell of" if distrusted else self._index.fault

    def told(self) -> Mapping[str, Signature] | None:
        """Return the pointers that moved since the last look and their signatures; None when a listing is due."""
        now = time.monotonic()
        if now - self._listed >= self._list_seconds or now < self._distrusted_until:
            return None
        if self._index is None:
            unchanged = self._folder is not None and self._storage.folder_signature(CATALOG) == self._folder
            return {} if unchanged else None
        if self._index.fault is not None:
            return None
        changed = self._index.look()
        self._index.forget_texts()
        if self._index.fault is not None or self._is_untold(now):
            return None
        return {alpha: (*mark, "") for alpha, mark in changed.items()}

    def look_for(self, alphas: Iterable[str]) -> dict[str, Signature]:
        """Look for the pointers of alphas that nothing told of, each once between two listings."""
        found: dict[str, Signature] = {}
        for alpha in alphas:
            if self._index is None or alpha in self._sought:
                continue
            self._sought.add(alpha)
            seen = self._storage.read_version(pointer_path(alpha))
            if seen.data is not None:
                found[alpha] = (*mark_of(seen), "")
        return found

    def before_listing(self) -> None:
        """Note what a listing is going to show at least."""
        self._folder = self._storage.folder_signature(CATALOG)
        self._listed = float("-inf")  # one that fails is made again

    def after_listing(self, found: Mapping[str, Signature], changed: list[str]) -> Mapping[str, bytes]:
        """Compare the index with a listing.

        Parameters
        ----------
        found
            Alpha -> signature, of all pointers.
        changed
            Those that changed since the last look.

        Returns
        -------
        Mapping
            The bytes of pointers that the index has: none of them needs to be read.
        """
        now = time.monotonic()
        self._listed = now
        self._sought.clear()
        # Without an index there is nothing to compare; whether there is one by now is asked as rarely as is listed.
        if self._index is None or (self._index.fault is not None and now - self._asked < _ASK_SECONDS):
            return {}
        self._asked = now
        self._index.look()
        base, marks = self._index.base, self._index.marks
        self._index.forget_texts()
        if self._index.fault is None and self._known:
            for alpha in changed:
                if (told := marks.get(alpha)) != found[alpha][:2]:
                    self._untold.setdefault(alpha, (told, now))
            self._is_untold(now)
        self._known = True
        return {
            alpha: base.texts[alpha]
            for alpha in changed
            if alpha in base.texts and (*base.marks[alpha], "") == found[alpha]
        }

    def list_next(self) -> None:
        """List at the next look: this one did not read all that it found."""
        self._listed = float("-inf")

    def _is_untold(self, now: float) -> bool:
        """Whether somebody moves pointers without telling the index."""
        if self._index is None:
            return False
        marks = self._index.marks
        self._untold = {
            alpha: (told, since) for alpha, (told, since) in self._untold.items() if marks.get(alpha) == told
        }
        late = any(now - since > _ALLOWANCE_SECONDS for _, since in self._untold.values())
        if late:
            self._distrusted_until = now + _DISTRUST_SECONDS
            self._untold.clear()
        return late
