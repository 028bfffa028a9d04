"""Families of research figures, as computed at publication."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from schemas.metrics.families import FAMILIES
from schemas.metrics.families.family import Family
from serve.http.handler import ComputedOnce, EndpointFunction
from serve.http.request import Request
from serve.http.responses import Single
from serve.pages.books import holds_book
from serve.state import ServerState


def research(family: Family, _: ServerState, request: Request) -> Single:
    """Return the figures of a family."""
    caller, snapshot = request.caller, request.snapshot
    for endpoint in family.needs:
        caller.require_call(endpoint, f"have the figures of {family.name}")
    book = request.values["book"] if family.by_book else None
    if book is not None:
        holds_book(snapshot, "portfolio", book, raw=request.raw)
    figures = snapshot.research(family.name, book)
    return Single.of_run(snapshot, figures if request.raw else _without_raw(family, figures))


def _without_raw(family: Family, figures: dict[str, Any]) -> dict[str, Any]:
    """Remove the members, and their reasons, that need raw-book access."""
    closed = {field.name for field in family.payload.fields if field.raw}
    shown = {name: value for name, value in figures.items() if name not in closed}
    reasons = figures["withheld"].items()
    return shown | {
        "withheld": {path: text for path, text in reasons if path.partition(".")[0] not in closed}
    }


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    family.endpoint: ComputedOnce(partial(research, family)) for family in FAMILIES.values()
}
