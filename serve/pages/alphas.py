"""The list of alphas, from the catalogue in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from datasets.headline.columns import Allowed
from datasets.listing import Listing
from datasets.pointer import Pointer
from serve.cache.lru import SnapshotKey
from serve.pages.alpha_figures import FiguresQuery, figures, select
from serve.pages.json import Rows
from serve.pages.page_query import Found

_MAX_ALPHAS: Final = 20_000
"""Alphas that may be gone through on the event loop; more would keep other requests waiting."""


class AlphasQuery(NamedTuple):
    """A page of the list of alphas.

    Attributes
    ----------
    snapshot
        Stands for all alphas, with the edition of their list.
    allowed
        The alphas the key may read.
    search
        A text that address, name or summary hold; None for all.
    complete_only
        Whether runs that lack a required kind are left out.
    limit, offset
        Of the alphas that meet the conditions.
    figures
        What is asked of their figures, tags and days; None for nothing.
    """

    snapshot: SnapshotKey
    allowed: Allowed
    search: str | None
    complete_only: bool
    limit: int
    offset: int
    figures: FiguresQuery | None = None


class AlphaPages:
    """Answers queries of the list of alphas."""

    def cached(self, query: AlphasQuery, listing: Listing) -> Found | None:
        """Answer at once; None when the list is too long for that."""
        return None if len(listing.pointers) > _MAX_ALPHAS else self.load(query, listing)

    def load(self, query: AlphasQuery, listing: Listing) -> Found:
        """Answer, latest started first unless the query says otherwise."""
        if query.figures is not None:
            return _by_figures(query, query.figures, listing)
        chosen: Sequence[Pointer] = (
            listing.pointers if query.search is None else listing.holding(query.search)
        )
        if query.complete_only:
            chosen = [pointer for pointer in chosen if pointer.complete]
        if not query.allowed.is_all:
            chosen = [pointer for pointer in chosen if query.allowed.allows(pointer.alpha_id)]
        page = chosen[query.offset : query.offset + query.limit]
        return Found(Rows((orjson.dumps([_row(x) for x in page]),), len(page), len(chosen)))


def _by_figures(query: AlphasQuery, wanted: FiguresQuery, listing: Listing) -> Found:
    chosen = np.ones(len(listing.pointers), dtype=np.bool_)
    if query.search is not None:
        chosen[:] = False
        chosen[[listing.places[x.alpha_id] for x in listing.holding(query.search)]] = True
    if query.complete_only:
        chosen &= np.array([x.complete for x in listing.pointers], dtype=np.bool_)
    if not query.allowed.is_all:
        chosen &= listing.columns.allowed(query.allowed)
    found = select(listing, wanted, chosen)
    page = found[query.offset : query.offset + query.limit].tolist()
    rows = [{**_row(listing.pointers[place]), **figures(listing, wanted, place)} for place in page]
    return Found(Rows((orjson.dumps(rows),), len(page), found.size))


def _row(pointer: Pointer) -> dict[str, Any]:
    return {
        "alpha_id": pointer.alpha_id,
        "name": pointer.name,
        "tldr": pointer.tldr,
        "snapshot": pointer.snapshot,
        "published_at": pointer.first_published_at,
    }
