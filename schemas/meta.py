"""``meta`` of the answers of each endpoint."""

from __future__ import annotations

from typing import Final

from schemas import parameters
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.field import Field, instant, record, text
from schemas.objects.envelope import REQUEST_ID, SOURCE, WARNINGS

_RUN: Final = text("run", "Address of the alpha that the answer describes; keep it to reproduce a result.")
_ALPHA_ID: Final = text("alpha_id", "Id of the run in research, for information; paths take `run`.")
SNAPSHOT: Final = text("snapshot", "Id of the snapshot read; pass it as `snapshot` to read it again.")
PUBLISHED_AT: Final = instant("published_at", "When that snapshot was first served.")
SEALED_BY: Final = text(
    "sealed_by",
    "Team whose key signed its seal; only present if the deployment requires signed seals.",
    optional=True,
)
_SINGLE: Final = (REQUEST_ID, instant("generated_at", "Time of the answer."), SOURCE)


def make_meta(endpoint: Endpoint) -> Field:
    """Return the `meta` object of an endpoint's answer.

    Answers about one run name it and its snapshot. Single objects have the request id, the time and the source. Endpoints that read
    datasets of a run may have warnings and notices. Answers that are identical for every call have only the source.
    """
    if endpoint.shared:
        return record("meta", "About the answer.", SOURCE)
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
    return record("meta", "About the answer.", *members)


META: Final[dict[str, Field]] = {
    entry.id: make_meta(entry) for entry in ENDPOINTS.values() if entry.shape is not Shape.BARE
}
"""Registry id -> `meta`; endpoints without an envelope have none."""
