"""The metrics of a run, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from datasets.run_metrics.assemble import MetricsQuery
from datasets.run_metrics.window import Window
from schemas.metrics.statistic import SOURCES
from serve.http.answer import Answer, EndpointFunction, Pending, Single
from serve.http.request import Request
from serve.run_metrics.service import EncodedAnswer, encoded_documentation
from serve.state import ServerState

DOC_CACHE_CONTROL: Final = "public, max-age=86400, immutable"
"""The documentation is the same for everybody until the build changes."""


def metrics(service: ServerState, request: Request) -> Answer | Pending[Answer]:
    """Return the figures of a run, narrowed to a window where that makes sense."""
    values, snapshot, caller = request.values, request.the_snapshot, request.the_caller
    query = MetricsQuery(
        may_call=frozenset(x.endpoint for x in SOURCES if caller.may_call(x.endpoint)),
        window=Window(values["from"], values["to"]),
        granularity=values["granularity"],
        panel=values["panel"],
        raw=request.raw,
    )
    found = service.metrics.cached(snapshot, query) if snapshot.opened else None
    if found is not None:
        return _single(request, found)

    def load() -> Single:
        return _single(request, service.metrics.load(snapshot, query))

    return Pending(partial(service.compute, load))


def _single(request: Request, answer: EncodedAnswer) -> Single:
    snapshot = request.the_snapshot
    data: dict[str, Any] = dict(answer.data)
    if request.values["doc"]:
        data["doc"] = encoded_documentation()
    return Single(
        data,
        source=f"snapshot {snapshot.id}",
        meta={**request.run_meta, "source_alpha_id": snapshot.manifest.source_alpha_id},
        warnings=answer.warnings,
    )


def documentation(_: ServerState, __: Request) -> Single:
    """Return the documentation block, which depends on neither the alpha nor the key."""
    return Single(
        encoded_documentation(),
        source="declarations of the build",
        cache_control=DOC_CACHE_CONTROL,
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "performance.metrics": metrics,
    "performance.metrics.doc": documentation,
}
