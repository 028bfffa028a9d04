"""How much of a run's figures may be luck."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from datasets.luck.measure import Luck, LuckQuery
from datasets.luck.trials import DESCRIPTION, known_trials, with_deflated_sharpe
from datasets.run_metrics.window import Window
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER
from serve.http.answer import Answer, EndpointFunction, Pending, Single
from serve.http.request import Request
from serve.query.readable_books import holds_book
from serve.state import ServerState


def luck(service: ServerState, request: Request) -> Answer | Pending[Answer]:
    """Return what of a book's record may be luck."""
    values, snapshot, caller = request.values, request.the_snapshot, request.the_caller
    query = LuckQuery(
        values["book"],
        frozenset(x.endpoint for x in (LEDGER, CROSS_SECTIONS) if caller.may_call(x.endpoint)),
        Window(values["from"], values["to"]),
    )

    def load() -> Single:
        holds_book(snapshot, "portfolio", query.book, raw=request.raw)
        return _answer(service, request, service.luck.load(snapshot, query))

    return Pending(partial(service.compute, load))


def _answer(service: ServerState, request: Request, found: Luck) -> Single:
    values, snapshot, caller = request.values, request.the_snapshot, request.the_caller
    trials = known_trials(
        found,
        values["trials"],
        values["trial_deviation"],
        described=caller.may_call(DESCRIPTION) and caller.may_read_alpha(snapshot.alpha_id),
        readable=sum(caller.may_read_run(x.alpha_id) for x in service.snapshots.listing.pointers),
    )
    return Single(
        with_deflated_sharpe(found, trials),
        source=f"snapshot {snapshot.id}",
        meta={**request.run_meta, "source_alpha_id": snapshot.manifest.source_alpha_id},
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.luck": luck}
