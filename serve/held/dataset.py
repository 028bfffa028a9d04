"""One dataset in memory, as the engine read it from its file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from schemas.rows import RowModel
from schemas.table import Table
from schemas.units import Type
from serve.held.index import Index, index_of, laid_out
from serve.held.rendered import RenderedRows, render
from serve.query.statement import Statement, projection, quoted, source

_MARK: Final = "#"
"""Begins the names of what is read beside a row's columns; no declared name does."""
_NUMBER: Final = f"{_MARK}row"
_BYTES_A_VALUE: Final = 28
"""What a value takes as JSON with its name, by which a dataset's size is estimated before it is read."""


@dataclass(frozen=True, slots=True)
class HeldDataset:
    """Every row of a dataset (of one book) as one view of keys sees it, and where they stand."""

    rows: RenderedRows
    index: Index

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self.rows.bytes + self.index.bytes


def estimated_bytes(model: RowModel, rows: int) -> int:
    """Guess what :class:`HeldDataset` will take."""
    return rows * len(model.columns) * _BYTES_A_VALUE


def whole(
    model: RowModel,
    file: str,
    present: Collection[str],
    *,
    raw: bool,
    constants: Mapping[str, str] | None = None,
    figures: Collection[str] = (),
) -> Statement:
    """Return the query of a whole file as it is stored: what rows show, and what they are found by.

    Parameters
    ----------
    figures
        Numeric columns rows are filtered and sorted by, all present.
    """
    table = _table(model)
    shown = projection(model, present, raw=raw, constants=constants)
    beside = [quoted("file_row_number") + f" AS {quoted(_NUMBER)}"]
    # No ORDER BY: the engine keeps the order of a file it reads with one thread, and `held` makes sure of it.
    beside += [f"{quoted(name)} AS {quoted(_MARK + name)}" for name in (*_found_by(table), *figures)]
    table_expression = source(file)
    return Statement(
        f"SELECT {shown.sql}, {', '.join(beside)} FROM {table_expression.sql}",  # noqa: S608 - declared names only
        (*shown.binds, *table_expression.binds),
    )


def held(model: RowModel, frame: pl.DataFrame, laid_by: str | None = None) -> HeldDataset | None:
    """Render and index what the query of :func:`whole` found; None when its days do not ascend.

    Parameters
    ----------
    laid_by
        The figure by which a day's rows are laid out, falling; None leaves them as the file has them.
    """
    numbers = frame[_NUMBER].to_numpy()
    if not np.array_equal(numbers, np.arange(len(numbers))):
        frame = frame.sort(_NUMBER)
    table = _table(model)
    beside = {name.removeprefix(_MARK): frame[name] for name in frame.columns if name.startswith(_MARK)}
    found_by = _found_by(table)
    index = index_of(
        days=beside[found_by[0]],
        symbols=beside.get("symbol"),
        figures={
            name: values
            for name, values in beside.items()
            if name not in {*found_by, _NUMBER.removeprefix(_MARK)}
        },
    )
    if index is None:
        return None
    order = None
    if laid_by is not None:
        index, order = laid_out(index, laid_by)
    shown = frame.select(x for x in frame.columns if not x.startswith(_MARK))
    return HeldDataset(render(shown, order), index)


def _table(model: RowModel) -> Table:
    assert model.table is not None, f"rows of {model.name} are no stored table"
    return model.table


def _found_by(table: Table) -> tuple[str, ...]:
    day = "date" if "date" in table else "timestamp"
    assert table[day].type in {Type.DATE, Type.TIMESTAMP}
    return (day, "symbol") if "symbol" in table else (day,)
