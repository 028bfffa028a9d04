"""Rows from the file of their table, fetched through a signed link without the key, and verified by digest."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import (
    NO_SUCH_ALPHA,
    AlphaResultsClientError,
    ApiError,
    InvalidRequest,
    NoAnswer,
    NotAuthenticated,
    RateLimited,
    SnapshotNotFound,
    UnexpectedAnswer,
)
from alpha_results_client.exchange import Plan, Send, Work, exchange, make_target, request
from alpha_results_client.parquet import Selection, Unreadable, read_frame
from alpha_results_client.settings import LOG, Settings
from alpha_results_client.values import Query

DOWNLOAD = "catalog.alphas.tables.download"
_SELECTION = {"from", "to", "symbol"}
"""Parameters that :class:`Selection` applies to the rows of a file."""
FILTERS = {*_SELECTION, "direction", "min_abs_weight"}
"""Parameters that leave out rows of a run's table."""
_OF_ONE_CALL = NO_SUCH_ALPHA | {"table_not_found"}
"""Error codes of a link that concern the alpha and the table of the call, but no other calls."""


class LinkFailed(AlphaResultsClientError):
    """The file cannot be fetched by link, so the rows are paged."""


class CollectionRequest(NamedTuple):
    """A query of a collection."""

    endpoint: str
    path: Mapping[str, str]
    query: Query

    @property
    def model(self) -> str:
        """Row model of the answer."""
        entry = ENDPOINTS[self.endpoint]
        return entry.full_row if entry.full_row and self.query.get("fields") == "all" else entry.row

    @property
    def is_filtered(self) -> bool:
        """Whether the query may leave out rows."""
        return any(self.query.get(name) is not None for name in FILTERS)

    @property
    def is_large(self) -> bool:
        """Whether the query asks for all rows of a table by name and day, which fill many pages in a real run."""
        return "symbol" in ENDPOINTS[self.endpoint].query and not self.is_filtered


def may_link(settings: Settings, request: CollectionRequest) -> bool:
    """Return whether a link may be requested; if not, the reason is logged for rows that have a file."""
    parameters = {name for name, value in request.query.items() if value is not None}
    if not ENDPOINTS[request.endpoint].table or not parameters <= {*_SELECTION, "book", "fields", "snapshot"}:
        return False
    if request.query.get("fields") not in (None, "core", "all"):
        return False  # the service reports the invalid value
    reason = settings.links_disabled_reason()
    if reason is not None:
        _log_paging(request, reason)
    return reason is None


def fetch_by_link(settings: Settings, request: CollectionRequest, total: int | None) -> Plan[Any]:
    """Fetch rows from the file of their table.

    Parameters
    ----------
    total
        Number of rows, from the first page; None for all rows of the file.

    Returns
    -------
    frame or None
        None if the rows must be paged. Unless only this call has no link, the reason is logged, and links are then not tried
        for some minutes.

    Raises
    ------
    NoAnswer, NotAuthenticated, RateLimited, SnapshotNotFound
        As for pages; the last one only for a snapshot that the query names.
    """
    try:
        return (yield from _fetch_by_link(settings, request, total))
    except (NoAnswer, NotAuthenticated, RateLimited):
        raise
    except AlphaResultsClientError as error:
        if isinstance(error, SnapshotNotFound) and request.query.get("snapshot") is not None:
            raise
        if isinstance(error, InvalidRequest) or (isinstance(error, ApiError) and error.code in _OF_ONE_CALL):
            return None  # a page reports what is missing or wrong; another call may have a link
        settings.disable_links(str(error))
        _log_paging(request, str(error))
        return None


def _fetch_by_link(settings: Settings, request: CollectionRequest, total: int | None) -> Plan[Any]:
    query = request.query
    try:
        first, last = _day(query.get("from")), _day(query.get("to"))
    except ValueError:
        return None  # the service reports the invalid window
    path = {"alpha": request.path["alpha"], "table": ENDPOINTS[request.endpoint].table}
    options = {name: query.get(name) for name in ("book", "snapshot")}
    answer = yield from exchange(settings, make_target(DOWNLOAD, path, options))
    try:
        link = answer["data"]
        url, book, rows, sha256 = link["url"], link["book"], int(link["rows"]), str(link["sha256"])
        scheme = urlsplit(url).scheme
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"{DOWNLOAD} answered something that is not a link") from error
    if scheme not in ({"https"} if settings.base_url.startswith("https:") else {"http", "https"}):
        raise LinkFailed("the link is not encrypted, although the service's own address is")
    if rows == 0:
        return None  # a page gives the reason why the table is empty
    data = yield from _fetch_file(settings, url, sha256)
    selection = Selection(
        path["table"], request.model, book, first, last, _symbols(query.get("symbol")), total or rows
    )
    frame = yield Work(partial(read_frame, data, selection, settings.frames))
    if isinstance(frame, Unreadable):
        raise LinkFailed(frame.reason)
    return frame


def _fetch_file(settings: Settings, url: str, sha256: str) -> Plan[bytes]:
    """Fetch the file of a link, or take it from the cache."""
    stored = None if settings.cache is None else settings.cache.read(sha256)
    if stored is not None:
        return stored.body
    send = Send(url, {"Accept-Encoding": "identity"})  # a content coding would change its bytes
    try:
        reply = yield from request(settings, send)
    except (ApiError, NoAnswer) as error:
        raise LinkFailed(f"the link failed: {error}") from None
    if hashlib.sha256(reply.body).hexdigest() != sha256:
        raise LinkFailed("the file fetched by link is not the one described")
    if settings.cache is not None:
        settings.cache.write(sha256, sha256, reply.body)
    return reply.body


def _day(value: str | None) -> dt.date | None:
    return None if value is None else dt.date.fromisoformat(value)


def _symbols(value: str | None) -> Sequence[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


def _log_paging(request: CollectionRequest, reason: str) -> None:
    LOG.info("%s of %s by pages: %s", request.endpoint, request.path.get("alpha"), reason)
