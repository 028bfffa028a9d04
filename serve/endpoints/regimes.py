"""A book in its regimes, and whether its record broke."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from datasets.figure_data import read_ledger, read_weekly_ic
from datasets.figures.bands import SAMPLES
from datasets.figures.luck import LuckQuery, make_seed
from datasets.figures.regimes import VOLATILITY_SESSIONS, Market, breaks, market_at, regimes
from datasets.figures.series import Dates, Floats
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.market_data import USUAL_BENCHMARK
from schemas.metrics.statistic import CROSS_SECTIONS
from schemas.parameters import BENCHMARK
from serve.endpoints.research import asked
from serve.http.request import Request
from serve.http.responses import Answer, EndpointFunction, Single
from serve.market_data.series import Benchmark
from serve.pages.books import holds_book
from serve.research.correlation import no_data
from serve.state import ServerState

_PRICES: Final = "benchmarks.daily"


async def regimes_of(service: ServerState, request: Request) -> Answer:
    """Return a book in its regimes."""
    available = await service.market_data.available()
    return await service.compute(partial(_regimes, service, request, available))


def _regimes(service: ServerState, request: Request, available: Mapping[str, Benchmark]) -> Single:
    question, snapshot = asked(request, "returns"), request.snapshot
    holds_book(snapshot, question.table, question.book, raw=question.raw)
    frames = partial(service.engine.dataset, snapshot)
    ledger = read_ledger(frames, snapshot, question.book) if question.has_rows(snapshot) else None
    seed = make_seed(snapshot.id, LuckQuery(question.book, frozenset(), question.window))
    benchmark = _benchmark(request, available)
    withheld = {} if isinstance(benchmark, Benchmark) else dict.fromkeys(("market", "volatility"), benchmark)
    found: dict[str, Any] = {"groups": [], "mean_block": None, "withheld": {"groups": no_data(question).text}}
    sessions = None if ledger is None else ledger.within(question.window)
    if sessions is not None:
        market = _market(benchmark, sessions.date) if isinstance(benchmark, Benchmark) else None
        found = regimes(sessions, market, seed)
    weeks, ic = _weekly(service, request, snapshot)
    broke, reasons = breaks(no_data(question) if sessions is None else sessions, weeks, ic, question.window)
    days = np.empty(0) if sessions is None else sessions.date
    return Single.of_run(
        snapshot,
        {
            "book": question.book,
            "observations": int(days.size),
            "first_date": str(days[0]) if days.size else None,
            "last_date": str(days[-1]) if days.size else None,
            "benchmark": benchmark.symbol if isinstance(benchmark, Benchmark) else None,
            "groups": found["groups"],
            "breaks": broke,
            "bootstrap": {"samples": SAMPLES, "mean_block": found["mean_block"], "seed": seed},
            "withheld": {**withheld, **found["withheld"], **reasons},
        },
    )


def _benchmark(request: Request, available: Mapping[str, Benchmark]) -> Benchmark | str:
    """Return the benchmark, or why there is none."""
    if not request.caller.may_call(_PRICES):
        return f"the key may not call {_PRICES}"
    if not available:
        return "this deployment has no market data that can be used"
    symbol = request.values["benchmark"]
    if symbol is None:
        symbol = USUAL_BENCHMARK if USUAL_BENCHMARK in available else min(available)
    if symbol not in available:
        constraint = f"one of {', '.join(sorted(available))}"
        details = {
            "parameters": [{"name": BENCHMARK.name, "constraint": constraint}],
            "available": sorted(available),
        }
        raise ApiError("bad_request", "There is no such benchmark.", details)
    return available[symbol]


def _market(benchmark: Benchmark, sessions: Dates) -> Market:
    """Measure a benchmark by adjusted closes where all that are used are known, else by closes."""
    first, last = (
        (int(np.searchsorted(benchmark.dates, sessions[end], "left")) for end in (0, -1))
        if sessions.size
        else (0, 0)
    )
    used = slice(max(0, first - VOLATILITY_SESSIONS - 1), last + 1)
    adjusted = benchmark.adjusted[used]
    price = benchmark.close[used] if np.isnan(adjusted).any() else adjusted
    return market_at(benchmark.dates[used], price, sessions)


def _weekly(service: ServerState, request: Request, snapshot: Snapshot) -> tuple[Dates, Floats | Unavailable]:
    none = np.empty(0, "datetime64[D]")
    if not request.caller.may_call(CROSS_SECTIONS.endpoint):
        return none, Unavailable("access_limited", f"the key may not call {CROSS_SECTIONS.endpoint}")
    found = read_weekly_ic(partial(service.engine.dataset, snapshot), snapshot)
    if found is None:
        return none, Unavailable("missing_kind", f"the run holds no {CROSS_SECTIONS.kind}")
    return found


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.regimes": regimes_of}
