"""Page query: the one value from which a page's entity tag, cache key, SQL and slice derive; and its result."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import orjson

if TYPE_CHECKING:
    from serve.cache import SnapshotKey

DECISION: Final = "decision"
"""The row of a weekly cross-section: the one whose rows are filtered by figures and sorted."""


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
    def weight(self) -> str:
        """The column `min_abs_weight` bounds."""
        return weight_column(self.book or "")


def weight_column(book: str) -> str:
    """Name the target weight of a book."""
    return f"{book}_target_weight"


class UnknownSymbol(NamedTuple):
    """A requested symbol that the run never had, and the run's own spelling of it, if there is one."""

    requested: str
    nearest: str | None


class Week(NamedTuple):
    """A rebalance week: its status, and the rows of its cross-section; None when the run sealed no decisions."""

    status: str
    symbols: int | None


class Rows(NamedTuple):
    """A page's rows as they are sent.

    Attributes
    ----------
    objects
        JSON objects with commas between them; part of a table in memory, which is copied when the body is assembled.
    returned, total
        How many they are, and the rows of all pages.
    """

    objects: bytes | memoryview
    returned: int
    total: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], total: int) -> Self:
        """Return rows that are written here, one object each."""
        return cls(memoryview(orjson.dumps(rows))[1:-1], len(rows), total)


NO_ROWS: Final = Rows(b"", 0, 0)


class PageResult(NamedTuple):
    """The rows that answer a page query, and what its meta needs.

    Attributes
    ----------
    rows
        The page.
    missing
        Kinds that the run holds no rows of, when the page is empty for that reason.
    unknown
        Requested symbols that the run never had.
    week
        Of a cross-section; None when the run has no rebalance index.
    summary
        Of the window of an equity curve, not of the page.
    """

    rows: Rows
    missing: tuple[str, ...] = ()
    unknown: tuple[UnknownSymbol, ...] = ()
    week: Week | None = None
    summary: Mapping[str, Any] | None = None
