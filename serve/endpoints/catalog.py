"""The list of alphas, their screen and their written descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from datasets.figures.series import Window
from schemas.errors import ApiError
from schemas.field import Field, FieldType
from schemas.metrics.headline import HEADLINE
from schemas.objects.description import DESCRIPTION
from schemas.tables.books import RAW_PREFIX
from serve.cache import LISTING
from serve.http.handler import EndpointFunction, PageEndpoint
from serve.http.request import Request
from serve.http.responses import Single, run_meta
from serve.pages.listing import AlphasQuery, closed_kinds
from serve.state import ServerState


def alphas(request: Request) -> AlphasQuery:
    """List the alphas that the key may read."""
    values = request.values
    return AlphasQuery(
        (LISTING, request.listing.edition),
        request.caller.alphas,
        request.caller.runs,
        values["search"],
        values["complete_only"],
        values["limit"],
        values["offset"],
    )


def screen(request: Request) -> AlphasQuery:
    """List the alphas that the key may read, by figures, tags and days; raises for conditions that the key may not use."""
    caller, values = request.caller, request.values
    sort = values["sort"]
    ranges = ((name, values[f"min_{name}"], values[f"max_{name}"]) for name in HEADLINE)
    bounds = tuple(x for x in ranges if x[1:] != (None, None))
    sorts_by_figure = sort is not None and sort.removeprefix("-") in HEADLINE
    if values["fields"] or values["checked_only"] or bounds or sorts_by_figure:
        caller.require_call("performance.metrics", "list alphas by their figures")
    if values["tag"] is not None:
        caller.require_call("catalog.alphas.get", "list alphas by their tags")
    return alphas(request)._replace(
        is_screen=True,
        fields=values["fields"] or (),
        sort=sort,
        bounds=bounds,
        checked_only=values["checked_only"],
        tag=values["tag"],
        started=Window(values["started_from"], values["started_to"]),
        published=Window(values["published_from"], values["published_to"]),
        closed=closed_kinds(caller.callable_ids),
        raw=caller.expose_raw,
    )


def description(_: ServerState, request: Request) -> Single:
    """Return the description, with every documented key."""
    snapshot = request.snapshot
    sealed = snapshot.description()
    if sealed is None:
        raise ApiError(
            "alpha_description_not_found",
            "The run sealed no written description; its data is still served.",
        )
    return Single(
        complete_description(sealed, snapshot.alpha_id, raw=request.raw),
        source=f"snapshot {snapshot.id}",
        meta=run_meta(request.snapshot, snapshot.alpha_id),
    )


def complete_description(sealed: Mapping[str, Any], alpha_id: str, *, raw: bool) -> dict[str, Any]:
    """Complete a sealed description to its served shape.

    Parameters
    ----------
    sealed
        The description as the run wrote it: keys may be missing at any depth, and undeclared ones present.
    alpha_id
        The alpha's address.
    raw
        Whether the key sees the unconditioned signal. Without it, values of any shape lose their ``raw_`` keys.

    Returns
    -------
    dict
        Every declared key in declared order; null if not sealed, but an empty list for source papers.
        Other sealed keys are not served. The name falls back to the address.
    """
    own = {"algo_id": alpha_id, "alpha_id": alpha_id, "name": sealed.get("name") or alpha_id}
    served: dict[str, Any] = _fill(DESCRIPTION, {**sealed, **own})
    return served if raw else _without_raw(served)


def _fill(field: Field, value: Any) -> Any:
    if field.type is FieldType.OBJECT:
        members = value if isinstance(value, Mapping) else {}
        return {member.name: _fill(member, members.get(member.name)) for member in field.fields}
    if value is None:
        return [] if field.name == "source_papers" else None
    entry = field.items if field.type is FieldType.ARRAY else None
    if entry is not None and entry.type is FieldType.OBJECT and isinstance(value, list):
        return [_fill(entry, item) for item in value]
    return value


def _without_raw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_raw(entry) for key, entry in value.items() if not key.startswith(RAW_PREFIX)}
    return [_without_raw(entry) for entry in value] if isinstance(value, list) else value


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "catalog.alphas.list": PageEndpoint(alphas, source="alphas"),
    "research.screen": PageEndpoint(screen, source="alphas"),
    "catalog.alphas.get": description,
}
