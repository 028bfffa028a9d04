"""What a page is a page of: the one value from which its entity tag, cache key, SQL and slice derive; and what it finds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from schemas.tables import TABLES
from serve.query.json import BodyChunks

if TYPE_CHECKING:
    from serve.cache.lru import SnapshotKey
    from serve.query.rendered_rows import RenderedRows, SplitRows

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


class Rows(NamedTuple):
    """A page's rows as they are sent.

    Attributes
    ----------
    chunks
        Of a JSON array, put together for this page; nothing for a slice of rendered rows.
    returned, total
        Its length, and the rows of all pages.
    rendered
        The rendered rows these are a slice of: they are cached anyway, and are read when they are wanted. None for rows
        that were put together for this page.
    first
        Number of the first of them there.
    """

    chunks: BodyChunks
    returned: int
    total: int
    rendered: RenderedRows | None = None
    first: int = 0

    @property
    def pieces(self) -> BodyChunks:
        """The JSON array in pieces; errors as of :meth:`serve.query.rendered_rows.RenderedRows.between`."""
        if self.rendered is None:
            return self.chunks
        return self.rendered.between(self.first, self.first + self.returned)

    @property
    def size(self) -> int:
        """About the bytes of the array; errors as above."""
        if self.rendered is None:
            return sum(map(len, self.chunks))
        return self.rendered.size(self.first, self.first + self.returned)

    def split(self, coding: str) -> SplitRows | None:
        """Return the rows with those in the middle compressed already; None when they are not, or too few; errors as above."""
        if self.rendered is None:
            return None
        return self.rendered.split(self.first, self.first + self.returned, coding)


NO_ROWS: Final = Rows((b"[]",), 0, 0)
EMPTY_ARRAY: Final[BodyChunks] = (b"[", b"]")
"""The brackets of a page's rows."""


class UnknownSymbol(NamedTuple):
    """A symbol that was asked for and that the run never had, and the run's own spelling of it, if there is one."""

    asked: str
    nearest: str | None


class Week(NamedTuple):
    """A rebalance week: its status, and the rows of its cross-section; None when the run sealed no decisions."""

    status: str
    symbols: int | None


class Found(NamedTuple):
    """What answers a page query.

    Attributes
    ----------
    rows
        The page.
    missing
        Kinds that the run holds no rows of, when the page is empty for that reason.
    unknown
        Symbols asked for that the run never had.
    week
        Of a cross-section; None when the run has no rebalance index.
    summary
        Of the whole window of an equity curve.
    """

    rows: Rows
    missing: tuple[str, ...] = ()
    unknown: tuple[UnknownSymbol, ...] = ()
    week: Week | None = None
    summary: Mapping[str, Any] | None = None
