"""An immutable list of all pointers, with search."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from datasets.catalogue.alpha_columns import Columns
from datasets.figures.headline import has_headline
from datasets.pointer import Pointer

_SEPARATOR: Final = "\0"
"""Separates the searched texts of an alpha, so that no match spans two of them."""


class Listing:
    """The pointers of a catalogue.

    Parameters
    ----------
    pointers
        Latest started first, ties by address; search results have this order.
    unserved
        Pointers of withdrawn alphas, which are not served but appear in the history of changes.
    """

    def __init__(self, pointers: tuple[Pointer, ...], unserved: tuple[Pointer, ...] = ()) -> None:
        self.pointers: Final = pointers
        self.unserved: Final = unserved
        self._texts = [
            _SEPARATOR.join((pointer.alpha_id, pointer.name, pointer.tldr or "")).casefold()
            for pointer in pointers
        ]

    def search(self, text: str) -> list[Pointer]:
        """Return the pointers whose address, name or summary contains a text, ignoring case."""
        folded = text.casefold()
        if _SEPARATOR in folded:
            return []
        return [x for x, searched in zip(self.pointers, self._texts, strict=True) if folded in searched]

    @cached_property
    def edition(self) -> str:
        """Digest of the list, equal on all nodes with the same pointers."""
        hasher = hashlib.sha256()
        for x in self.pointers:
            shown = (
                *(x.alpha_id, x.name, x.tldr, x.complete, x.snapshot, x.first_published_at),
                *(x.started_at, has_headline(x.headline)),
            )
            hasher.update(repr(shown).encode("utf-8", "surrogatepass"))
        return hasher.hexdigest()[:20]

    @cached_property
    def columns(self) -> Columns:
        """The figures of all alphas."""
        return Columns(self.pointers)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Alpha -> its index in the list."""
        return {pointer.alpha_id: place for place, pointer in enumerate(self.pointers)}
