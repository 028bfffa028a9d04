"""Comparison of alphas: correlations, neighbours, and contribution to a book of others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from datasets.alpha_columns import Allowed
from datasets.comparison import ComparisonQuery, correlate, measure_contribution
from datasets.figures.contribution import shortened
from datasets.figures.unavailable import Unavailable
from datasets.figures.window import Window
from datasets.snapshot import Snapshot
from schemas.endpoints import SERVED_BY
from schemas.errors import ApiError
from schemas.parameters import AMONG, MAX_COMPARED, WEIGHTS
from schemas.warning_codes import by_member
from serve.http.handler import EndpointFunction
from serve.http.params import refusal
from serve.http.request import Request
from serve.http.responses import Answer, Page, Single, kind_missing, run_meta
from serve.pages.books import holds_book
from serve.pages.query import Rows
from serve.research.chosen import chosen_runs, require_book
from serve.research.neighbours import Neighbours, Order, among_all, among_few
from serve.research.reader import ServedReader
from serve.research.store import ReturnsStore
from serve.state import ServerState

SOURCE: Final = "published snapshots"
_POLL_SECONDS: Final = 0.02
"""Seconds between two checks whether all returns were read."""
_READ_A_SECOND: Final = 1_000
"""Approximate number of alphas whose returns are read per second."""
_MAX_RETRY_SECONDS: Final = 60


def comparison_query(request: Request, by: str) -> ComparisonQuery:
    """Return the comparison of a request; raises for a key that may not read its data."""
    values = request.values
    query = ComparisonQuery(by, values["book"], Window(values["from"], values["to"]))
    request.caller.require_call(SERVED_BY[query.table][0], f"compare {by}")
    return query


def reader_of(service: ServerState, request: Request) -> ServedReader:
    """Return the reader of the runs that the caller may read."""
    return ServedReader(service.caches["returns"], request.raw)


async def correlations(service: ServerState, request: Request) -> Answer:
    """Return the similarity of every pair."""
    runs = chosen_runs(service.snapshots, request.caller, request.values["alphas"])
    return await service.compute(partial(_correlations, service, request, runs))


def _correlations(service: ServerState, request: Request, runs: tuple[Snapshot, ...]) -> Single:
    query = comparison_query(request, request.values["by"])
    require_book(runs, query.book, raw=request.raw)
    correlation = correlate(reader_of(service, request), runs, query)
    names = [run.alpha_id for run in runs]
    withheld = {
        f"{names[row]},{names[column]}": figure.text
        for row, figures in enumerate(correlation.figures)
        for column, figure in enumerate(figures)
        if row <= column and isinstance(figure, Unavailable)
    }
    return Single(
        {
            "alphas": names,
            "snapshots": {run.alpha_id: run.id for run in runs},
            "by": query.by,
            "book": query.compared_book,
            "matrix": [
                [None if isinstance(x, Unavailable) else x for x in row] for row in correlation.figures
            ],
            "observations": correlation.observations,
            "withheld": withheld,
        },
        source=SOURCE,
    )


async def neighbours(service: ServerState, request: Request) -> Answer:
    """Return the most or least similar alphas."""
    values, own = request.values, request.snapshot.alpha_id
    named = None
    if values["among"] is not None:
        names = [name for name in dict.fromkeys(values["among"]) if name != own]
        named = chosen_runs(service.snapshots, request.caller, names)
    return await once_ready(service, request, partial(_compared, service, request, named))


@dataclass(frozen=True, slots=True)
class Waiting:
    """An answer that has to wait for the returns of all alphas.

    Attributes
    ----------
    store
        Reads the returns.
    is_ready
        Whether the answer can be made.
    what
        What is being done, with places for the numbers of `alphas` and of those `read`.
    """

    store: ReturnsStore
    is_ready: Callable[[], object]
    what: str = (
        "The returns of {alphas} alphas are being read, {read} so far; come back, or name a few with `among`."
    )


async def once_ready(service: ServerState, request: Request, make: Callable[[], Answer | Waiting]) -> Answer:
    """Compute an answer from the returns of all alphas, once they are read."""
    # One turn of a compute thread, so that a quick answer does not wait for several turns.
    answer = await service.compute(make)
    patience = time.monotonic() + service.neighbours.patience_seconds
    while isinstance(answer, Waiting) and time.monotonic() < patience:
        if answer.is_ready():
            answer = await service.compute(make)
        else:
            await asyncio.sleep(_POLL_SECONDS)
    if isinstance(answer, Waiting):
        raise _not_ready(answer, request.caller.runs)
    return answer


def _compared(service: ServerState, request: Request, named: tuple[Snapshot, ...] | None) -> Answer | Waiting:
    query, snapshot, values = (
        comparison_query(request, request.values["by"]),
        request.snapshot,
        request.values,
    )
    order = Order(values["order"], values["limit"], values["offset"])
    reader = reader_of(service, request)
    if query.compared_book is not None:
        holds_book(snapshot, query.table, query.compared_book, raw=request.raw)
    if not reader.has_rows(snapshot, query):
        return _page(service, request, query, Neighbours(), (kind_missing(query.table),))
    if named is None and query.by == "returns":
        store = service.neighbours.of(query.book)
        if not store.was_ready:
            return Waiting(store, lambda: store.was_ready)
        result = among_all(store, reader, snapshot, query, allowed=request.caller.runs, order=order)
    else:
        others = _readable_runs(service, request) if named is None else named
        result = among_few(reader, (snapshot, *others), query, order)
    return _page(service, request, query, result)


def _not_ready(waiting: Waiting, runs: Allowed) -> ApiError:
    read, alphas = waiting.store.progress(runs)
    return ApiError(
        "neighbours_not_ready",
        waiting.what.format(alphas=alphas, read=read),
        {"read": read, "alphas": alphas},
        {"Retry-After": str(min(_MAX_RETRY_SECONDS, 1 + (alphas - read) // _READ_A_SECOND))},
    )


def _readable_runs(service: ServerState, request: Request) -> tuple[Snapshot, ...]:
    """Return the others that a key may read; raises if they are too many to read their files for a request."""
    caller, own = request.caller, request.snapshot.alpha_id
    names = [
        x.alpha_id
        for x in service.snapshots.pointers()
        if x.alpha_id != own and caller.may_read_run(x.alpha_id)
    ]
    if len(names) > MAX_COMPARED:
        raise refusal(
            [
                {
                    "name": AMONG.name,
                    "constraint": f"required with `by={request.values['by']}` where the key may read more than {MAX_COMPARED} "
                    f"others: {AMONG.constraint}",
                }
            ]
        )
    return tuple(x for x in map(service.snapshots.resolve, names) if x is not None)


def _page(
    service: ServerState,
    request: Request,
    query: ComparisonQuery,
    result: Neighbours,
    warnings: tuple[Mapping[str, str], ...] = (),
) -> Page:
    figure = "overlap" if query.by == "holdings" else "correlation"
    rows = [
        {
            "alpha_id": row.alpha_id,
            "name": _name(service, request, row.alpha_id),
            figure: row.figure,
            "observations": row.observations,
        }
        for row in result.page
    ]
    first, last = result.span
    meta = {
        **run_meta(request.snapshot),
        "by": query.by,
        "book": query.compared_book,
        "first_date": first,
        "last_date": last,
        "compared": result.compared,
        "excluded": result.excluded,
    }
    meta |= by_member(warnings)
    return Page(Rows.of(rows, result.compared), meta)


def _name(service: ServerState, request: Request, alpha_id: str) -> str | None:
    """Return the name of an alpha; None if the key may not list it."""
    snapshot = service.snapshots.resolve(alpha_id) if request.caller.may_read_alpha(alpha_id) else None
    return None if snapshot is None else snapshot.pointer.name


async def contribution(service: ServerState, request: Request) -> Answer:
    """Return the contribution of an alpha to a book of others."""
    own = request.snapshot.alpha_id
    names = [name for name in dict.fromkeys(request.values["alphas"]) if name != own]
    weights = request.values["weights"]
    if not isinstance(weights, str) and (len(weights) != len(names) + 1 or not any(weights[1:])):
        rule = f"{len(names) + 1} numbers, that of this alpha first; those of the others not all 0"
        raise refusal([{"name": WEIGHTS.name, "constraint": rule}])
    runs = chosen_runs(service.snapshots, request.caller, names)
    return await service.compute(partial(_contribution, service, request, runs))


def _contribution(service: ServerState, request: Request, runs: tuple[Snapshot, ...]) -> Single:
    query, snapshot = comparison_query(request, "returns"), request.snapshot
    holds_book(snapshot, query.table, query.book, raw=request.raw)
    data = measure_contribution(reader_of(service, request), snapshot, runs, request.values["weights"], query)
    return Single(
        data,
        source=f"snapshot {snapshot.id}",
        meta=run_meta(request.snapshot),
        warnings=shortened(data),
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "research.neighbours": neighbours,
    "research.correlations": correlations,
    "research.contribution": contribution,
}
