"""What a page is a page of: the one value from which its entity tag, cache key, SQL and slice derive."""

from __future__ import annotations

import datetime as dt
from typing import Final, NamedTuple

from schemas.tables import TABLES
from serve.cache.lru import SnapshotKey

DECISION: Final = "decision"
"""The row of a weekly cross-section: the one whose rows are filtered by figures and sorted."""
EQUITY: Final = "equity"
"""The row of an equity curve, measured anew for each window."""
BOOK: Final = "book"
"""The row of the list of books."""


class TableView(NamedTuple):
    """A published table, of one book where it is partitioned by book, as one kind of key sees it.

    Attributes
    ----------
    table
        Name in :data:`schemas.tables.TABLES`.
    book
        None for a table that is not partitioned by book.
    row
        Name in :data:`schemas.rows.ROWS`: what a row shows.
    raw
        Whether the columns of the unconditioned signal are among them.
    """

    table: str
    book: str | None
    row: str
    raw: bool


class PageQuery(NamedTuple):
    """One page of the rows of a snapshot. Hashable; equal queries have equal answers.

    Attributes
    ----------
    snapshot
        The alpha and the snapshot's id.
    published_at
        When the snapshot was first published: answers tell it.
    table, row, raw
        As of :class:`TableView`.
    book
        The book whose rows are wanted; of a cross-section, the book whose target weights are meant.
    first, last
        Days, inclusive; None leaves that end open.
    symbols
        Ascending and without repeats; None for all.
    direction, min_abs_weight
        Of a cross-section; None leaves a condition out. A null meets neither.
    sort
        The column a cross-section is sorted by, nulls last and ties by ascending symbol; None for the order of the file.
    descending
        Whether the largest comes first.
    limit, offset
        Of the rows that meet the conditions.
    """

    snapshot: SnapshotKey
    published_at: str
    table: str
    row: str
    raw: bool
    book: str | None = None
    first: dt.date | None = None
    last: dt.date | None = None
    symbols: tuple[str, ...] | None = None
    direction: int | None = None
    min_abs_weight: float | None = None
    sort: str | None = None
    descending: bool = False
    limit: int = 500
    offset: int = 0

    @property
    def partition(self) -> str | None:
        """The book whose file holds the rows; None where one file holds all."""
        return self.book if TABLES[self.table].partition else None

    @property
    def view(self) -> TableView:
        """What rows are rendered and cached as."""
        return TableView(self.table, self.partition, self.row, self.raw)

    @property
    def weight(self) -> str:
        """The column `min_abs_weight` bounds."""
        return weight_column(self.book or "")

    @property
    def filters_rows(self) -> bool:
        """Whether rows of the days are left out."""
        return self.symbols is not None or self.direction is not None or self.min_abs_weight is not None


def weight_column(book: str) -> str:
    """Name the target weight of a book."""
    return f"{book}_target_weight"
