"""One dataset in memory, as the engine read it from its file."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from schemas.rows import RowModel
from schemas.units import Type
from serve.query.duckdb import Reader
from serve.query.rendered_rows import RenderedRows, render
from serve.query.row_index import Index, RowNumbers, index_of, laid_out
from serve.query.sql import Statement, projection, quoted, source

_NUMBER: Final = "#row"
"""Name of a row's number in its file; no declared name begins like this."""
_ROWS: Final = 20_000
"""Rows of a part that is read, rendered and let go: as many as the engine decodes at once, for that is how files are written."""
_BYTES_A_VALUE: Final = 28
"""What a value takes as JSON with its name, by which a dataset's size is estimated before it is read."""


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """Every row of a dataset (of one book) as one view of keys sees it, and where they stand."""

    rows: RenderedRows
    index: Index

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self.rows.bytes + self.index.bytes


def estimated_bytes(model: RowModel, rows: int) -> int:
    """Guess what :class:`RenderedTable` will take."""
    return rows * len(model.columns) * _BYTES_A_VALUE


@dataclass(frozen=True, slots=True)
class Stored:
    """A published file, and what is to be held of it.

    Attributes
    ----------
    model
        What a row shows.
    file
        Its path.
    present
        Published columns it holds.
    raw
        Whether the columns of the unconditioned signal are shown.
    constants
        Columns that stand in the path of the file: name -> value.
    figures
        Numeric columns rows are filtered and sorted by, all present.
    laid_by
        The figure by which a day's rows are laid out, falling; None leaves them as the file has them.
    """

    model: RowModel
    file: str
    present: Collection[str]
    raw: bool
    constants: Mapping[str, str] | None = None
    figures: Collection[str] = ()
    laid_by: str | None = None

    @property
    def found_by(self) -> tuple[str, ...]:
        """The day, and the name where there is one."""
        table = self.model.table
        assert table is not None, f"rows of {self.model.name} are no stored table"
        day = "date" if "date" in table else "timestamp"
        assert table[day].type in {Type.DATE, Type.TIMESTAMP}
        return (day, "symbol") if "symbol" in table else (day,)

    def places(self) -> Statement:
        """Return the query of what rows are found and ordered by."""
        return self._all(Statement(", ".join(map(quoted, dict.fromkeys((*self.found_by, *self.figures))))))

    def shown(self, *, sort: bool) -> Statement:
        """Return the query of what rows show, all of them as they are stored.

        Parameters
        ----------
        sort
            Whether the engine sees to the order. It keeps that of a file it reads with one thread; a sort would
            take all rows into memory.
        """
        found = self._all(projection(self.model, self.present, raw=self.raw, constants=self.constants))
        return Statement(f"{found.sql} ORDER BY {quoted(_NUMBER)}", found.binds) if sort else found

    def _all(self, columns: Statement) -> Statement:
        table = source(self.file)
        return Statement(
            f"SELECT {columns.sql}, file_row_number AS {quoted(_NUMBER)} FROM {table.sql}",  # noqa: S608 - declared names only
            (*columns.binds, *table.binds),
        )


class _OutOfOrder(Exception):
    """No error: rows came in another order than that of the file."""


def held(reader: Reader, stored: Stored) -> RenderedTable | None:
    """Read, index and render a file; None when its days do not ascend.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone or cannot be read.
    """
    placed = _placed(reader.frame(stored.places()), stored)
    if placed is None:
        return None
    index, order = placed
    for sort in (False, True):
        with contextlib.suppress(_OutOfOrder), reader.parts(stored.shown(sort=sort), _ROWS) as parts:
            return RenderedTable(render(_arranged(parts, index, order), index.rows), index)
    return None


def _placed(frame: pl.DataFrame, stored: Stored) -> tuple[Index, RowNumbers | None] | None:
    """Return the index, and the numbers of the rows in the order they are to have, None for theirs."""
    numbers = frame[_NUMBER].to_numpy()
    if not np.array_equal(numbers, np.arange(len(numbers))):
        frame = frame.sort(_NUMBER)
    day, *name = stored.found_by
    index = index_of(
        days=frame[day],
        symbols=frame[name[0]] if name else None,
        figures={name: frame[name] for name in stored.figures},
    )
    if index is None:
        return None
    return (index, None) if stored.laid_by is None else laid_out(index, stored.laid_by)


def _arranged(
    parts: Iterator[pl.DataFrame], index: Index, order: RowNumbers | None
) -> Iterator[pl.DataFrame]:
    """Yield the rows in the order they are to have, cut at the end of a day, as none is moved to another."""
    come = gone = 0
    waiting: pl.DataFrame | None = None
    for part in parts:
        numbers = part[_NUMBER].to_numpy()
        first, come = come, come + len(numbers)
        if come > index.rows or not np.array_equal(numbers, np.arange(first, come)):
            raise _OutOfOrder
        rows = part.drop(_NUMBER)
        if order is None:
            yield rows
            continue
        waiting = rows if waiting is None else pl.concat([waiting, rows])
        end = index.day_ends[bisect_right(index.day_ends, come) - 1]
        yield waiting[order[gone:end] - gone]
        waiting = waiting[end - gone :]
        gone = end
    if come != index.rows:
        raise _OutOfOrder
