"""Luck of a run, and of all alphas that a key may read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from datasets.figure_data import BOOK, read_luck
from datasets.figures.false_discoveries import minimum_backtest_length
from datasets.figures.luck import Luck, LuckQuery
from datasets.figures.luck_trials import DESCRIPTION, ReadableRuns, known_trials, with_deflated_sharpe
from datasets.figures.series import SESSIONS_PER_YEAR
from datasets.figures.unavailable import Unavailable
from datasets.figures.window import Window
from datasets.listing import Listing
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER
from schemas.objects.luck import LEVELS
from serve.auth.caller import Caller
from serve.endpoints.research import Waiting, once_ready
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Answer, Single
from serve.pages.books import holds_book
from serve.state import ServerState

_BYTES: Final = 12_000
"""Approximate bytes of the cached figures of one query."""


async def luck(service: ServerState, request: Request) -> Answer:
    """Return the luck figures of a book."""
    values, snapshot, caller = request.values, request.snapshot, request.caller
    query = LuckQuery(
        values["book"],
        frozenset(x.endpoint for x in (LEDGER, CROSS_SECTIONS) if caller.may_call(x.endpoint)),
        Window(values["from"], values["to"]),
    )

    def load() -> Single:
        holds_book(snapshot, "portfolio", query.book, raw=request.raw)
        figures = service.caches["luck"].get_or_load(
            snapshot.key,
            query,
            lambda: read_luck(partial(service.engine.dataset, snapshot), snapshot, query),
            lambda _: _BYTES,
        )
        return _answer(service, request, figures)

    return await service.compute(load)


def _answer(service: ServerState, request: Request, figures: Luck) -> Single:
    values, snapshot, caller = request.values, request.snapshot, request.caller
    trials = known_trials(
        figures,
        values["trials"],
        values["trial_deviation"],
        described=caller.may_call(DESCRIPTION) and caller.may_read_alpha(snapshot.alpha_id),
        readable=_readable_runs(service.snapshots.listing, caller),
    )
    return Single.of_run(snapshot, with_deflated_sharpe(figures, trials))


def _readable_runs(listing: Listing, caller: Caller) -> ReadableRuns:
    """Return the runs that the key may read, with their ratios from the list of alphas."""
    places = [
        place
        for place, pointer in enumerate(listing.pointers)
        if caller.runs.is_all or caller.may_read_run(pointer.alpha_id)
    ]
    if not caller.may_call(METRICS):
        unknown = np.full(len(places), np.nan)
        return ReadableRuns(unknown, unknown, unknown)
    closed = () if caller.may_call(LEDGER.endpoint) else (LEDGER.kind,)
    columns = listing.columns
    sharpe, excess = (columns.figure(name, closed)[places] for name in (SHARPE, EXCESS_SHARPE))
    return ReadableRuns(sharpe, excess, columns.figure("sessions", closed)[places])


METRICS: Final = "performance.metrics"
"""The endpoint that serves the figures of the list."""
SHARPE: Final = "information_ratio"
EXCESS_SHARPE: Final = "excess_sharpe"


_COMPUTED: Final = (
    "The correlations of {alphas} alphas are being computed, the returns of {read} were read; come back."
)


async def catalogue(service: ServerState, request: Request) -> Answer:
    """Return the discoveries among the alphas that a key may read."""
    caller = request.caller
    for endpoint in (METRICS, LEDGER.endpoint):
        caller.require_call(endpoint, "judge alphas by their returns")
    return await once_ready(service, request, partial(_catalogue, service, request))


def _catalogue(service: ServerState, request: Request) -> Answer | Waiting:
    runs = request.caller.runs
    columns = service.snapshots.listing.columns
    store = service.neighbours.of(BOOK)
    number = store.effective_number(runs)
    if number is None:
        return Waiting(store, lambda: store.effective_number(runs) is not None, _COMPUTED)
    judged = columns.judged(runs, ())
    tested = int(np.count_nonzero(~np.isnan(judged.p_value)))
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
                    "benjamini_hochberg": int(np.count_nonzero(judged.q_value <= level)),
                    "benjamini_yekutieli": int(np.count_nonzero(judged.q_value_by <= level)),
                    "bonferroni": int(np.count_nonzero(judged.p_value * tested <= level)),
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


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.luck": luck, "research.luck.catalogue": catalogue}
