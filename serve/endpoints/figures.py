"""Research figures of a run: families computed at publication; and luck, exposures and regimes of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from datasets.catalogue.alpha_columns import Columns
from datasets.figure_data import read_ledger, read_luck, read_weekly_ic
from datasets.figures.exposures import Factors, explain
from datasets.figures.luck_evidence import LuckQuery
from datasets.figures.luck_trials import DESCRIPTION, ReadableRuns, known_trials, with_deflated_sharpe
from datasets.figures.price import Benchmark
from datasets.figures.regimes import measure
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Dates, Floats, Window
from datasets.figures.unavailable import ACCESS_LIMITED, Unavailable
from schemas.errors import StorageUnavailable
from schemas.market_data import USUAL_BENCHMARK
from schemas.metrics.families import FAMILIES
from schemas.metrics.families.family import Family
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER
from schemas.parameters import BENCHMARK, BENCHMARKS, Parameter
from serve.auth.caller import Caller
from serve.http.handler import PRICES, ComputedOnce, EndpointFunction
from serve.http.request import Request
from serve.http.responses import Answer, Single
from serve.market_data.operator_files import require_known
from serve.pages.books import require_book
from serve.state import ServerState

METRICS: Final = "performance.metrics"
"""The endpoint that serves the figures shown in the list of alphas."""
_LUCK_BYTES: Final = 12_000
"""Approximate bytes of the cached figures of one query."""


def research(family: Family, _: ServerState, request: Request) -> Single:
    """Return the figures of a family."""
    caller, snapshot = request.caller, request.snapshot
    for endpoint in family.needs:
        caller.require_call(endpoint, f"read the figures of {family.name}")
    book = request.values["book"] if family.by_book else None
    if book is not None:
        require_book((snapshot,), book, raw=request.raw)
    figures = snapshot.research(family.name, book)
    return Single.of_run(snapshot, figures if request.raw else _without_raw(family, figures))


def _without_raw(family: Family, figures: dict[str, Any]) -> dict[str, Any]:
    """Remove the members that need raw-book access, and their withheld reasons."""
    closed = {field.name for field in family.payload.fields if field.raw}
    shown = {name: value for name, value in figures.items() if name not in closed}
    reasons = figures["withheld"].items()
    return shown | {
        "withheld": {path: text for path, text in reasons if path.partition(".")[0] not in closed}
    }


def luck(service: ServerState, request: Request) -> Single:
    """Return the luck figures of a book."""
    values, snapshot, caller = request.values, request.snapshot, request.caller
    may_call = frozenset(x.endpoint for x in (LEDGER, CROSS_SECTIONS) if caller.may_call(x.endpoint))
    query = LuckQuery(values["book"], may_call, Window(values["from"], values["to"]))
    require_book((snapshot,), query.book, raw=request.raw)
    read = partial(read_luck, snapshot, query)
    figures = service.caches["luck"].get_or_load(snapshot.key, query, read, lambda _: _LUCK_BYTES)
    trials = known_trials(
        figures,
        values["trials"],
        values["trial_deviation"],
        described=caller.may_call(DESCRIPTION) and caller.may_read_alpha(snapshot.alpha_id),
        readable=_readable_runs(service.snapshots.listing.columns, caller),
    )
    return Single.of_run(snapshot, with_deflated_sharpe(figures, trials))


def _readable_runs(columns: Columns, caller: Caller) -> ReadableRuns:
    """Return the runs that the key may read, with their ratios from the list of alphas."""
    readable = columns.allowed(caller.runs)
    if not caller.may_call(METRICS):
        unknown = np.full(np.count_nonzero(readable), np.nan)
        return ReadableRuns(unknown, unknown, unknown)
    closed = () if caller.may_call(LEDGER.endpoint) else (LEDGER.kind,)
    names = ("information_ratio", "excess_sharpe", "sessions")
    return ReadableRuns(*(columns.figure(name, closed)[readable] for name in names))


async def exposures(service: ServerState, request: Request) -> Answer:
    """Return the exposures of a book to benchmarks and factors."""
    available = await _available(service, request.caller)
    await service.factors.current()
    return await service.compute(partial(_exposures, service, request, available))


def _exposures(service: ServerState, request: Request, available: Mapping[str, Benchmark]) -> Single:
    ledger, values = _ledger(request), request.values
    withheld: dict[str, str] = {}
    benchmarks = _benchmarks(request, available, BENCHMARKS, values["benchmarks"])
    if isinstance(benchmarks, str):
        withheld["benchmarks"], benchmarks = benchmarks, []
    factors = _factors(service, withheld)
    window = Window(values["from"], values["to"])
    explained = explain(ledger, window, benchmarks, factors, rolling=values["rolling"], withheld=withheld)
    return Single.of_run(request.snapshot, {"book": values["book"], **explained})


async def regimes(service: ServerState, request: Request) -> Answer:
    """Return the regimes and break tests of a book."""
    available = await _available(service, request.caller)
    return await service.compute(partial(_regimes, request, available))


def _regimes(request: Request, available: Mapping[str, Benchmark]) -> Single:
    ledger, values, snapshot = _ledger(request), request.values, request.snapshot
    book, window, symbol = values["book"], Window(values["from"], values["to"]), values["benchmark"]
    benchmarks = _benchmarks(request, available, BENCHMARK, None if symbol is None else (symbol,))
    weekly: tuple[Dates, Floats] | Unavailable
    if request.caller.may_call(CROSS_SECTIONS.endpoint):
        weekly = read_weekly_ic(snapshot)
    else:
        weekly = Unavailable(ACCESS_LIMITED, f"the key may not call {CROSS_SECTIONS.endpoint}")
    benchmark = benchmarks if isinstance(benchmarks, str) else benchmarks[0]
    measured = measure(snapshot.alpha_id, ledger, weekly, benchmark, book=book, window=window)
    return Single.of_run(snapshot, measured)


async def _available(service: ServerState, caller: Caller) -> Mapping[str, Benchmark]:
    """Return the benchmarks that a key may read; first raises for a key that may not read ledgers."""
    caller.require_call(LEDGER.endpoint, "read figures of a book's returns")
    return await service.market_data.available() if caller.may_call(PRICES) else {}


def _ledger(request: Request) -> Ledger | Unavailable:
    """Read the ledger of the requested book; raises for an unknown book."""
    snapshot, book = request.snapshot, request.values["book"]
    require_book((snapshot,), book, raw=request.raw)
    return read_ledger(snapshot, book)


def _benchmarks(
    request: Request, available: Mapping[str, Benchmark], parameter: Parameter, wanted: Sequence[str] | None
) -> list[Benchmark] | str:
    """Return the requested benchmarks, or the default one; or the reason why there are none.

    Raises
    ------
    ApiError
        ``bad_request`` when there is no such benchmark, or there are too many.
    """
    if not request.caller.may_call(PRICES):
        return f"the key may not call {PRICES}"
    if not available:
        return "this deployment has no market data that can be used"
    if wanted is None:
        wanted = (USUAL_BENCHMARK if USUAL_BENCHMARK in available else min(available),)
    require_known(wanted, available, parameter)
    return [available[symbol] for symbol in wanted]


def _factors(service: ServerState, withheld: dict[str, str]) -> Factors | None:
    files = service.factors
    if files.result is None:
        if files.configured and not files.misconfigured:
            raise StorageUnavailable("the file of factors cannot be read")
        broken = "the file of factors breaks a rule, which was logged"
        withheld["factors"] = broken if files.configured else "this deployment has no file of factors"
    return files.result


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    **{family.endpoint: ComputedOnce(partial(research, family)) for family in FAMILIES.values()},
    "research.luck": luck,
    "research.exposures": exposures,
    "research.regimes": regimes,
}
