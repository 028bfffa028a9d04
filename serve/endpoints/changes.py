"""Changes of the alphas that a key may read, in order, for programs that follow the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from datasets.publication.history import Change
from schemas.errors import ApiError
from serve.auth.caller import Caller
from serve.http.handler import Computed, EndpointFunction
from serve.http.request import Request
from serve.http.responses import Page
from serve.pages.changes import START, Cursor, change_log
from serve.pages.query import Rows
from serve.state import ServerState


def changes(service: ServerState, request: Request) -> Page:
    """Return the changes after a cursor."""
    # A node that has not read the catalogue yet cannot move a cursor.
    service.snapshots.require_known()
    values, listing = request.values, service.snapshots.listing
    since = _cursor(values["since"])
    log = change_log(listing).known(datetime.now(UTC), _visible(request.caller), since)
    part = log.after(since, values["limit"], values["offset"])
    rows = [_row(change, cursor) for change, cursor in zip(part.changes, part.cursors, strict=True)]
    return Page(Rows.of(rows, part.total), {"next": part.next.encode()})


def _visible(caller: Caller) -> Callable[[str], bool] | None:
    """Return a predicate of the alphas that the caller may read; None if it may read all."""
    alphas, runs = caller.alphas, caller.runs
    if alphas.is_all and runs.is_all:
        return None
    return lambda alpha: alphas.allows(alpha) and runs.allows(alpha)


def _cursor(text: str | None) -> Cursor:
    cursor = START if text is None else Cursor.decode(text)
    if cursor is None:
        raise ApiError(
            "cursor_not_known",
            "This release cannot continue from this cursor; list the alphas, and start without `since`.",
        )
    return cursor


def _row(change: Change, cursor: Cursor) -> dict[str, Any]:
    return {
        "cursor": cursor.encode(),
        "at": change.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "change": change.change,
        "alpha_id": change.alpha_id,
        "snapshot": change.snapshot,
        "previous_snapshot": change.previous,
    }


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.changes": Computed(changes)}
