"""Answers page queries: from memory at once, from the files on a thread."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Final, Protocol

from datasets.snapshot import Snapshot
from schemas.rows import ROWS
from schemas.tables import TABLES
from schemas.tables.books import BOOK_KINDS
from serve.pages.compile import compile_books, compile_page
from serve.pages.json import NO_ROWS, Rows
from serve.pages.page_query import BOOK, DECISION, EQUITY, Found, PageQuery, TableView, UnknownSymbol, Week
from serve.pages.readable_books import holds_book, visible_books
from serve.pages.reader import Reader
from serve.pages.rebalances import RebalanceIndex, RebalanceIndexes
from serve.pages.rendered_table import (
    ParquetSource,
    RenderedTable,
    read_rows,
    read_table,
    view_source,
)
from serve.pages.rows_file import NotResident, RowsDamaged
from serve.pages.rows_format import RowsWriter
from serve.pages.symbols import RunSymbols
from serve.pages.table_cache import NotRenderable, TableCache

_MAX_ROWS: Final = 50_000
"""Rows that may be gone through on the event loop; more would keep other requests waiting."""
_BYTES_A_VALUE: Final = 28
"""What a value takes as JSON with its name, by which a rendered table's size is estimated before it is made."""


class Source(Protocol):
    """Answers the queries of some kinds of row."""

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Answer from memory alone and at once; None when that takes more."""
        ...

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Answer, from the files where it must be; may take long."""
        ...


