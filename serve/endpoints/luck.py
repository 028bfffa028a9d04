"""How much of a run's figures may be luck."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from datasets.figures.luck import Luck, LuckQuery
from datasets.figures.luck_trials import DESCRIPTION, ReadableRuns, known_trials, with_deflated_sharpe
from datasets.figures.window import Window
from datasets.listing import Listing
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER
from serve.auth.caller import Caller
from serve.http.answer import Answer, EndpointFunction, Single, run_meta
from serve.http.request import Request
from serve.pages.books import holds_book
from serve.state import ServerState


async def luck(service: ServerState, request: Request) -> Answer:
    """Return what of a book's record may be luck."""
    values, snapshot, caller = request.values, request.snapshot, request.caller
    query = LuckQuery(
        values["book"],
        frozenset(x.endpoint for x in (LEDGER, CROSS_SECTIONS) if caller.may_call(x.endpoint)),
        Window(values["from"], values["to"]),
    )

    def load() -> Single:
        holds_book(snapshot, "portfolio", query.book, raw=request.raw)
        return _answer(service, request, service.luck.load(snapshot, query))

    return await service.compute(load)


def _answer(service: ServerState, request: Request, found: Luck) -> Single:
    values, snapshot, caller = request.values, request.snapshot, request.caller
    trials = known_trials(
        found,
        values["trials"],
        values["trial_deviation"],
        described=caller.may_call(DESCRIPTION) and caller.may_read_alpha(snapshot.alpha_id),
        readable=_readable_runs(service.snapshots.listing, caller),
    )
    return Single(
        with_deflated_sharpe(found, trials),
        source=f"snapshot {snapshot.id}",
        meta={**run_meta(request.snapshot), "source_alpha_id": snapshot.manifest.source_alpha_id},
    )


def _readable_runs(listing: Listing, caller: Caller) -> ReadableRuns:
    """Return the runs that the key may read, with their ratios as the list of alphas has them."""
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
"""The endpoint whose figures those of the list are."""
SHARPE: Final = "information_ratio"
EXCESS_SHARPE: Final = "excess_sharpe"
ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.luck": luck}
