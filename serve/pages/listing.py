"""The list of alphas, from the catalogue in memory: filtered, sorted and shown with figures, limited to what a key may see."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from datasets.catalogue.alpha_columns import Allowed, Columns, Entry, Places
from datasets.catalogue.listing import Listing
from datasets.figures.headline import Headline
from datasets.figures.series import Flags, Floats, Window
from schemas.listing_parameters import LISTED_ORDERS
from schemas.metrics.headline import CORRECTED_NAMES, HEADLINE
from schemas.metrics.statistic import SOURCES
from serve.cache import SnapshotKey
from serve.pages.query import PageResult, PageWork, Rows

RUN_CLOSED: Final = "the key may not read this run"


class AlphasQuery(NamedTuple):
    """A page of the list of alphas, or of a screen, which has further conditions and columns.

    Attributes
    ----------
    snapshot
        :data:`serve.cache.LISTING` in place of an alpha, and the edition of the list.
    allowed, runs
        The alphas the key may read, and the runs whose data it may read.
    search
        Text that the address, name or summary contains; None for no condition.
    complete_only
        Whether to leave out runs that lack a required kind.
    limit, offset
        Page of the alphas that meet the conditions.
    is_screen
        Whether rows have the members of a screen; the plain list has none of the conditions below.
    fields
        Figures to show.
    sort
        What to sort by, with `-` when descending; None for the order of the list.
    bounds
        Figure, minimum and maximum; None leaves an end open.
    checked_only
        Whether to leave out alphas with figures that no table supports or that a table contradicts.
    tag
        A tag of the description; None for no condition.
    started, published
        Days of the run's start and of the first publication.
    closed
        Kinds of data that the key may not read; figures computed from them are withheld.
    raw
        Whether the key has raw-book access.
    """

    snapshot: SnapshotKey
    allowed: Allowed
    runs: Allowed
    search: str | None
    complete_only: bool
    limit: int
    offset: int
    is_screen: bool = False
    fields: tuple[str, ...] = ()
    sort: str | None = None
    bounds: tuple[tuple[str, float | None, float | None], ...] = ()
    checked_only: bool = False
    tag: str | None = None
    started: Window = Window()
    published: Window = Window()
    closed: tuple[str, ...] = ()
    raw: bool = False


def select(query: AlphasQuery, listing: Listing) -> Places:
    """Return the indices of the alphas that meet a query, in its order."""
    chosen = np.ones(len(listing.pointers), dtype=np.bool_)
    for condition in _conditions(query, listing):
        chosen &= condition
    if query.sort is None:
        return np.flatnonzero(chosen)
    columns = listing.columns
    values = _values(columns, query, query.sort.removeprefix("-"))
    order = columns.ordered(values, descending=query.sort.startswith("-"))
    return order[chosen[order]]


def _conditions(query: AlphasQuery, listing: Listing) -> Iterator[Flags]:
    """Yield the alphas that meet each condition."""
    columns = listing.columns
    if query.search is not None:
        matching = np.zeros(len(listing.pointers), dtype=np.bool_)
        matching[[listing.places[x.alpha_id] for x in listing.search(query.search)]] = True
        yield matching
    if query.complete_only:
        yield np.array([x.complete for x in listing.pointers], dtype=np.bool_)
    if not query.allowed.is_all:
        yield columns.allowed(query.allowed)
    if query.tag is not None:
        yield columns.tagged(query.tag)
    if query.checked_only:
        yield columns.supported & columns.allowed(query.runs)
    for days, window in ((columns.started, query.started), (columns.published, query.published)):
        first, last = (day and day.isoformat() for day in (window.first, window.last))
        yield from _within(days, first, last)
    for name, least, most in query.bounds:
        yield from _within(_values(columns, query, name), least, most)  # an unknown figure meets no bound


def _within(values: Any, least: Any, most: Any) -> Iterator[Flags]:
    """Yield the alphas with at least and at most a value; None leaves an end open."""
    if least is not None:
        yield values >= least
    if most is not None:
        yield values <= most


def _values(columns: Columns, query: AlphasQuery, name: str) -> Floats:
    """Return the values that the list is sorted or filtered by, NaN where the key may not see them."""
    if name in LISTED_ORDERS:
        return columns.ranks[name]
    if name in CORRECTED_NAMES:
        corrected: Floats = getattr(columns.corrected(query.runs, query.closed), name)
        return corrected
    values = columns.figure(name, query.closed)
    return values if query.runs.is_all else np.where(columns.allowed(query.runs), values, np.nan)


def figures(listing: Listing, query: AlphasQuery, place: int) -> dict[str, Any]:
    """Return the members of a row that show the requested figures; empty if none are requested."""
    if not query.fields:
        return {}
    pointer = listing.pointers[place]
    readable = query.runs.is_all or query.runs.allows(pointer.alpha_id)
    checked = Headline.decode(pointer.headline).checked if readable else None
    values: dict[str, float | None] = {}
    rest_on: dict[str, str] = {}
    withheld: dict[str, str] = {}
    for name in query.fields:
        entry = _figure(listing.columns, query, place, name) if readable else Entry(reason=RUN_CLOSED)
        values[name] = entry.value
        if entry.checked is None:
            endpoint = HEADLINE[name].statistic.source.endpoint
            withheld[name] = entry.reason or f"the key may not call {endpoint}"
        else:
            rest_on[name] = entry.checked.value
    return {
        "checked": None if checked is None else checked.for_reader(raw=query.raw, may_read=query.runs.allows),
        "figures": values,
        "figures_checked": rest_on,
        "withheld": withheld,
    }


def _figure(columns: Columns, query: AlphasQuery, place: int, name: str) -> Entry:
    if name in CORRECTED_NAMES:
        return columns.corrected_entry(place, name, query.runs, query.closed)
    return columns.entry(place, name, query.closed)


def closed_kinds(may_call: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of data that a key may not read if it may call only these endpoints."""
    return tuple(source.kind for source in SOURCES if source.endpoint not in may_call)


_MAX_ALPHAS: Final = 20_000
"""Maximum number of alphas scanned on the event loop; more would keep other requests waiting for tens of milliseconds."""


def list_alphas(query: AlphasQuery, listing: Listing) -> PageResult | PageWork:
    """Answer a query of the list of alphas, latest started first unless it sorts; return the work if it takes too long."""
    work = partial(_make_page, query, listing)
    return work if len(listing.pointers) > _MAX_ALPHAS else work()


def _make_page(query: AlphasQuery, listing: Listing) -> PageResult:
    places = select(query, listing)
    page = places[query.offset : query.offset + query.limit].tolist()
    return PageResult(Rows.of([_row(listing, query, place) for place in page], places.size))


def _row(listing: Listing, query: AlphasQuery, place: int) -> dict[str, Any]:
    pointer = listing.pointers[place]
    row = {"alpha_id": pointer.alpha_id, "name": pointer.name, "tldr": pointer.tldr}
    if not query.is_screen:
        return row
    published = {
        "snapshot": pointer.snapshot,
        "published_at": pointer.first_published_at,
        "complete": pointer.complete,
    }
    return row | published | figures(listing, query, place)