class Pages:
    """Answers page queries. Safe to share between threads.

    Parameters
    ----------
    tables, curves, books
        The sources of stored rows, of equity curves and of the list of books.
    """

    def __init__(self, tables: Source, curves: Source, books: Source) -> None:
        self._tables = tables
        self._others = {EQUITY: curves, BOOK: books}

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Answer from memory alone and at once; None when that takes more.

        Parameters
        ----------
        snapshot
            The one the query names.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` or ``unknown_book``.
        """
        if not snapshot.opened:
            return None
        return self._others.get(query.row, self._tables).cached(query, snapshot)

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Answer, from the files where it must be; may take long.

        Raises
        ------
        ApiError
            As above.
        SnapshotCorrupt, StorageUnavailable
            When a file is gone or cannot be read.
        """
        return self._others.get(query.row, self._tables).load(query, snapshot)


class TablePages:
    """Pages of stored rows: cut from a rendered table, else asked of the engine.

    Parameters
    ----------
    reader
        What reads the files.
    tables, indexes, symbols
        What is cached of them.
    """

    def __init__(
        self, reader: Reader, tables: TableCache, indexes: RebalanceIndexes, symbols: RunSymbols
    ) -> None:
        self._reader = reader
        self._tables = tables
        self._indexes = indexes
        self._symbols = symbols

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Cut a page from a rendered table."""
        table = self._tables.get(query.snapshot, _view(query))
        week = None
        if query.row == DECISION and (table is not None or snapshot.has_rows("rebalances")):
            index = self._indexes.get(query.snapshot, None)
            if index is None:
                return None
            week = index.week(query.first)
        if table is None or (week is not None and week.symbols is None):
            # A table that is cached has rows, and the key may read them.
            return _nothing(query, snapshot, week)
        unknown: tuple[UnknownSymbol, ...] = ()
        if query.symbols is not None:
            known = self._symbols.cached_unknown(snapshot, query.symbols, raw=query.raw)
            if known is None or table.index.count_rows(query.symbols) > _MAX_ROWS:
                return None
            unknown = known
        try:
            return Found(table.cut(query), unknown=unknown, week=week)
        except NotResident:
            return None

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Cut a page from a rendered table, or run its SQL."""
        index, week = None, None
        days = query.first is not None or query.last is not None
        wanted = query.row == DECISION or (query.table == "decisions" and days)
        if wanted and snapshot.has_rows("rebalances"):
            index = self._indexes.load(snapshot)
            week = index.week(query.first) if query.row == DECISION else None
        nothing = _nothing(query, snapshot, week)
        if nothing is not None:
            return nothing
        unknown: tuple[UnknownSymbol, ...] = ()
        if query.symbols is not None:
            unknown = self._symbols.unknown(snapshot, query.symbols, raw=query.raw)
        return Found(self._rows(query, snapshot, index), unknown=unknown, week=week)

    def prewarm(self, snapshot: Snapshot, view: TableView, share: float) -> bool:
        """Render a table before anybody asks for it, and wait until it is cached.

        Parameters
        ----------
        share
            Of the bound, that all rendered tables may come to by this.

        Returns
        -------
        bool
            Whether there was room.
        """
        source = self._source(snapshot, view)
        if self._tables.load(snapshot.key, view, source) is not None:
            return True
        if not self._tables.has_room(source.size, share):
            return False
        self._tables.prewarm(snapshot.key, view, source)
        return True

    def _source(self, snapshot: Snapshot, view: TableView) -> _TableSource:
        rows = snapshot.entry(view.table, view.book).rows
        size = rows * len(ROWS[view.row].columns) * _BYTES_A_VALUE
        return _TableSource(self._reader, snapshot, view, size)

    def _rows(self, query: PageQuery, snapshot: Snapshot, index: RebalanceIndex | None) -> Rows:
        view = _view(query)
        source = self._source(snapshot, view)
        table = self._tables.load(query.snapshot, view, source)
        if table is not None:
            # A file that turns out to be damaged is read as if it were not there.
            with contextlib.suppress(RowsDamaged):
                return table.waiting.cut(query)
        started = time.perf_counter()
        rows = self._reader.engine.page(compile_page(query, view.book, snapshot, index))
        self._tables.record_miss(query.snapshot, view, seconds=time.perf_counter() - started, source=source)
        return rows


@dataclass(frozen=True, slots=True)
class _TableSource:
    """What a view of a snapshot is rendered of."""

    reader: Reader
    snapshot: Snapshot
    view: TableView
    size: int
    """Bytes it is estimated to take."""

    @property
    def made_of(self) -> str | None:
        """Names what is rendered: equal names stand for equal bytes."""
        source = view_source(self.view, self.snapshot)
        return None if source is None else self._name(source)

    def read(self) -> RenderedTable | None:
        """Render it into memory."""
        source = view_source(self.view, self.snapshot)
        return read_table(self.reader, self._file(), source) if source is not None else None

    def write(self, writer: RowsWriter) -> None:
        """Render it to a file."""
        source = view_source(self.view, self.snapshot)
        if source is None:
            raise NotRenderable
        found = read_rows(self.reader, self._file(), source, writer.rows, writer.spool)
        if found is None:
            raise NotRenderable
        writer.finish(found[1], self._name(source))

    def _name(self, source: ParquetSource) -> str:
        return f"{self.snapshot.entry(self.view.table, self.view.book).sha256} {source.made_of}"

    def _file(self) -> str:
        return self.snapshot.file(self.view.table, self.view.book)


def _view(query: PageQuery) -> TableView:
    """Return what the rows of a query are rendered and cached as."""
    return TableView(query.table, query.book if TABLES[query.table].partition else None, query.row, query.raw)


def _nothing(query: PageQuery, snapshot: Snapshot, week: Week | None) -> Found | None:
    """Return what is found where the run holds no rows for a query; None where it holds some.

    Parameters
    ----------
    week
        Of a cross-section; None when the run has no rebalance weeks.
    """
    if query.row == DECISION:
        if week is None:
            return Found(NO_ROWS, missing=("rebalances",))
        if week.symbols is None:
            return Found(NO_ROWS, missing=("decisions",), week=week)
    if TABLES[query.table].partition:
        has_any = holds_book(snapshot, query.table, query.book or "", raw=query.raw)
    else:
        has_any = snapshot.has_rows(query.table)
    return None if has_any else Found(NO_ROWS, missing=(query.table,), week=week)


class BookPages:
    """Pages of the list of books, asked of the engine each time: it is short, and finished pages are cached.

    Parameters
    ----------
    reader
        What reads the files.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Answer for a run without books; any other takes the engine."""
        return None if _books(query, snapshot) else Found(NO_ROWS, missing=BOOK_KINDS)

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Run the query."""
        books = _books(query, snapshot)
        if not books:
            return Found(NO_ROWS, missing=BOOK_KINDS)
        return Found(self._reader.engine.page(compile_books(query, snapshot, books)))


def _books(query: PageQuery, snapshot: Snapshot) -> tuple[str, ...]:
    return visible_books(snapshot, raw=query.raw) if snapshot.has("books") else ()
