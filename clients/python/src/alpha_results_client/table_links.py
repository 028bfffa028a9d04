"""Chooses between pages and the file of the table, and reads the rows of a query from the file."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from alpha_results_client.declared import ENDPOINTS, ROWS
from alpha_results_client.errors import (
    AlphaResultsClientError,
    ApiError,
    NoAnswer,
    NotAuthenticated,
    RateLimited,
    SnapshotNotFound,
)
from alpha_results_client.exchange import Plan, Work
from alpha_results_client.links import LinkFailed, ask_for_link, fetch_file, is_permanent
from alpha_results_client.parquet import READERS, Selection, Unreadable, has_reader, read_frame
from alpha_results_client.progress import Reporter
from alpha_results_client.settings import Settings
from alpha_results_client.values import Value, format_value

_log = logging.getLogger("alpha_results_client")
_FILTERS = {"from", "to", "symbol"}
_PAGES = 2
"""Pages up to which rows are paged."""
_JSON_BYTES = 25
"""What one value takes on a page, about, with its name."""


class CollectionRequest(NamedTuple):
    """A query of a collection.

    Attributes
    ----------
    model
        Of its rows.
    """

    endpoint: str
    path: Mapping[str, str]
    query: Mapping[str, Value]
    model: str

    @property
    def is_unfiltered(self) -> bool:
        """Whether the query is for all rows of a table by name and day, which are never just a few pages in a real run."""
        filtered = any(self.query.get(name) is not None for name in _FILTERS)
        return "symbol" in ENDPOINTS[self.endpoint].query and not filtered


def worth_a_link(total: int, page: int) -> bool:
    """Whether the rows take enough pages for a link to be tried."""
    return total > _PAGES * page


def reason_to_page(settings: Settings, request: CollectionRequest) -> str:
    """Return why rows come by pages; empty when a link may be requested."""
    entry = ENDPOINTS[request.endpoint]
    given = {name for name, value in request.query.items() if value is not None}
    if not entry.table or not given <= {*_FILTERS, "book", "fields", "snapshot"}:
        return "the rows of this query are not in a file"
    reason = settings.links_disabled_reason(request.endpoint)
    if reason is None and not has_reader(settings.frames):
        reason = f"{READERS.get(settings.frames, 'a reader of Parquet')} is not installed"
        if settings.frames not in READERS:
            reason = f"frames={settings.frames!r} reads no Parquet"
        _log_paging(request, reason)
        settings.disable_links("", reason)
    return reason or ""


def fetch_by_link(
    settings: Settings, request: CollectionRequest, total: int | None, report: Reporter
) -> Plan[Any]:
    """Fetch rows from the file of their table.

    Parameters
    ----------
    total
        How many rows they are, as the first page says; None for all rows of the file.
    report
        Told of rows.

    Returns
    -------
    frame or None
        None where pages have to do, for the reason that is logged.

    Raises
    ------
    NoAnswer, NotAuthenticated, RateLimited, SnapshotNotFound
        As pages would; the last one only for a snapshot that the query names.
    """
    reason, permanent = "", False
    try:
        frame = yield from _fetch_by_link(settings, request, total, report)
    except (NoAnswer, NotAuthenticated, RateLimited):
        raise
    except SnapshotNotFound as error:
        if request.query.get("snapshot") is not None:
            raise
        # Removed since the link was made: pages are of the one that is served now.
        frame, reason = None, str(error)
    except LinkFailed as error:
        frame, reason, permanent = None, error.reason, error.permanent
    except AlphaResultsClientError as error:
        frame, reason = None, str(error)
        permanent = isinstance(error, ApiError) and is_permanent(error)
    if isinstance(frame, Unreadable):
        reason, frame = frame.reason, None
        settings.disable_links(request.endpoint, reason)
    if permanent:
        settings.disable_links("", reason)
    if reason:
        _log_paging(request, reason)
    return frame


def _fetch_by_link(
    settings: Settings, request: CollectionRequest, total: int | None, report: Reporter
) -> Plan[Any]:
    query = request.query
    try:
        first, last = _day(query.get("from")), _day(query.get("to"))
    except ValueError:
        raise LinkFailed("the window is not of plain dates") from None
    path = {"alpha": request.path["alpha"], "table": ENDPOINTS[request.endpoint].table}
    options = {name: query.get(name) for name in ("book", "snapshot")}
    link = yield from ask_for_link(settings, path, options)
    if link.rows == 0:
        raise LinkFailed("the table is empty, and a page says why")
    rows = link.rows if total is None else total
    if (
        total is not None
        and link.size > rows * len(ROWS[request.model]) * _JSON_BYTES
        and not _is_cached(settings, link.sha256)
    ):
        raise LinkFailed("the table is much larger than the rows requested")
    renew = partial(ask_for_link, settings, path, {**options, "snapshot": link.meta.get("snapshot")})
    data = yield from fetch_file(settings, link, renew, lambda had, size: report(rows * had // size, rows))
    selection = Selection(
        path["table"], request.model, link.book, first, last, _symbols(query.get("symbol")), rows
    )
    return (yield Work(partial(read_frame, data, selection, settings.frames)))


def _is_cached(settings: Settings, sha256: str) -> bool:
    return settings.cache is not None and settings.cache.has_file(sha256)


def _day(value: Value) -> dt.date | None:
    return None if value is None else dt.date.fromisoformat(format_value(value))


def _symbols(value: Value) -> Sequence[str] | None:
    return None if value is None else [name.strip() for name in format_value(value).split(",")]


def _log_paging(request: CollectionRequest, reason: str) -> None:
    _log.info("%s of %s by pages: %s", request.endpoint, request.path.get("alpha"), reason)
