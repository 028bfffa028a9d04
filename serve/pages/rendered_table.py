"""A whole table as JSON rows with an index, of which a page is a slice: how it is made of a view, and which views are usual."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import polars as pl

from datasets.snapshot import Snapshot
from schemas.rows import ROWS, RowModel
from schemas.tables import TABLES
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.units import Type
from serve.pages.index_builder import IndexBuilder, NotAscending, Spool
from serve.pages.json import Rows
from serve.pages.page_query import DECISION, PageQuery, TableView
from serve.pages.reader import Reader, engine_version
from serve.pages.rendered_rows import RenderedRows, render
from serve.pages.row_index import RowIndex, RowNumbers
from serve.pages.rows_file import RowsFile
from serve.pages.sql import Statement, projection, quoted, source

T = TypeVar("T")
_NUMBER: Final = "#row"
"""Name of a row's number in its file; no declared name begins like this."""
_PART_ROWS: Final = 20_000
"""Rows of a part that is read, rendered and freed: as many as the engine decodes at once, for that is how files are written."""
_OPEN_FILE_BYTES: Final = 4096
"""What an open file takes in memory besides arrays, about."""
FIGURES: Final = (
    "direction",
    "score",
    "average_rank",
    *(
        column.name
        for column in TABLES["decisions"]
        if column.name.endswith("_target_weight") and not column.raw
    ),
)
"""Numbers that the rows of a cross-section are filtered and sorted by."""
DEFAULT_SORT: Final = "score"
"""The figure a cross-section is sorted by unless the request says otherwise, largest first."""


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """Every row of a table (of one book) as one kind of key sees it, and where each stands.

    Attributes
    ----------
    rows, index
        In memory, or read from a file as far as it is in the system's.
    file
        That file.
    twin
        The same, whose reads may wait.
    verify
        Compares all of the file with its checksums; raises RowsDamaged, and marks the file so, when they differ.
    """

    rows: RenderedRows
    index: RowIndex
    file: RowsFile | None = None
    twin: RenderedTable | None = None
    verify: Callable[[], None] | None = None

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self.rows.bytes + self.index.bytes + (0 if self.file is None else _OPEN_FILE_BYTES)

    @property
    def waiting(self) -> RenderedTable:
        """The same table, whose reads may wait for the disk: not for the event loop."""
        return self if self.twin is None else self.twin

    @property
    def damaged(self) -> bool:
        """Whether a read found its file to be so."""
        return self.file is not None and self.file.damaged

    def cut(self, query: PageQuery) -> Rows:
        """Return the page of a query of this table.

        Raises
        ------
        NotResident
            When what it takes is not in memory.
        RowsDamaged
            When the file is not what was written.
        """
        index = self.index
        start, end = index.between(query.first, query.last)
        if index.is_stored_order(query):
            first = min(start + query.offset, end)
            last = min(first + query.limit, end)
            return Rows((), last - first, end - start, self.rows, first)
        page, total = index.select(query, start, end)
        return Rows(self.rows.take(page), len(page), total)


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """What is to be rendered of a published file.

    Attributes
    ----------
    model
        What a row shows.
    rows
        How many the file has.
    present
        Published columns it holds.
    raw
        Whether the columns of the unconditioned signal are shown.
    constants
        Columns that stand in the path of the file: name -> value.
    figures
        Numeric columns rows are filtered and sorted by, all present.
    sorted_by
        The figure by which a day's rows are sorted, descending; None leaves them as the file has them.
    """

    model: RowModel
    rows: int
    present: Collection[str]
    raw: bool
    constants: Mapping[str, str] | None = None
    figures: Collection[str] = ()
    sorted_by: str | None = None

    @property
    def found_by(self) -> tuple[str, ...]:
        """The day, and the name where there is one."""
        table = self.model.table
        assert table is not None, f"rows of {self.model.name} are not a stored table"
        day = "date" if "date" in table else "timestamp"
        assert table[day].type in {Type.DATE, Type.TIMESTAMP}
        return (day, "symbol") if "symbol" in table else (day,)

    @property
    def made_of(self) -> str:
        """Name what is rendered: equal names stand for equal bytes of equal files."""
        shown = projection(self.model, self.present, raw=self.raw, constants=self.constants)
        parts = (shown.sql, shown.binds, self.found_by, tuple(self.figures), self.sorted_by)
        return repr((self.model.name, *parts, engine_version(), pl.__version__))

    def places(self, file: str, *, sort: bool) -> Statement:
        """Return the query of what rows are found and ordered by; `sort` as of :meth:`shown`."""
        columns = ", ".join(map(quoted, dict.fromkeys((*self.found_by, *self.figures))))
        return self._all(file, Statement(columns), sort=sort)

    def shown(self, file: str, *, sort: bool) -> Statement:
        """Return the query of what rows show, all of them as they are stored.

        Parameters
        ----------
        file
            Path of the published file.
        sort
            Whether the engine sees to the order. It keeps that of a file it reads with one thread; a sort would
            take all rows into memory.
        """
        shown = projection(self.model, self.present, raw=self.raw, constants=self.constants)
        return self._all(file, shown, sort=sort)

    def _all(self, file: str, columns: Statement, *, sort: bool) -> Statement:
        table, number = source(file), quoted(_NUMBER)
        order = f" ORDER BY {number}" if sort else ""
        return Statement(
            f"SELECT {columns.sql}, file_row_number AS {number} FROM {table.sql}{order}",  # noqa: S608 - declared names only
            (*columns.binds, *table.binds),
        )


