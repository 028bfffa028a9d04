"""The list of alphas and their written descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from datasets.manifest import Pointer
from schemas.errors import ApiError
from serve.auth.allow_list import Mode
from serve.cache.miss import CacheMiss
from serve.endpoints.description import complete
from serve.http.answer import Answerer, Page, Single
from serve.http.context import Context
from serve.http.envelope import page_of

_AT_ONCE: Final = 20_000
"""Alphas that may be gone through on the event loop; more would keep other requests waiting."""


def alphas(context: Context) -> Page:
    """List the alphas the key may read, latest started first."""
    caller, values, listing = context.caller, context.values, context.listing
    if context.hurried and len(listing.pointers) > _AT_ONCE:
        raise CacheMiss
    wanted = values["search"]
    chosen: Sequence[Pointer] = listing.pointers if wanted is None else listing.holding(wanted)
    if values["complete_only"]:
        chosen = [pointer for pointer in chosen if pointer.complete]
    if caller.alphas.mode is not Mode.ALL:
        chosen = [pointer for pointer in chosen if caller.may_read_alpha(pointer.alpha_id)]
    start, limit = values["offset"], values["limit"]
    rows, returned = page_of([_row(x) for x in chosen[start : start + limit]], limit, 0)
    return Page(rows, returned, len(chosen), {})


def _row(pointer: Pointer) -> dict[str, Any]:
    return {
        "alpha_id": pointer.alpha_id,
        "name": pointer.name,
        "tldr": pointer.tldr,
        "snapshot": pointer.snapshot,
        "published_at": pointer.first_published_at,
    }


def description(context: Context) -> Single:
    """Return the written description, every documented key present."""
    snapshot = context.snapshot
    sealed = snapshot.description()
    if sealed is None:
        raise ApiError(
            "alpha_description_not_found",
            "The run sealed no written description; its data endpoints answer.",
        )
    return Single(
        complete(sealed, snapshot.alpha_id, raw=context.raw),
        source=f"snapshot {snapshot.id}",
        meta=context.named(snapshot.alpha_id),
    )


ROUTES: Final[Mapping[str, Answerer]] = {
    "catalog.alphas.list": alphas,
    "catalog.alphas.get": description,
}
