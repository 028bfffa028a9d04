"""Page queries, each of which determines a page's entity tag, cache key, SQL and slice; and page results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

import orjson

if TYPE_CHECKING:
    from serve.cache import SnapshotKey

DECISION: Final = "decision"
"""Row model of a weekly cross-section, the only one that is filtered by figures and sorted."""


class TableView(NamedTuple):
    """A published table, or one book of it if it is partitioned by book, with or without raw columns.

    Attributes
    ----------
    table
        Name in :data:`schemas.tables.TABLES`.
    book
        None for a table that is not partitioned by book.
    row
        Name of the row model in :data:`schemas.rows.ROWS`.
    raw
        Whether the columns of the unconditioned signal are included.
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
        When the snapshot was first published; part of the answer.
    table, row, raw
        As in :class:`TableView`.
    book
        The book whose rows are requested; for a cross-section, the book whose target weights are filtered and sorted.
    first, last
        Days, inclusive; None leaves that end open.
    symbols
        Ascending and unique; None for all.
    direction, min_abs_weight
        Conditions on a cross-section; None for no condition. A null meets neither condition.
    sort
        The column a cross-section is sorted by, nulls last and ties by ascending symbol; None for file order.
    descending
        Whether the largest comes first.
    limit, offset
        Page of the rows that meet the conditions.
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
        """The column that `min_abs_weight` bounds."""
        return weight_column(self.book or "")


def weight_column(book: str) -> str:
    """Return the column of a book's target weight."""
    return f"{book}_target_weight"


class UnknownSymbol(NamedTuple):
    """A requested symbol that the run never had, and the run's symbol that differs only in case, if any."""

    requested: str
    nearest: str | None


class Week(NamedTuple):
    """A rebalance week: its status, and the rows of its cross-section; None when the run sealed no decisions."""

    status: str
    symbols: int | None


class Rows(NamedTuple):
    """The rows of a page, as sent.

    Attributes
    ----------
    objects
        Comma-separated JSON objects; a view of a table in memory is copied when the body is assembled.
    returned, total
        Number of rows on this page, and on all pages.
    """

    objects: bytes | memoryview
    returned: int
    total: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], total: int) -> Self:
        """Return rows as JSON, one object per row."""
        return cls(memoryview(orjson.dumps(rows))[1:-1], len(rows), total)


NO_ROWS: Final = Rows(b"", 0, 0)


class PageResult(NamedTuple):
    """The rows that answer a page query, and the inputs of its meta.

    Attributes
    ----------
    rows
        The page.
    missing
        Kinds of which the run has no rows, if the page is empty for that reason.
    unknown
        Requested symbols that the run never had.
    meta
        Members of the page's meta that its rows do not show, such as the summary of a window.
    """

    rows: Rows
    missing: tuple[str, ...] = ()
    unknown: tuple[UnknownSymbol, ...] = ()
    meta: Mapping[str, Any] = MappingProxyType({})


PageWork: TypeAlias = Callable[[], PageResult]
"""What is left to do for a page: it reads files or takes long, and so runs on a thread."""