def view_source(view: TableView, snapshot: Snapshot) -> ParquetSource | None:
    """Return what is rendered for a view; None when it lacks a column rows are filtered by."""
    present = snapshot.columns(view.table)
    sorts = view.row == DECISION
    figures = FIGURES if sorts else ()
    if not set(figures) <= set(present):
        return None
    return ParquetSource(
        ROWS[view.row],
        snapshot.entry(view.table, view.book).rows,
        present,
        view.raw,
        constants=None if view.book is None else {"book": view.book},
        figures=figures,
        sorted_by=DEFAULT_SORT if sorts else None,
    )


def usual_views(snapshot: Snapshot) -> tuple[TableView, ...]:
    """Return the views of a snapshot that most requests are about, as keys without raw access see them."""
    found = (
        TableView("rebalances", None, "rebalance", raw=False),
        TableView("decisions", None, DECISION, raw=False),
        TableView("decisions", None, "score", raw=False),
        *(TableView("portfolio", book, "portfolio", raw=False) for book in CONDITIONED_BOOKS),
    )
    return tuple(x for x in found if snapshot.has_rows(x.table, x.book))


class _OutOfOrder(Exception):
    """Rows came in another order than that of the file."""


def read_table(reader: Reader, file: str, stored: ParquetSource) -> RenderedTable | None:
    """Read, index and render a file into memory; None and errors as of :func:`read_rows`."""
    found = read_rows(reader, file, stored, render)
    return None if found is None else RenderedTable(*found)


def read_rows(
    reader: Reader,
    file: str,
    stored: ParquetSource,
    render: Callable[[Iterator[pl.DataFrame], int], T],
    spool: Spool | None = None,
) -> tuple[T, RowIndex] | None:
    """Read, index and render a file; None when its days do not ascend.

    Parameters
    ----------
    render
        Takes the rows in their order, frame by frame, and how many they are; called again when the frames came in
        another order than that of the file.
    spool
        Makes a temporary file for what grows with the rows; None leaves that in memory.

    Returns
    -------
    tuple
        What `render` returned, and the index.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone or cannot be read.
    """
    for sort in (False, True):
        # Days that do not ascend may do so in the order of the file.
        with contextlib.suppress(_OutOfOrder, NotAscending):
            index, order = _index_rows(reader, file, stored, spool, sort=sort)
            with reader.engine.parts(stored.shown(file, sort=sort), _PART_ROWS) as parts:
                return render(_arranged(parts, index, order), index.rows), index
    return None


def _index_rows(
    reader: Reader, file: str, stored: ParquetSource, spool: Spool | None, *, sort: bool
) -> tuple[RowIndex, RowNumbers | None]:
    """Return the index, and the numbers of the rows in the order they are to have, None for theirs."""
    day, *name = stored.found_by
    builder = IndexBuilder(day, name[0] if name else None, stored.figures, stored.sorted_by, spool)
    with reader.engine.parts(stored.places(file, sort=sort), _PART_ROWS) as parts:
        for rows in _numbered(parts, stored.rows):
            builder.add(rows)
    return builder.finish()


def _numbered(parts: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Yield all rows, without their numbers, as long as they come in the order of the file."""
    come = 0
    for part in parts:
        numbers = part[_NUMBER].to_numpy()
        first, come = come, come + len(numbers)
        if come > rows or not np.array_equal(numbers, np.arange(first, come)):
            raise _OutOfOrder
        yield part.drop(_NUMBER)
    if come != rows:
        raise _OutOfOrder


def _arranged(
    parts: Iterator[pl.DataFrame], index: RowIndex, order: RowNumbers | None
) -> Iterator[pl.DataFrame]:
    """Yield the rows in the order they are to have, cut at the end of a day, as none is moved to another."""
    come = gone = 0
    waiting: pl.DataFrame | None = None
    for rows in _numbered(parts, index.rows):
        come += rows.height
        if order is None:
            yield rows
            continue
        waiting = rows if waiting is None else pl.concat([waiting, rows])
        end = index.day_ends[bisect_right(index.day_ends, come) - 1]
        yield waiting[order[gone:end] - gone]
        waiting = waiting[end - gone :]
        gone = end
