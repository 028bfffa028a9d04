"""The metrics of a run, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from datasets.audit import Reader, audit
from datasets.figures.checks import named_alphas
from datasets.figures.run_metrics import MetricsQuery
from datasets.figures.window import Window
from schemas.metrics.statistic import SOURCES
from serve.http.request import Request
from serve.http.responses import Answer, EndpointFunction, Single, computed
from serve.run_metrics.service import EncodedAnswer, encoded_documentation
from serve.state import ServerState

_MEASURED: Final = frozenset(source.endpoint for source in SOURCES)
"""Endpoints that serve what the figures are computed from."""
_AUDITED: Final = (
    "performance.metrics",
    *(x.endpoint for x in SOURCES),
    "portfolio.positions",
    "portfolio.pnl",
    "portfolio.trades",
)
"""Endpoints that serve what the checks were made on."""
DOC_CACHE_CONTROL: Final = "public, max-age=86400, immutable"
"""The documentation is the same for everybody until the build changes."""


async def metrics(service: ServerState, request: Request) -> Answer:
    """Return the figures of a run, narrowed to a window where that makes sense."""
    if request.snapshot.opened:
        answer = service.metrics.cached(request.snapshot, _query(request))
        if answer is not None:
            return _single(request, answer)
    return await service.compute(partial(_metrics, service, request))


def _metrics(service: ServerState, request: Request) -> Single:
    return _single(request, service.metrics.load(request.snapshot, _query(request)))


def _query(request: Request) -> MetricsQuery:
    values, caller = request.values, request.caller
    named = {name for notice in request.snapshot.manifest.notices for name in named_alphas(notice)}
    return MetricsQuery(
        may_call=_MEASURED & caller.callable_ids,
        window=Window(values["from"], values["to"]),
        granularity=values["granularity"],
        panel=values["panel"],
        raw=request.raw,
        alphas=frozenset(filter(caller.may_read_run, named)),
    )


def _single(request: Request, answer: EncodedAnswer) -> Single:
    data: dict[str, Any] = dict(answer.data)
    if request.values["doc"]:
        data["doc"] = encoded_documentation()
    return Single.of_run(request.snapshot, data, answer.warnings)


def audited(service: ServerState, request: Request) -> Single:
    """Return what was checked of a run and what came of it."""
    snapshot, caller = request.snapshot, request.caller
    closed = next((endpoint for endpoint in _AUDITED if not caller.may_call(endpoint)), None)
    reader = Reader(request.raw, caller.may_read_run, closed)
    return Single.of_run(snapshot, audit(snapshot.manifest, service.metrics.checked(snapshot), reader))


async def documentation(_: ServerState, __: Request) -> Single:
    """Return the documentation block, which depends on neither the alpha nor the key."""
    return Single(
        encoded_documentation(),
        source="declarations of the build",
        cache_control=DOC_CACHE_CONTROL,
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "performance.metrics": metrics,
    "performance.metrics.doc": documentation,
    "performance.audit": computed(audited),
}
