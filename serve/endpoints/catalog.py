"""The list of alphas and their written descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from schemas.errors import ApiError
from serve.cache.lru import LISTING
from serve.endpoints.description import complete
from serve.http.answer import Answer, EndpointFunction, PageEndpoint, Pending, Single
from serve.http.request import Request
from serve.query.alphas import AlphasQuery
from serve.query.found import Found
from serve.state import ServerState


def alphas(request: Request) -> AlphasQuery:
    """Ask for the alphas the key may read."""
    values, listing = request.values, request.listing
    assert listing is not None
    return AlphasQuery(
        (LISTING, listing.edition),
        request.the_caller.alphas,
        values["search"],
        values["complete_only"],
        values["limit"],
        values["offset"],
    )


def _no_meta(_: Request, __: AlphasQuery, ___: Found) -> Mapping[str, Any]:
    return {}


def description(service: ServerState, request: Request) -> Pending[Answer]:
    """Return the written description, every documented key present."""
    return Pending(partial(service.compute, partial(_description, request)))


def _description(request: Request) -> Single:
    snapshot = request.the_snapshot
    sealed = snapshot.description()
    if sealed is None:
        raise ApiError(
            "alpha_description_not_found",
            "The run sealed no written description; its data endpoints answer.",
        )
    return Single(
        complete(sealed, snapshot.alpha_id, raw=request.raw),
        source=f"snapshot {snapshot.id}",
        meta=request.named(snapshot.alpha_id),
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    # Its edition changes with alphas that the key may not see, and so must not show in a tag.
    "catalog.alphas.list": PageEndpoint(alphas, _no_meta, source="alphas", tag_by_body=True),
    "catalog.alphas.get": description,
}
