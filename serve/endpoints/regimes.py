"""Regimes of a book, and tests for a structural break."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from datasets.figure_data import read_ledger, read_weekly_ic
from datasets.figures.bootstrap import make_seed
from datasets.figures.price import Benchmark
from datasets.figures.regimes import measure
from datasets.figures.series import Dates, Floats
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from schemas.metrics.statistic import CROSS_SECTIONS
from schemas.parameters import BENCHMARK
from serve.endpoints.exposures import benchmarks_of
from serve.endpoints.research import comparison_query, reader_of
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Answer, Single
from serve.pages.books import holds_book
from serve.state import ServerState


async def regimes_of(service: ServerState, request: Request) -> Answer:
    """Return the regimes and break tests of a book."""
    available = await service.market_data.available()
    return await service.compute(partial(_regimes, service, request, available))


def _regimes(service: ServerState, request: Request, available: Mapping[str, Benchmark]) -> Single:
    query, snapshot = comparison_query(request, "returns"), request.snapshot
    reader = reader_of(service, request)
    holds_book(snapshot, query.table, query.book, raw=request.raw)
    frames = partial(service.engine.dataset, snapshot)
    ledger = read_ledger(frames, snapshot, query.book) if reader.has_rows(snapshot, query) else None
    symbol = request.values["benchmark"]
    benchmarks = benchmarks_of(request, available, BENCHMARK, None if symbol is None else (symbol,))
    return Single.of_run(
        snapshot,
        measure(
            reader.no_data(query) if ledger is None else ledger,
            _weekly(service, request, snapshot),
            benchmarks if isinstance(benchmarks, str) else benchmarks[0],
            book=query.book,
            window=query.window,
            seed=make_seed((snapshot.alpha_id,), query.book, query.window),
        ),
    )


def _weekly(service: ServerState, request: Request, snapshot: Snapshot) -> tuple[Dates, Floats] | Unavailable:
    if not request.caller.may_call(CROSS_SECTIONS.endpoint):
        return Unavailable("access_limited", f"the key may not call {CROSS_SECTIONS.endpoint}")
    weekly = read_weekly_ic(partial(service.engine.dataset, snapshot), snapshot)
    return (
        Unavailable("missing_kind", f"the run holds no {CROSS_SECTIONS.kind}") if weekly is None else weekly
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.regimes": regimes_of}
