"""``meta`` of each endpoint."""

from __future__ import annotations

from typing import Final

from schemas import parameters
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.field import Field, instant, record, text
from schemas.objects.envelope import REQUEST_ID, SOURCE, WARNINGS

_RUN: Final = text("run", "The alpha that served the answer; keep it to reproduce a result.")
_ALPHA_ID: Final = text(
    "alpha_id", "Informational label of the source. Address endpoints with `run` or with the path's alpha."
)
SNAPSHOT: Final = text(
    "snapshot",
    "Id of the snapshot that answered; `snapshot=` with it has later calls answered from the same one.",
)
PUBLISHED_AT: Final = instant("published_at", "When that snapshot became the served one for the first time.")
SEALED_BY: Final = text(
    "sealed_by",
    "The team whose key signed the seal behind it; only present where the deployment lets no other seal in.",
    optional=True,
)
_SINGLE: Final = (REQUEST_ID, instant("generated_at", "When the answer was made."), SOURCE)


def make_meta(endpoint: Endpoint) -> Field:
    """Return the `meta` object of an endpoint's answer.

    Every answer about one run names it and its snapshot; every single object carries the request id, the time and the source;
    whatever reads a run's datasets may carry warnings and notices. What is the same for every call says where it was read, no more.
    """
    if endpoint.shared:
        return record("meta", "About the answer rather than in it.", SOURCE)
    members: list[Field] = []
    if endpoint.allow_list is not AllowListScope.NONE:
        members += [_RUN, _ALPHA_ID]
    if parameters.SNAPSHOT in endpoint.parameters:
        members += [SNAPSHOT, PUBLISHED_AT, SEALED_BY]
    members += endpoint.meta
    if endpoint.shape is Shape.OBJECT:
        members += _SINGLE
    if endpoint.datasets:
        members += WARNINGS
    return record("meta", "About the answer rather than in it.", *members)


META: Final[dict[str, Field]] = {
    entry.id: make_meta(entry) for entry in ENDPOINTS.values() if entry.shape is not Shape.BARE
}
"""Registry id -> `meta`; an endpoint without envelope has none."""
