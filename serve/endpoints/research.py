"""Comparison of alphas: correlations, neighbours, contribution to a book of others, and the luck of a catalogue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from datasets.analysis.comparison import (
    ComparisonQuery,
    correlate,
    measure_contribution,
    others_in,
)
from datasets.catalogue.alpha_columns import Allowed
from datasets.figure_data import BOOK
from datasets.figures.contribution import cut_warnings
from datasets.figures.false_discoveries import minimum_backtest_length
from datasets.figures.series import SESSIONS_PER_YEAR, Window
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from schemas.downloads import SERVED_BY
from schemas.errors import ApiError
from schemas.metrics.statistic import LEDGER
from schemas.objects.luck import LEVELS
from schemas.parameters import AMONG, MAX_COMPARED, WEIGHTS
from schemas.warning_codes import by_member
from serve.auth.caller import Caller
from serve.endpoints.figures import METRICS
from serve.followed_catalogue import FollowedCatalogue
from serve.http.handler import EndpointFunction
from serve.http.params import bad_request
from serve.http.request import Request
from serve.http.responses import Answer, Page, Single, kind_missing, run_meta
from serve.pages.books import holds_book, require_book
from serve.pages.query import Rows
from serve.research.nearest import Nearest, Order
from serve.research.neighbours import REASONS, among_all, among_few
from serve.research.store import ReturnsStore
from serve.state import ServerState

SOURCE: Final = "published snapshots"
_POLL_SECONDS: Final = 0.02
"""Seconds between two attempts to answer while returns are being read."""
_READ_PER_SECOND: Final = 1_000
"""Approximate number of alphas whose returns are read per second."""
_MAX_RETRY_SECONDS: Final = 60


def comparison_query(request: Request, by: str) -> ComparisonQuery:
    """Return the comparison that a request asks for; raises if the key may not read its data."""
    values = request.values
    query = ComparisonQuery(by, values["book"], Window(values["from"], values["to"]))
    request.caller.require_call(SERVED_BY[query.table][0], f"compare {by}")
    return query


def correlations(service: ServerState, request: Request) -> Single:
    """Return the similarity of every pair."""
    runs = _chosen_runs(service.snapshots, request.caller, request.values["alphas"])
    query = comparison_query(request, request.values["by"])
    require_book(runs, query.book, raw=request.raw)
    correlation = correlate(runs, query)
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
            "matrix": correlation.values,
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
        named = _chosen_runs(service.snapshots, request.caller, names)
    return await once_ready(service, request, partial(_neighbours, service, request, named))


class Waiting(NamedTuple):
    """An answer that has to wait for the returns of all alphas.

    Attributes
    ----------
    store
        Reads the returns.
    message
        Describes what is being done, with placeholders for the number of `alphas` and how many are `read`.
    """

    store: ReturnsStore
    message: str = "The returns of {alphas} alphas are being read, {read} so far; try again later, or name a few with `among`."


async def once_ready(service: ServerState, request: Request, make: Callable[[], Answer | Waiting]) -> Answer:
    """Compute an answer from the returns of all alphas; until they have been read, try again for some seconds."""
    patience = time.monotonic() + service.neighbours.patience_seconds
    while isinstance(answer := await service.compute(make), Waiting):
        if time.monotonic() >= patience:
            raise _not_ready(answer, request.caller.runs)
        await asyncio.sleep(_POLL_SECONDS)
    return answer


def _neighbours(
    service: ServerState, request: Request, named: tuple[Snapshot, ...] | None
) -> Answer | Waiting:
    values, snapshot = request.values, request.snapshot
    query = comparison_query(request, values["by"])
    order = Order(values["order"], values["limit"], values["offset"])
    book = query.compared_book
    has_book = book is None or holds_book(snapshot, query.table, book, raw=request.raw)
    if not (has_book and snapshot.has_rows(query.table, book)):
        return _page(service, request, query, Nearest(), (kind_missing(query.table),))
    if named is None and query.by == "returns":
        store = service.neighbours.of(query.book)
        if not store.was_ready:
            return Waiting(store)
        result = among_all(store, snapshot, query, allowed=request.caller.runs, order=order)
    else:
        others = _readable_runs(service, request) if named is None else named
        result = among_few(snapshot, others, query, order, note=service.damage.note)
    return _page(service, request, query, result)


def _not_ready(waiting: Waiting, runs: Allowed) -> ApiError:
    read, alphas = waiting.store.progress(runs)
    return ApiError(
        "neighbours_not_ready",
        waiting.message.format(alphas=alphas, read=read),
        {"read": read, "alphas": alphas},
        {"Retry-After": str(min(_MAX_RETRY_SECONDS, 1 + (alphas - read) // _READ_PER_SECOND))},
    )


def _readable_runs(service: ServerState, request: Request) -> tuple[Snapshot, ...]:
    """Return the other alphas that a key may read; raises if they are too many to read in one request."""
    caller, own = request.caller, request.snapshot.alpha_id
    others = (x.alpha_id for x in service.snapshots.listing.pointers if x.alpha_id != own)
    names = [name for name in others if caller.may_read_run(name)]
    if len(names) > MAX_COMPARED:
        raise bad_request(
            AMONG.name,
            f"required with `by={request.values['by']}` where the key may read more than {MAX_COMPARED} others:"
            f" {AMONG.constraint}",
        )
    return tuple(x for x in map(service.snapshots.resolve, names) if x is not None)


def _page(
    service: ServerState,
    request: Request,
    query: ComparisonQuery,
    result: Nearest,
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
        "excluded": {reason: result.excluded.get(reason, 0) for reason in REASONS},
    }
    meta |= by_member(warnings)
    return Page(Rows.of(rows, result.compared), meta)


def _name(service: ServerState, request: Request, alpha_id: str) -> str | None:
    """Return the name of an alpha; None if the key may not list it."""
    snapshot = service.snapshots.resolve(alpha_id) if request.caller.may_read_alpha(alpha_id) else None
    return None if snapshot is None else snapshot.pointer.name


def contribution(service: ServerState, request: Request) -> Single:
    """Return the contribution of an alpha to a book of others."""
    snapshot, weights = request.snapshot, request.values["weights"]
    names = others_in(request.values["alphas"], snapshot.alpha_id)
    if not isinstance(weights, str) and (len(weights) != len(names) + 1 or not any(weights[1:])):
        rule = f"{len(names) + 1} numbers: that of this alpha, then those of the others, not all 0"
        raise bad_request(WEIGHTS.name, rule)
    runs = _chosen_runs(service.snapshots, request.caller, names)
    query = comparison_query(request, "returns")
    require_book((snapshot,), query.book, raw=request.raw)
    data = measure_contribution(snapshot, runs, weights, query)
    return Single(
        data, source=f"snapshot {snapshot.id}", meta=run_meta(snapshot), warnings=cut_warnings(data)
    )


_COMPUTED: Final = "The correlations of {alphas} alphas are being computed, and the returns of {read} have been read so far; try again later."


async def catalogue_luck(service: ServerState, request: Request) -> Answer:
    """Return the discoveries among the alphas that a key may read."""
    caller = request.caller
    for endpoint in (METRICS, LEDGER.endpoint):
        caller.require_call(endpoint, "judge alphas by their returns")
    return await once_ready(service, request, partial(_catalogue_luck, service, request))


def _catalogue_luck(service: ServerState, request: Request) -> Answer | Waiting:
    runs = request.caller.runs
    columns = service.snapshots.listing.columns
    store = service.neighbours.of(BOOK)
    number = store.effective_number(runs)
    if number is None:
        return Waiting(store, _COMPUTED)
    corrected = columns.corrected(runs, ())
    tested = int(np.count_nonzero(~np.isnan(corrected.p_value)))
    withheld = {}
    if isinstance(number, Unavailable):
        withheld["effective_number"] = withheld["effective_backtest_length"] = number.text
    alphas = int(np.count_nonzero(columns.allowed(runs)))
    if not alphas:
        withheld["minimum_backtest_length"] = "the key may read no alpha"
    return Single(
        {
            "alphas": alphas,
            "tested": tested,
            "discoveries": [
                {
                    "level": level,
                    "benjamini_hochberg": int(np.count_nonzero(corrected.q_value <= level)),
                    "benjamini_yekutieli": int(np.count_nonzero(corrected.q_value_by <= level)),
                    "bonferroni": int(np.count_nonzero(corrected.p_value * tested <= level)),
                }
                for level in LEVELS
            ],
            "effective_number": None if isinstance(number, Unavailable) else number,
            "minimum_backtest_length": _length(alphas or None),
            "effective_backtest_length": _length(None if isinstance(number, Unavailable) else round(number)),
            "withheld": withheld,
        },
        source="alphas",
    )


def _length(trials: int | None) -> dict[str, float | None]:
    sessions = None if trials is None else minimum_backtest_length(trials, 1.0)
    return {
        "trials": trials,
        "sessions": sessions,
        "years": None if sessions is None else sessions / SESSIONS_PER_YEAR,
    }


def _chosen_runs(catalogue: FollowedCatalogue, caller: Caller, names: Sequence[str]) -> tuple[Snapshot, ...]:
    """Return the served snapshots of the alphas that a request lists, without I/O.

    Parameters
    ----------
    catalogue : FollowedCatalogue
        The served alphas.
    caller : Caller
        The caller.
    names : sequence of str
        Ids of the alphas.

    Returns
    -------
    tuple of Snapshot
        In the order of `names`.

    Raises
    ------
    ApiError
        ``run_not_allowed`` when the key may not read one of them, whether or not it exists; ``run_not_found`` when one does not
        exist.
    """
    for name in names:
        if not caller.may_read_run(name):
            raise ApiError("run_not_allowed", f"This key may not read the data of {name}.")
    snapshots = []
    for name in names:
        snapshot = catalogue.resolve(name)
        if snapshot is None:
            catalogue.require_known(name)
            raise ApiError("run_not_found", f"There is no alpha {name}.")
        snapshots.append(snapshot)
    return tuple(snapshots)


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "research.neighbours": neighbours,
    "research.correlations": correlations,
    "research.contribution": contribution,
    "research.luck.catalogue": catalogue_luck,
}
