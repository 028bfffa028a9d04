"""The rules that follow from the declaration of a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

import polars as pl

from pipeline.reconciliation.tables import Tables
from pipeline.rule import Finding, table_rule
from pipeline.rules.findings import broken_rows
from schemas.plurals import counted
from schemas.table import PATTERNS, Bound, Column
from schemas.tables import TABLES
from schemas.units import Type


@table_rule(
    "table.finite",
    "No double is NaN or infinite.",
    "Write null where the column allows it and there is no figure; else correct the figure.",
    voids=True,
)
def table_finite(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a double that is not a finite number."""
    doubles = [column.name for column in _declared(kind, tables) if column.type is Type.F64]
    suspects = {name: pl.col(name).is_finite().not_() for name in doubles}
    return _finding(kind, tables, suspects, dict.fromkeys(doubles, "is not finite"))


@table_rule(
    "table.null",
    "A column that does not allow nulls has none.",
    "Write a value in every row; leave an optional column out of the file when the run never recorded it.",
    voids=True,
)
def table_null(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a null in a column that allows none."""
    required = [column.name for column in _declared(kind, tables) if not column.nullable]
    suspects = {name: pl.col(name).is_null() for name in required}
    return _finding(kind, tables, suspects, dict.fromkeys(required, "is null"))


@table_rule(
    "table.key",
    "No two rows of a table share their key (trades have none: a fill is known by its place in the file).",
    "Write each row once; when two rows are both right, they belong to one row or to two books.",
)
def table_key(kind: str, tables: Tables) -> Finding | None:
    """Report every row whose key occurs more than once."""
    frame, key = tables[kind], TABLES[kind].key
    if not TABLES[kind].sealed or not tables.has(kind, *key):
        return None  # metrics.record checks the records; fills are only numbered when published
    broken = frame.filter(frame.select(key).is_duplicated()).sort(key)
    message = f"{counted(broken.height, 'row')} with the same ({', '.join(key)}) as another"
    return broken_rows(kind, broken, key, message)


@table_rule(
    "table.vocabulary",
    "A coded column holds only the codes listed for it.",
    "Write one of the listed codes, or null where the column allows it.",
)
def table_vocabulary(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a code that is not listed."""
    coded = {column.name: column.vocabulary for column in _declared(kind, tables) if column.vocabulary}
    suspects = {name: pl.col(name).is_in(listed).not_() for name, listed in coded.items()}
    complaints = {name: f"is none of {', '.join(listed)}" for name, listed in coded.items()}
    return _finding(kind, tables, suspects, complaints)


@table_rule(
    "table.bound",
    "Values keep the bound declared for their column: prices above 0, quantities not 0, "
    f"costs of one sign, tickers {Bound.TICKER.value}, names {Bound.NAME.value}, notes {Bound.NOTE.value}, "
    f"books {Bound.BOOK.value}.",
    "Correct the sign or the name; a name that is not held or not traded has no row.",
)
def table_bound(kind: str, tables: Tables) -> Finding | None:
    """Report rows with a value outside the bound of its column."""
    bounded = [column for column in _declared(kind, tables) if column.bound is not Bound.ANY]
    suspects = {column.name: _breaks(column) for column in bounded}
    complaints = {column.name: f"must be {column.bound.value}" for column in bounded}
    return _finding(kind, tables, suspects, complaints)


def _breaks(column: Column) -> pl.Expr:
    """Return which values break the bound of their column."""
    value = pl.col(column.name)
    match column.bound:
        case Bound.POSITIVE:
            return value <= 0
        case Bound.NOT_NEGATIVE:
            return value < 0
        case Bound.NOT_POSITIVE:
            return (value > 0) & value.is_not_nan()  # Polars orders NaN above all numbers
        case Bound.NOT_ZERO:
            return value == 0
        case Bound.TICKER | Bound.BOOK | Bound.NAME | Bound.NOTE:
            return value.str.contains(f"^{PATTERNS[column.bound]}$").not_()
        case Bound.ANY:
            raise AssertionError("only columns with a bound are checked")


def _declared(kind: str, tables: Tables) -> list[Column]:
    return [column for column in TABLES[kind].columns if column.name in tables[kind].columns]


def _finding(
    kind: str, tables: Tables, suspects: Mapping[str, pl.Expr], complaints: Mapping[str, str]
) -> Finding | None:
    """Report the rows in which a column breaks its rule; nulls do not."""
    frame = tables[kind]
    per_column = frame.select(**{name: broken.fill_null(value=False) for name, broken in suspects.items()})
    counts = {name: int(per_column[name].sum()) for name in suspects}
    parts = [
        f"{name} {complaints[name]} ({counted(count, 'row')})" for name, count in counts.items() if count
    ]
    if not parts:
        return None
    broken = frame.filter(reduce(or_, per_column.get_columns()))
    columns = tuple(name for name, count in counts.items() if count)
    return broken_rows(kind, broken, (*TABLES[kind].key, *columns), "; ".join(parts), at_fault=columns)
