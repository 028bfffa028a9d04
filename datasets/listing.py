"""All pointers at one moment, and searching them."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from typing import Final

from datasets.alpha_columns import Columns, Rows
from datasets.figures.headline import has_headline
from datasets.pointer import Pointer

_BETWEEN: Final = "\0"
"""Stands between the texts of a pointer that are searched, so that no match runs over from one into the next."""


class Listing:
    """The pointers of a catalogue; their texts as one, so that a search is a few scans of memory and not many steps.

    Parameters
    ----------
    pointers
        Latest started first, the address as tiebreak: the order of search results.
    unserved
        Pointers of withdrawn alphas: not served, but part of the history of changes.
    known
        Figures of pointers that were in an earlier list, as :class:`datasets.alpha_columns.Columns` takes them.
    """

    def __init__(
        self, pointers: tuple[Pointer, ...], unserved: tuple[Pointer, ...] = (), known: Rows | None = None
    ) -> None:
        self.pointers: Final = pointers
        self._known = known
        self.unserved: Final = unserved
        texts = [_text(pointer) for pointer in pointers]
        self._all = _BETWEEN.join(texts)
        # Where each begins; one more stands behind the last.
        self._begins = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))

    def search(self, text: str) -> list[Pointer]:
        """Return the pointers whose address, name or summary holds a text, letter case aside."""
        needle = text.casefold()
        if _BETWEEN in needle:
            return []
        if not needle:
            return list(self.pointers)
        matches, place = [], self._all.find(needle)
        while place >= 0:
            number = bisect_right(self._begins, place) - 1
            matches.append(self.pointers[number])
            place = self._all.find(needle, self._begins[number + 1])
        return matches

    @cached_property
    def edition(self) -> str:
        """Name of what a list of alphas may show: the same on every node that has the same pointers."""
        digest_so_far = hashlib.sha256()
        for x in self.pointers:
            shown = (
                *(x.alpha_id, x.name, x.tldr, x.complete, x.snapshot, x.first_published_at),
                *(x.started_at, has_headline(x.headline)),
            )
            digest_so_far.update(repr(shown).encode("utf-8", "surrogatepass"))
        return digest_so_far.hexdigest()[:20]

    @cached_property
    def columns(self) -> Columns:
        """The figures of all alphas."""
        return Columns(self.pointers, self._known)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Alpha -> its number in the list, from 0."""
        return {pointer.alpha_id: place for place, pointer in enumerate(self.pointers)}


def _text(pointer: Pointer) -> str:
    return _BETWEEN.join((pointer.alpha_id, pointer.name, pointer.tldr or "")).casefold()
