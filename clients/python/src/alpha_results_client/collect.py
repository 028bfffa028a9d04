"""Complete answers with parsed dates: all rows of a collection, from pages or a link, or one object."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from alpha_results_client.declared import ENDPOINTS, ROWS
from alpha_results_client.errors import ResultsWarning, SnapshotNotFound, UnexpectedAnswer
from alpha_results_client.exchange import Plan, Work, exchange, make_target
from alpha_results_client.moments import with_moments
from alpha_results_client.settings import Settings
from alpha_results_client.table import Table, make_frame
from alpha_results_client.table_links import FILTERS, CollectionRequest, fetch_by_link, may_link
from alpha_results_client.values import Query

PAGE = 5000
"""Rows per page, the maximum of the API."""
_PAGED = 2
"""Maximum number of pages before a link is used."""
_PACKAGE = Path(__file__).parent
_ATTEMPTS = 3
"""Attempts to read a collection that changes between pages."""


class _Changed(Exception):
    """Rows were published or removed between two pages."""


def collect(
    settings: Settings,
    endpoint: str,
    path: Mapping[str, str],
    query: Query,
    *,
    with_meta: bool = True,
) -> Plan[Table[Any]]:
    """Fetch all rows of a collection as a frame, from one snapshot if the endpoint has snapshots.

    Large parts of a published table are read from the table's file, through a signed link, if the key may have one;
    other queries, and those whose link fails, are paged. The frame is the same either way. Warnings of the answer
    are issued as :class:`ResultsWarning`.

    Parameters
    ----------
    with_meta
        Whether the `meta` of a page is needed. A link has none, so this costs a table one more call.

    Raises
    ------
    ApiError, NoAnswer, UnexpectedAnswer
        As for :func:`exchange`; `UnexpectedAnswer` also if the collection changes during every attempt to read it.
    ImportError
        If the library of the frames is not installed.
    """
    pinned = query.get("snapshot")
    request = CollectionRequest(endpoint, path, query)
    for attempt in range(_ATTEMPTS):
        if not with_meta and request.is_large and may_link(settings, request):
            frame = yield from fetch_by_link(settings, request, None)
            if frame is not None:
                return Table(frame, {}, "link")
        try:
            table = yield from _pages(settings, request)
        except (_Changed, SnapshotNotFound) as error:
            if isinstance(error, SnapshotNotFound) and (pinned is not None or attempt == _ATTEMPTS - 1):
                raise
            continue
        announce(table.meta)
        return table
    raise UnexpectedAnswer(f"{endpoint} changed between two pages, {_ATTEMPTS} times in a row; try again")


def _pages(settings: Settings, request: CollectionRequest) -> Plan[Table[Any]]:
    endpoint = request.endpoint
    rows: list[Mapping[str, Any]] = []
    first: Mapping[str, Any] | None = None
    pinned = dict(request.query)
    while True:
        body = yield from exchange(
            settings,
            make_target(endpoint, request.path, {**pinned, "limit": str(PAGE), "offset": str(len(rows))}),
        )
        try:
            data, pagination, meta = body["data"], body["pagination"], body["meta"]
            total, has_more = int(pagination["total"]), bool(pagination["has_more"])
        except (KeyError, TypeError) as error:
            raise UnexpectedAnswer(f"{endpoint} answered something that is not a page") from error
        rows += data
        is_first = first is None
        if first is None:
            first, expected_total = meta, total
            if "snapshot" in ENDPOINTS[endpoint].query and meta.get("snapshot"):
                pinned["snapshot"] = meta["snapshot"]
        if total != expected_total or (has_more and not data) or (not has_more and len(rows) != total):
            raise _Changed
        if not has_more:
            sample = rows or (yield from _sample(settings, request._replace(query=pinned)))
            frame = yield Work(partial(make_frame, rows, request.model, settings.frames, sample))
            return Table(frame, with_moments(first, f"meta {endpoint}"))
        if is_first and total > _PAGED * PAGE and may_link(settings, request):
            frame = yield from fetch_by_link(settings, request._replace(query=pinned), total)
            if frame is not None:
                return Table(frame, with_moments(first, f"meta {endpoint}"), "link")


def _sample(settings: Settings, request: CollectionRequest) -> Plan[list[Mapping[str, Any]]]:
    """Fetch a row without the query's filters, for the columns of a frame without rows; no row if all columns are known."""
    has_optional = any(column.optional for column in ROWS[request.model])
    if settings.frames == "rows" or not request.is_filtered or not has_optional:
        return []
    query = {name: value for name, value in request.query.items() if name not in FILTERS}
    body = yield from exchange(settings, make_target(request.endpoint, request.path, {**query, "limit": "1"}))
    rows: list[Mapping[str, Any]] = body["data"]
    return rows


def alpha_ids(settings: Settings) -> Plan[list[str]]:
    """Fetch the ids of the alphas that the key may read, latest started first."""
    table = yield from collect(settings.as_rows(), "catalog.alphas.list", {}, {}, with_meta=False)
    return [str(row["alpha_id"]) for row in table.frame]


def fetch(settings: Settings, endpoint: str, path: Mapping[str, str], query: Query) -> Plan[Any]:
    """Fetch one object with parsed dates and instants: the body's `data`, or the body itself without an envelope."""
    body = yield from exchange(settings, make_target(endpoint, path, query))
    entry = ENDPOINTS[endpoint]
    if not entry.enveloped:
        return with_moments(body, entry.row)
    if "data" not in body:
        raise UnexpectedAnswer(f"{endpoint} answered something that is not an object of this API")
    announce(body.get("meta", {}))
    return with_moments(body["data"], entry.row)


def announce(meta: Mapping[str, Any]) -> None:
    """Issue the warnings and notices of an answer, at the caller's line."""
    for entry in (*meta.get("warnings", ()), *meta.get("notices", ())):
        warnings.warn(f"{entry['code']}: {entry['message']}", ResultsWarning, stacklevel=levels_to_caller())


def levels_to_caller() -> int:
    """Return the number of stack frames between the caller of this function and the caller of this package."""
    level, frame = 1, inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None and Path(frame.f_code.co_filename).parent == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level
