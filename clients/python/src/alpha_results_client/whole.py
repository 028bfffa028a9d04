"""When the rows asked for come from the file of their whole table, and how."""

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
from alpha_results_client.links import LinkFailed, ask_for_link, fetch_file, refused_for_good
from alpha_results_client.parquet import READERS, Unreadable, Wanted, frame_of_file, has_reader
from alpha_results_client.progress import Reporter
from alpha_results_client.settings import Settings
from alpha_results_client.values import Value, text_of

_log = logging.getLogger("alpha_results_client")
_FILTERS = {"from", "to", "symbol"}
_PAGES = 2
"""Pages up to which rows are paged."""
_JSON_BYTES = 25
"""What one value takes on a page, about, with its name."""


class Asked(NamedTuple):
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
    def whole(self) -> bool:
        """Whether every row of a table with a row for each name and day is asked for: never a few pages of a real run."""
        filtered = any(self.query.get(name) is not None for name in _FILTERS)
        return "symbol" in ENDPOINTS[self.endpoint].query and not filtered


def worth_a_link(total: int, page: int) -> bool:
    """Tell whether so many rows take so many pages that a link is looked at."""
    return total > _PAGES * page


def why_not_by_link(settings: Settings, asked: Asked) -> str:
    """Return why rows come by pages; empty when a link may be asked for."""
    entry = ENDPOINTS[asked.endpoint]
    given = {name for name, value in asked.query.items() if value is not None}
    if not entry.table or not given <= {*_FILTERS, "book", "fields", "snapshot"}:
        return "these rows are no part of a table's file"
    why = settings.why_no_links(asked.endpoint)
    if why is None and not has_reader(settings.frames):
        why = f"{READERS.get(settings.frames, 'a reader of Parquet')} is not installed"
        if settings.frames not in READERS:
            why = f"frames={settings.frames!r} reads no Parquet"
        _tell(asked, why)
        settings.remember_no_links("", why)
    return why or ""


def by_link(settings: Settings, asked: Asked, total: int | None, report: Reporter) -> Plan[Any]:
    """Fetch rows from the file of their table.

    Parameters
    ----------
    total
        How many rows they are, as the first page says; None when every row of the file is asked for.
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
    why, lasting = "", False
    try:
        frame = yield from _by_link(settings, asked, total, report)
    except (NoAnswer, NotAuthenticated, RateLimited):
        raise
    except SnapshotNotFound as error:
        if asked.query.get("snapshot") is not None:
            raise
        frame, why = (
            None,
            str(error),
        )  # removed since the link was made: pages are of the one that is served now
    except LinkFailed as error:
        frame, why, lasting = None, error.reason, error.lasting
    except AlphaResultsClientError as error:
        frame, why = None, str(error)
        lasting = isinstance(error, ApiError) and refused_for_good(error)
    if isinstance(frame, Unreadable):
        why, frame = frame.reason, None
        settings.remember_no_links(asked.endpoint, why)
    if lasting:
        settings.remember_no_links("", why)
    if why:
        _tell(asked, why)
    return frame


def _by_link(settings: Settings, asked: Asked, total: int | None, report: Reporter) -> Plan[Any]:
    query = asked.query
    try:
        first, last = _day(query.get("from")), _day(query.get("to"))
    except ValueError:
        raise LinkFailed("the window is not of plain dates") from None
    path = {"alpha": asked.path["alpha"], "table": ENDPOINTS[asked.endpoint].table}
    options = {name: query.get(name) for name in ("book", "snapshot")}
    link = yield from ask_for_link(settings, path, options)
    if link.rows == 0:
        raise LinkFailed("the table is empty, and a page says why")
    rows = link.rows if total is None else total
    if (
        total is not None
        and link.size > rows * len(ROWS[asked.model]) * _JSON_BYTES
        and not _stored(settings, link.sha256)
    ):
        raise LinkFailed("the whole table is larger than the rows asked for")
    renew = partial(ask_for_link, settings, path, {**options, "snapshot": link.meta.get("snapshot")})
    data = yield from fetch_file(settings, link, renew, lambda had, size: report(rows * had // size, rows))
    wanted = Wanted(path["table"], asked.model, link.book, first, last, _symbols(query.get("symbol")), rows)
    return (yield Work(partial(frame_of_file, data, wanted, settings.frames)))


def _stored(settings: Settings, sha256: str) -> bool:
    return settings.cache is not None and settings.cache.has_file(sha256)


def _day(value: Value) -> dt.date | None:
    return None if value is None else dt.date.fromisoformat(text_of(value))


def _symbols(value: Value) -> Sequence[str] | None:
    return None if value is None else [name.strip() for name in text_of(value).split(",")]


def _tell(asked: Asked, why: str) -> None:
    _log.info("%s of %s by pages: %s", asked.endpoint, asked.path.get("alpha"), why)
