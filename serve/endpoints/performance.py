"""The metrics of a run, their audit and their documentation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import scipy.special  # noqa: F401 - figures load it on demand, and the first answer would wait 0.2 s for it

from datasets.figure_data import read_check_summary, read_figures
from datasets.figures.checks import named_alphas
from datasets.figures.run_metrics import Answer, MetricsQuery, assemble
from datasets.figures.series import Window
from datasets.provenance.audit import Reader, audit
from datasets.snapshot import Snapshot
from schemas.documents.metrics_documentation import documentation
from schemas.metrics.statistic import SOURCES
from serve.http.handler import ComputedOnce, EndpointFunction
from serve.http.request import Request
from serve.http.responses import Single
from serve.state import ServerState

_MEASURED: Final = frozenset(source.endpoint for source in SOURCES)
"""Endpoints that serve the inputs of the figures."""
_AUDITED: Final = (
    "performance.metrics",
    *(x.endpoint for x in SOURCES),
    "portfolio.positions",
    "portfolio.pnl",
    "portfolio.trades",
)
"""Endpoints that serve the checked data."""


def metrics(service: ServerState, request: Request) -> Single:
    """Return the figures of a run and, with a window, those of the window."""
    values, caller, snapshot = request.values, request.caller, request.snapshot
    named = {name for notice in snapshot.manifest.notices for name in named_alphas(notice)}
    query = MetricsQuery(
        may_call=_MEASURED & caller.callable_ids,
        window=Window(values["from"], values["to"]),
        granularity=values["granularity"],
        panel=values["panel"],
        raw=request.raw,
        alphas=frozenset(filter(caller.may_read_run, named)),
    )
    answer = answer_metrics(service, snapshot, query)
    data = {**answer.data, "doc": documentation()} if values["doc"] else answer.data
    return Single.of_run(snapshot, data, answer.warnings)


def answer_metrics(service: ServerState, snapshot: Snapshot, query: MetricsQuery) -> Answer:
    """Answer a query about the run of a snapshot.

    Raises
    ------
    SnapshotCorrupt
        When the manifest or all files are missing or cannot be read. If only some files cannot be read, the blocks computed
        from them are null, with a warning.
    """
    on_unreadable = partial(service.damage.note, snapshot.pointer)
    return assemble(read_figures(snapshot, on_unreadable), query)


def run_audit(_: ServerState, request: Request) -> Single:
    """Return the checks of a run and their outcomes."""
    snapshot, caller = request.snapshot, request.caller
    closed = next((endpoint for endpoint in _AUDITED if not caller.may_call(endpoint)), None)
    reader = Reader(request.raw, caller.may_read_run, closed)
    checked = read_check_summary(snapshot)
    return Single.of_run(snapshot, audit(snapshot.manifest, checked, reader))


async def metrics_doc(_: ServerState, __: Request) -> Single:
    """Return the documentation block, which depends on neither alpha nor key."""
    return Single(documentation(), source="declarations of the build")


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "performance.metrics": ComputedOnce(metrics),
    "performance.metrics.doc": metrics_doc,
    "performance.audit": ComputedOnce(run_audit),
}
