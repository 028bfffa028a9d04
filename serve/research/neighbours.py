"""Most and least similar alphas: by returns among all, by scores and holdings among a few."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from datasets.analysis.comparison import (
    NO_DATA,
    NO_VARIATION,
    TOO_FEW,
    ComparisonQuery,
    neighbours,
    read_returns,
)
from datasets.catalogue.alpha_columns import Allowed
from datasets.figures.daily_returns import span
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt, StorageUnavailable
from serve.followed_catalogue import FollowedCatalogue
from serve.research.nearest import Nearest, Order, search
from serve.research.returns_matrix import NO_ROW, NOT_READ, UNREADABLE
from serve.research.store import NoteDamage, ReturnsStore

REASONS: Final = (NOT_READ, UNREADABLE, NO_DATA, TOO_FEW, NO_VARIATION)


class ReturnsStores:
    """Stores of daily returns by book, opened on first use. Thread-safe.

    Parameters
    ----------
    catalogue
        The served alphas.
    folder
        Folder that keeps returns across restarts, see :class:`ReturnsStore`.
    identity
        Identity of the datasets root.
    note
        Records the failure to read a run.
    """

    patience_seconds = 10.0
    """Seconds that a request waits until all returns have been read once; about ten thousand ledgers are read in this time."""

    def __init__(self, catalogue: FollowedCatalogue, folder: Path, identity: str, note: NoteDamage) -> None:
        self._catalogue = catalogue
        self._folder = folder / identity
        self._note = note
        self._stores: dict[str, ReturnsStore] = {}
        self._lock = threading.Lock()
        self._closed = False

    def of(self, book: str) -> ReturnsStore:
        """Return the store of a book that some run has; raises StorageUnavailable if the service is stopping."""
        with self._lock:
            if self._closed:
                raise StorageUnavailable("the service is ending")
            store = self._stores.get(book)
            if store is None:
                store = self._stores[book] = ReturnsStore(book, self._catalogue, self._folder, self._note)
            return store

    def catalogue_changed(self) -> None:
        """Read the returns of new publications."""
        for store in list(self._stores.values()):
            store.catalogue_changed()

    def close(self) -> None:
        """End the reading threads."""
        with self._lock:
            self._closed = True
        for store in list(self._stores.values()):
            store.close()


def among_all(
    store: ReturnsStore,
    snapshot: Snapshot,
    query: ComparisonQuery,
    *,
    allowed: Allowed,
    order: Order,
) -> Nearest:
    """Rank all other alphas that a key may read by the correlation of their returns.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When the alpha's own returns cannot be read.
    """
    searchable = store.searchable
    # The store has the alpha's own returns, unless its snapshot is new or not served; then its ledger is read.
    own = searchable.returns(snapshot)
    own = (read_returns(snapshot, query.book) if own is None else own).within(query.window)
    others = searchable.listing.columns.allowed(allowed).copy()
    place = searchable.listing.places.get(snapshot.alpha_id)
    if place is not None:
        others[place] = False
    rows = searchable.row[others]
    compared = np.zeros(len(searchable.keys), np.bool_)
    compared[rows[rows >= 0]] = True
    nearest = search(own, searchable.matrices, compared, order)
    nearest.excluded |= {reason: int(np.count_nonzero(rows == code)) for reason, code in NO_ROW.items()}
    nearest.span = span(own.days)
    return nearest


def among_few(
    snapshot: Snapshot,
    others: Sequence[Snapshot],
    query: ComparisonQuery,
    order: Order,
    *,
    note: NoteDamage,
) -> Nearest:
    """Compare a run with others, reading their files; those that cannot be read are noted and left out.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file of the alpha itself cannot be read.
    """
    present = list(others)
    while True:
        try:
            ranked, excluded, span = neighbours(snapshot, present, query, order.name)
            break
        except SnapshotCorrupt as error:
            damaged = next((other for other in present if other.key == error.snapshot_key), None)
            if damaged is None:
                raise
            note(damaged.pointer, error)
            present.remove(damaged)
    excluded[UNREADABLE] = len(others) - len(present)
    page = ranked[order.offset : order.offset + order.limit]
    return Nearest(page, len(ranked), excluded, span)
