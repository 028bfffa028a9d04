"""The list of alphas, their screen and their written descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from schemas.errors import ApiError
from schemas.metrics.headline import HEADLINE
from serve.auth.caller import Caller
from serve.cache import LISTING
from serve.endpoints.description import complete
from serve.http.params import Values
from serve.http.request import Request
from serve.http.responses import Answer, EndpointFunction, PageEndpoint, Single, run_meta
from serve.pages.listing import AlphasQuery, Days, FiguresQuery, closed_kinds
from serve.state import ServerState


def alphas(request: Request) -> AlphasQuery:
    """Ask for the alphas the key may read."""
    return _query(request, None)


def screen(request: Request) -> AlphasQuery:
    """Ask for the alphas the key may read, by figures, tags and days."""
    return _query(request, _figures(request.caller, request.values))


def _query(request: Request, figures: FiguresQuery | None) -> AlphasQuery:
    values, listing = request.values, request.listing
    return AlphasQuery(
        (LISTING, listing.edition),
        request.caller.alphas,
        values["search"],
        values["complete_only"],
        values["limit"],
        values["offset"],
        figures,
    )


def _figures(caller: Caller, values: Values) -> FiguresQuery:
    """Return what is asked of figures, tags and days; refuse what the key may not be told."""
    sort = values["sort"]
    bounds = tuple(
        (name, values[f"min_{name}"], values[f"max_{name}"])
        for name in HEADLINE
        if values[f"min_{name}"] is not None or values[f"max_{name}"] is not None
    )
    if (
        values["fields"]
        or values["checked_only"]
        or bounds
        or (sort is not None and sort.removeprefix("-") in HEADLINE)
    ):
        _require(caller, "performance.metrics", "figures")
    if values["tag"] is not None:
        _require(caller, "catalog.alphas.get", "tags")
    return FiguresQuery(
        values["fields"] or (),
        sort,
        bounds,
        values["checked_only"],
        values["tag"],
        Days(values["started_from"], values["started_to"]),
        Days(values["published_from"], values["published_to"]),
        caller.runs,
        closed_kinds(caller.callable_ids),
        caller.expose_raw,
    )


def _require(caller: Caller, endpoint: str, what: str) -> None:
    """Refuse what another endpoint serves to a key that may not call that."""
    if not caller.may_call(endpoint):
        message = f"This key may not call {endpoint}, and so may not list alphas by their {what}."
        raise ApiError("endpoint_not_allowed", message, {"endpoint": endpoint})


async def description(service: ServerState, request: Request) -> Answer:
    """Return the written description, every documented key present."""
    return await service.compute(partial(_description, request))


def _description(request: Request) -> Single:
    snapshot = request.snapshot
    sealed = snapshot.description()
    if sealed is None:
        raise ApiError(
            "alpha_description_not_found",
            "The run sealed no written description; its data endpoints answer.",
        )
    return Single(
        complete(sealed, snapshot.alpha_id, raw=request.raw),
        source=f"snapshot {snapshot.id}",
        meta=run_meta(request.snapshot, snapshot.alpha_id),
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    # The edition of the list changes with alphas that the key may not see, and so must not show in a tag.
    "catalog.alphas.list": PageEndpoint(alphas, source="alphas", tag_by_body=True),
    "research.screen": PageEndpoint(screen, source="alphas", tag_by_body=True),
    "catalog.alphas.get": description,
}
