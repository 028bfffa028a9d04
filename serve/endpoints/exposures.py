"""Exposures of a book to benchmarks and factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from datasets.figure_data import read_ledger
from datasets.figures.exposure_models import Model, explain, session_window
from datasets.figures.price import Benchmark
from schemas.errors import ApiError, StorageUnavailable
from schemas.market_data import USUAL_BENCHMARK
from schemas.parameters import BENCHMARKS, MAX_BENCHMARKS, Parameter
from serve.endpoints.research import comparison_query, reader_of
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Answer, Single
from serve.pages.books import holds_book
from serve.state import ServerState

_PRICES: Final = "benchmarks.daily"
"""The endpoint that serves the prices of benchmarks."""


async def exposures(service: ServerState, request: Request) -> Answer:
    """Return the exposures of a book to benchmarks and factors."""
    available = await service.market_data.available()
    await service.factors.current()
    return await service.compute(partial(_exposures, service, request, available))


def _exposures(service: ServerState, request: Request, available: Mapping[str, Benchmark]) -> Single:
    query, snapshot, values = comparison_query(request, "returns"), request.snapshot, request.values
    reader = reader_of(service, request)
    holds_book(snapshot, query.table, query.book, raw=request.raw)
    withheld: dict[str, str] = {}
    ledger = None
    if reader.has_rows(snapshot, query):
        ledger = read_ledger(partial(service.engine.dataset, snapshot), snapshot, query.book)
    if ledger is None:
        explained: dict[str, Any] = {
            "observations": 0,
            "first_date": None,
            "last_date": None,
            "rolling_sessions": values["rolling"],
            "models": [],
            "withheld": {"models": reader.no_data(query).text},
        }
    else:
        days = session_window(ledger, query.window)
        benchmarks = benchmarks_of(request, available, BENCHMARKS, values["benchmarks"])
        if isinstance(benchmarks, str):
            withheld["benchmarks"], benchmarks = benchmarks, []
        models = [*(Model.of_benchmark(x, days) for x in benchmarks), *_factors(service, withheld)]
        explained = explain(ledger, query.window, models, values["rolling"], withheld)
    return Single.of_run(snapshot, {"book": query.book, **explained})


def benchmarks_of(
    request: Request, available: Mapping[str, Benchmark], parameter: Parameter, wanted: Sequence[str] | None
) -> list[Benchmark] | str:
    """Return the requested benchmarks, or the default one; or the reason why there are none.

    Raises
    ------
    ApiError
        ``bad_request`` when there is no such benchmark, or there are too many.
    """
    if not request.caller.may_call(_PRICES):
        return f"the key may not call {_PRICES}"
    if not available:
        return "this deployment has no market data that can be used"
    if wanted is None:
        wanted = (USUAL_BENCHMARK if USUAL_BENCHMARK in available else min(available),)
    if len(wanted) > MAX_BENCHMARKS or any(symbol not in available for symbol in wanted):
        most, message = (
            (f"at most {MAX_BENCHMARKS} of", "There is no such benchmark, or there are too many.")
            if parameter is BENCHMARKS
            else ("one of", "There is no such benchmark.")
        )
        constraint = f"{most} {', '.join(sorted(available))}"
        details = {
            "parameters": [{"name": parameter.name, "constraint": constraint}],
            "available": sorted(available),
        }
        raise ApiError("bad_request", message, details)
    return [available[symbol] for symbol in wanted]


def _factors(service: ServerState, withheld: dict[str, str]) -> tuple[Model, ...]:
    files, factors = service.factors, service.factors.result
    if factors is None:
        if files.configured and not files.misconfigured:
            raise StorageUnavailable("the file of factors cannot be read")
        broken = "the file of factors breaks a rule, which was logged"
        withheld["factors"] = broken if files.configured else "this deployment has no file of factors"
        return ()
    return (Model.of_factors(factors.names, factors.days, factors.returns),)


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.exposures": exposures}
