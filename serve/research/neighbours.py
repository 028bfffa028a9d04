"""The alphas most or least alike one: by returns out of all of them, by scores and holdings out of a few."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from datasets.alpha_columns import Allowed
from datasets.comparison import Question, compare
from datasets.figures.correlation import common_days, correlation
from datasets.figures.similarity import ORDERS
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt, StorageUnavailable
from serve.catalog import Catalog
from serve.research.nearest import NO_VARIATION, TOO_FEW, Neighbour, search
from serve.research.reader import ServedReader
from serve.research.returns import read_returns
from serve.research.returns_matrix import LACKING, NO_DATA, NOT_READ, UNREADABLE
from serve.research.store import ReturnsStore

PATIENCE_SECONDS: Final = 10.0
"""How long a request waits for the first reading to end: ten thousand ledgers are read within that."""
REASONS: Final = (NOT_READ, UNREADABLE, NO_DATA, TOO_FEW, NO_VARIATION)


@dataclass(frozen=True, slots=True)
class Order:
    """Which of the neighbours are wanted; `name` is one of :data:`datasets.figures.similarity.ORDERS`."""

    name: str
    limit: int
    offset: int


@dataclass(slots=True)
class Neighbours:
    """What is answered.

    Attributes
    ----------
    page
        The neighbours asked for.
    compared
        How many there are in all.
    excluded
        Reason to the number of alphas that are not compared.
    span
        First and last day of the alpha within the window.
    """

    page: Sequence[Neighbour] = ()
    compared: int = 0
    excluded: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    span: tuple[str | None, str | None] = (None, None)


class ReturnsStores:
    """The stores of daily returns of each book, opened when they are first asked for. Safe to share between threads.

    Parameters
    ----------
    catalog
        What is served.
    folder
        Where returns are between restarts, see :class:`ReturnsStore`.
    identity
        Of the datasets root.
    """

    def __init__(self, catalog: Catalog, folder: Path, identity: str) -> None:
        self._catalog = catalog
        self._folder = folder / identity
        self._stores: dict[str, ReturnsStore] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def patience_seconds(self) -> float:
        """How long a request waits for the first reading to end."""
        return PATIENCE_SECONDS

    def of(self, book: str) -> ReturnsStore:
        """Return the store of a book that some run has; StorageUnavailable when the service is ending."""
        with self._lock:
            if self._closed:
                raise StorageUnavailable("the service is ending")
            store = self._stores.get(book)
            if store is None:
                store = self._stores[book] = ReturnsStore(
                    book,
                    listing=lambda: self._catalog.listing,
                    resolve=self._catalog.resolve,
                    read=read_returns,
                    folder=self._folder,
                    local=self._catalog.local,
                )
            return store

    def catalogue_changed(self) -> None:
        """Have what was published since be read."""
        for store in list(self._stores.values()):
            store.catalogue_changed()

    def close(self) -> None:
        """End what reads."""
        with self._lock:
            self._closed = True
        for store in list(self._stores.values()):
            store.close()


def among_all(
    store: ReturnsStore,
    reader: ServedReader,
    snapshot: Snapshot,
    question: Question,
    *,
    allowed: Allowed,
    order: Order,
) -> Neighbours:
    """Compare the returns of an alpha with those of all others that a key may read.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When its own cannot be read.
    """
    searchable = store.searchable
    # Its own returns lie beside the others; the ledger is read for a snapshot that was published just now, or is not served.
    own = searchable.returns(snapshot)
    own = (reader.returns(snapshot, question.book) if own is None else own).within(question.window)
    others = searchable.listing.columns.allowed(allowed).copy()
    place = searchable.listing.places.get(snapshot.alpha_id)
    if place is not None:
        others[place] = False
    rows = searchable.row[others]
    wanted = np.zeros(searchable.rows, np.bool_)
    wanted[rows[rows >= 0]] = True
    nearest = search(
        own,
        searchable.matrices,
        wanted,
        order=order.name,
        limit=order.limit,
        offset=order.offset,
    )
    without_row = {reason: int(np.count_nonzero(rows == code)) for reason, code in LACKING.items()}
    return Neighbours(nearest.page, nearest.compared, {**without_row, **nearest.excluded}, own.span)


def among_few(reader: ServedReader, runs: Sequence[Snapshot], question: Question, order: Order) -> Neighbours:
    """Compare the first run with the others, read for the request.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file of the alpha itself cannot be read.
    """
    result = Neighbours()
    figures: list[Neighbour] = []
    figures_of = _by_returns if question.by == "returns" else _by_cross_sections
    for name, value, n in figures_of(reader, runs, question, result):
        if isinstance(value, Unavailable):
            result.excluded[TOO_FEW if value.code == "insufficient_data" else NO_VARIATION] += 1
        else:
            figures.append(Neighbour(name, value, n))
    scores = ORDERS[order.name](np.array([x.figure for x in figures]))
    figures = [x for _, _, x in sorted(zip(-scores, [x.alpha_id for x in figures], figures, strict=True))]
    result.compared = len(figures)
    result.page = figures[order.offset : order.offset + order.limit]
    return result


_Figures = Iterator[tuple[str, float | Unavailable, int]]
"""Address, figure or its reason, and common observations."""


def _by_returns(
    reader: ServedReader, runs: Sequence[Snapshot], question: Question, result: Neighbours
) -> _Figures:
    snapshot, *others = runs
    own = reader.returns(snapshot, question.book).within(question.window)
    result.span = own.span
    for other in others:
        try:
            if not reader.has_rows(other, question):
                result.excluded[NO_DATA] += 1
                continue
            theirs = reader.returns(other, question.book).within(question.window)
        except SnapshotCorrupt:
            result.excluded[UNREADABLE] += 1
            continue
        left, right = common_days(own.days, own.values, theirs.days, theirs.values)
        yield other.alpha_id, correlation(left, right), int(left.size)


def _by_cross_sections(
    reader: ServedReader, runs: Sequence[Snapshot], question: Question, result: Neighbours
) -> _Figures:
    snapshot, *others = runs
    present = []
    for other in others:
        try:
            if reader.has_rows(other, question):
                other.file(question.table, question.compared_book)
                present.append(other)
            else:
                result.excluded[NO_DATA] += 1
        except SnapshotCorrupt:
            result.excluded[UNREADABLE] += 1
    compared = compare(reader, (snapshot, *present), question, first_only=True)
    result.span = compared.first_date, compared.last_date
    for place, other in enumerate(present, start=1):
        yield other.alpha_id, compared.figure(0, place), int(compared.observations[0, place])
