"""Changes of the alphas that a key may read, in order, for programs that follow the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from datasets.publication.history import Change
from schemas.errors import ApiError
from schemas.instants import utc_text
from serve.auth.caller import Caller
from serve.http.handler import EndpointFunction
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
    log = change_log(listing).readable(datetime.now(UTC), partial(_may_read, request.caller), since)
    part = log.after(since, values["limit"], values["offset"])
    rows = [_row(change, cursor) for change, cursor in zip(part.changes, part.cursors, strict=True)]
    return Page(Rows.of(rows, part.total), {"next": part.next.encode()})


def _may_read(caller: Caller, alpha_id: str) -> bool:
    return caller.may_read_alpha(alpha_id) and caller.may_read_run(alpha_id)


def _cursor(text: str | None) -> Cursor:
    cursor = START if text is None else Cursor.decode(text)
    if cursor is None:
        raise ApiError(
            "cursor_not_known",
            "This release does not know the cursor in `since`; list the alphas again, and start without `since`.",
        )
    return cursor


def _row(change: Change, cursor: Cursor) -> dict[str, Any]:
    return {
        "cursor": cursor.encode(),
        "at": utc_text(change.at, "microseconds"),
        "change": change.change,
        "alpha_id": change.alpha_id,
        "snapshot": change.snapshot,
        "previous_snapshot": change.previous,
    }


ROUTES: Final[Mapping[str, EndpointFunction]] = {"research.changes": changes}
