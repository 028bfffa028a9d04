"""Alphas beside one another: correlations, neighbours, and what one adds to a book of others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.window import Window
from datasets.snapshot import Snapshot
from serve.http.answer import Answer, EndpointFunction, Pending, Single
from serve.http.request import Request
from serve.peers.chosen import chosen_runs, require_book
from serve.peers.contribution import contribution, nothing
from serve.peers.matrix import Question, measure, no_data
from serve.query.readable_books import holds_book
from serve.state import ServerState

SOURCE: Final = "published snapshots"


def asked(request: Request, by: str) -> Question:
    """Return what a request compares."""
    values = request.values
    return Question(by, values["book"], Window(values["from"], values["to"]), request.raw)


def correlations(service: ServerState, request: Request) -> Pending[Answer]:
    """Return the figures of every pair."""
    runs = chosen_runs(service.snapshots, request.the_caller, request.values["alphas"])
    return Pending(partial(service.compute, partial(_correlations, service, request, runs)))


def _correlations(service: ServerState, request: Request, runs: tuple[Snapshot, ...]) -> Single:
    question = asked(request, request.values["by"])
    require_book(runs, question.book, raw=question.raw)
    found = measure(service.reader, service.returns, runs, question)
    names = [run.alpha_id for run in runs]
    withheld = {
        f"{names[row]},{names[column]}": figure.text
        for row, figures in enumerate(found.figures)
        for column, figure in enumerate(figures)
        if row <= column and isinstance(figure, Unavailable)
    }
    return Single(
        {
            "alphas": names,
            "snapshots": {run.alpha_id: run.id for run in runs},
            "by": question.by,
            "book": question.compared_book,
            "matrix": [[None if isinstance(x, Unavailable) else x for x in row] for row in found.figures],
            "observations": found.observations,
            "withheld": withheld,
        },
        source=SOURCE,
    )


def contribution_of(service: ServerState, request: Request) -> Pending[Answer]:
    """Return what an alpha adds to an equal-weight book of others."""
    own = request.the_snapshot.alpha_id
    names = [name for name in dict.fromkeys(request.values["alphas"]) if name != own]
    runs = chosen_runs(service.snapshots, request.the_caller, names)
    return Pending(partial(service.compute, partial(_contribution, service, request, runs)))


def _contribution(service: ServerState, request: Request, runs: tuple[Snapshot, ...]) -> Single:
    question, snapshot = asked(request, "returns"), request.the_snapshot
    holds_book(snapshot, question.table, question.book, raw=question.raw)
    everyone = (snapshot, *runs)
    lacking = next((run for run in everyone if not question.has_rows(run)), None)
    if not runs:
        found = nothing(Unavailable("insufficient_data", "no alpha is given beside the one asked about"))
    elif lacking is not None:
        reason = no_data(question)
        found = nothing(Unavailable(reason.code, f"{lacking.alpha_id}: {reason.text}"))
    else:
        own, *others = (service.returns.load(run, question.book).within(question.window) for run in everyone)
        found = contribution(own, {run.alpha_id: part for run, part in zip(runs, others, strict=True)})
    data: dict[str, Any] = {
        "alphas": [run.alpha_id for run in runs],
        "snapshots": {run.alpha_id: run.id for run in everyone},
        "book": question.book,
        **found,
    }
    return Single(data, source=f"snapshot {snapshot.id}", meta=request.run_meta)


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "research.correlations": correlations,
    "research.contribution": contribution_of,
}
