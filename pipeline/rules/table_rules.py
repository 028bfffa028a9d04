"""The rules that follow from the declaration of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Final, TypeVar

import numpy as np
import polars as pl

from pipeline.reconciliation.tables import SESSION, Tables
from pipeline.rule import Finding, Level, rule
from pipeline.rules.findings import broken_rows
from schemas.plurals import counted
from schemas.table import PATTERNS, Bound, Column
from schemas.tables import TABLES
from schemas.units import Type

V = TypeVar("V", pl.Expr, pl.Series)

_MATCHERS: Final = {bound: re.compile(pattern) for bound, pattern in PATTERNS.items()}


@rule(
    "table.finite",
    "No double is NaN or infinite.",
    "Write null where the column allows it and there is no figure; else correct the figure.",
    level=Level.TABLE,
    voids=True,
)
def table_finite(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a double that is not a finite number."""
    frame = tables[kind]
    doubles = [column.name for column in _declared(kind, tables) if column.type is Type.F64]
    if not doubles or not frame.height:
        return None
    # A sum is finite only if every term is, so one fast pass clears sound columns.
    finite = frame.select(pl.col(doubles).sum().is_finite()).row(0, named=True)
    suspects = {name: pl.col(name).is_finite().not_() for name in doubles if not finite[name]}
    return _finding(kind, frame, suspects, "is not finite")


@rule(
    "table.null",
    "A column that does not allow nulls has none.",
    "Write a value in every row; leave an optional column out of the file when the run never recorded it.",
    level=Level.TABLE,
    voids=True,
)
def table_null(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a null in a column that allows none."""
    frame = tables[kind]
    suspects = {
        column.name: pl.col(column.name).is_null()
        for column in _declared(kind, tables)
        if not column.nullable and frame[column.name].null_count()
    }
    return _finding(kind, frame, suspects, "is null")


@rule(
    "table.key",
    "No two rows of a table share their key (trades have none: a fill is known by its place in the file).",
    "Write each row once; when two rows are both right, they belong to one row or to two books.",
    level=Level.TABLE,
)
def table_key(kind: str, tables: Tables) -> Finding | None:
    """Report every row whose key occurs more than once."""
    frame, key = tables[kind], TABLES[kind].key
    if not TABLES[kind].sealed or not tables.has(kind, *key):
        return None  # metrics.record checks the records; fills are only numbered when published
    if strictly_grouped(kind, key, tables):
        return None
    broken = frame.filter(frame.select(key).is_duplicated()).sort(key)
    message = f"{counted(broken.height, 'row')} with the same ({', '.join(key)}) as another"
    return broken_rows(kind, broken, key, message, at_fault=key)


@rule(
    "table.vocabulary",
    "A coded column holds only the codes listed for it.",
    "Write one of the listed codes, or null where the column allows it.",
    level=Level.TABLE,
)
def table_vocabulary(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a code that is not listed."""
    frame = tables[kind]
    suspects = {}
    for column in _declared(kind, tables):
        if column.vocabulary and set(frame[column.name].unique().drop_nulls()) - set(column.vocabulary):
            suspects[column.name] = pl.col(column.name).is_in(column.vocabulary).not_()
    complaints = {name: f"is none of {', '.join(TABLES[kind][name].vocabulary)}" for name in suspects}
    return _finding(kind, frame, suspects, complaints)


@rule(
    "table.bound",
    "Values keep the bound declared for their column: prices above 0, quantities not 0, "
    f"costs of one sign, tickers {Bound.TICKER.value}, names {Bound.NAME.value}, notes {Bound.NOTE.value}, "
    f"books {Bound.BOOK.value}.",
    "Correct the sign or the name; a name that is not held or not traded has no row.",
    level=Level.TABLE,
)
def table_bound(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a value outside the bound of its column."""
    frame = tables[kind]
    bounded = [column for column in _declared(kind, tables) if column.bound is not Bound.ANY]
    if not bounded or not frame.height:
        return None
    suspects = {
        column.name: _breaks(column, pl.col(column.name))
        for column in bounded
        if _is_out_of_bound(kind, column, tables)
    }
    complaints = {name: f"must be {TABLES[kind][name].bound.value}" for name in suspects}
    return _finding(kind, frame, suspects, complaints)


def _is_out_of_bound(kind: str, column: Column, tables: Tables) -> bool:
    """Return whether any value of the column breaks its bound, from its distinct values where it is text."""
    values = tables[kind][column.name]
    if column.type is not Type.STR:
        return bool(_breaks(column, values).any())
    if column.name == "symbol":
        values = tables.symbols(kind).names["symbol"]
    elif column.name == SESSION[0] and tables.has(kind, *SESSION):
        values = tables.row_ranges(kind).heads[column.name]
    # Polars compiles a pattern at every use, which takes longer than matching a thousand names.
    return not all(map(_MATCHERS[column.bound].fullmatch, values.unique().drop_nulls()))


def _breaks(column: Column, value: V) -> V:
    """Return which values break the bound of their column."""
    match column.bound:
        case Bound.POSITIVE:
            return value <= 0
        case Bound.NOT_NEGATIVE:
            return value < 0
        case Bound.NOT_POSITIVE:
            return value > 0
        case Bound.NOT_ZERO:
            return value == 0
        case Bound.TICKER | Bound.BOOK | Bound.NAME | Bound.NOTE:
            return value.str.contains(f"^{PATTERNS[column.bound]}$").not_()
        case Bound.ANY:
            raise AssertionError("only columns with a bound are checked")


def _declared(kind: str, tables: Tables) -> list[Column]:
    return [column for column in TABLES[kind].columns if column.name in tables[kind].columns]


def strictly_grouped(kind: str, key: tuple[str, ...], tables: Tables) -> bool:
    """Return whether the order of the rows already proves that the key is unique.

    It does if rows that agree in all but the last key column are adjacent and the last column ascends among them.
    Engines usually write their tables in this order, which saves hashing a million keys.
    """
    frame = tables[kind]
    if frame.height < 2 or len(key) == 1:
        return frame.height < 2
    ranges = tables.row_ranges(kind, key[:-1])
    if ranges.heads.is_duplicated().any():
        return False
    last = frame[key[-1]]
    # Compared without a sort; a null never ascends.
    ascends = np.ones(frame.height, np.bool_)
    above = last.slice(1) > last.slice(0, frame.height - 1)
    ascends[1:] = (above.fill_null(value=False) if above.null_count() else above).to_numpy()
    ascends[ranges.starts] = True
    return bool(ascends.all())


def _finding(
    kind: str, frame: pl.DataFrame, suspects: Mapping[str, pl.Expr], complaint: str | Mapping[str, str]
) -> Finding | None:
    """Report the rows in which a suspect column breaks its rule; nulls do not."""
    if not suspects:
        return None
    per_column = frame.select(**{name: broken.fill_null(value=False) for name, broken in suspects.items()})
    counts = {name: int(per_column[name].sum()) for name in suspects}
    broken = frame.filter(reduce(or_, per_column.get_columns()))
    parts = [
        f"{name} {complaint if isinstance(complaint, str) else complaint[name]} ({counted(count, 'row')})"
        for name, count in counts.items()
        if count
    ]
    columns = tuple(name for name, count in counts.items() if count)
    return broken_rows(kind, broken, (*TABLES[kind].key, *columns), "; ".join(parts), at_fault=columns)
