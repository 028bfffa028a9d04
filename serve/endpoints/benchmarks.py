"""The market indices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from datasets.figures.price import Benchmark
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Page
from serve.market_data.window import measure
from serve.pages.duckdb import frame_rows
from serve.state import ServerState


async def daily(service: ServerState, request: Request) -> Page:
    """Return a benchmark day by day, measured over the window before it is paged."""
    values = request.values
    benchmark = await service.market_data.benchmark(values["symbol"])
    window = await service.compute(partial(measure, benchmark, values["from"], values["to"]))
    page = window.rows.slice(values["offset"], values["limit"])
    meta = {"symbol": values["symbol"], "source": benchmark.source, "summary": window.summary}
    return Page(frame_rows(page, window.rows.height), meta)


async def listing(service: ServerState, request: Request) -> Page:
    """List the benchmarks, by symbol."""
    available = await service.market_data.available()
    return Page.of([available[symbol] for symbol in sorted(available)], request.values, {}, _about)


def _about(benchmark: Benchmark) -> dict[str, Any]:
    return {
        "symbol": benchmark.symbol,
        "name": benchmark.name,
        "simulated": benchmark.simulated,
        "first_date": str(benchmark.dates[0]),
        "last_date": str(benchmark.dates[-1]),
        "sessions": int(benchmark.dates.size),
    }


ROUTES: Final[Mapping[str, EndpointFunction]] = {"benchmarks.daily": daily, "research.benchmarks": listing}
