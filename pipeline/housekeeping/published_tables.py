"""Compare a published table with its declaration: columns, types, rows, span, order and key."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from datasets.integrity import Fault
from datasets.manifest import FileEntry
from pipeline.seal.casting import POLARS_TYPES
from pipeline.snapshot_builder.write import find_span
from schemas.table import Table

_OWN_ORDER = "books"
"""Books are in the order the API lists them; the table is recomputed anyway, order included."""


def check_table(
    path: str, entry: FileEntry, table: Table, columns: tuple[str, ...], rows: pl.DataFrame
) -> Iterator[Fault]:
    """Compare one file with its declaration and its manifest. Pure.

    Parameters
    ----------
    path
        What to call it.
    entry, columns
        What the manifest says of the file, and of the columns that were published.
    table
        The declaration of its dataset.
    rows
        What the file holds.

    Yields
    ------
    Fault
        For each thing that is not as declared.
    """
    expected = {
        column.name: POLARS_TYPES[column.type] for column in table.stored_columns if column.name in columns
    }
    stored = dict(rows.schema)
    if list(stored.items()) != list(expected.items()):
        yield Fault(
            path, "columns", f"holds the columns {_shown(stored)} where {_shown(expected)} are declared"
        )
        return
    if rows.height != entry.rows:
        yield Fault(path, "rows", f"has {rows.height} rows where its manifest says {entry.rows}")
    if find_span(rows) != (entry.first, entry.last):
        yield Fault(
            path, "span", f"runs from {find_span(rows)} where its manifest says {(entry.first, entry.last)}"
        )
    yield from _values(path, table, rows)
    order = [name for name in table.sort if name in rows.columns]
    if entry.dataset != _OWN_ORDER and not rows.select(order).equals(
        rows.select(order).sort(order, nulls_last=True, maintain_order=True)
    ):
        yield Fault(path, "order", f"is not in the order of {', '.join(order)}")
    key = [name for name in table.key if name in rows.columns]
    doubled = int(rows.select(key).is_duplicated().sum())
    if doubled:
        yield Fault(path, "key", f"has {doubled} rows that share their ({', '.join(key)}) with another")


def _values(path: str, table: Table, rows: pl.DataFrame) -> Iterator[Fault]:
    for column in table.stored_columns:
        name = column.name
        if name not in rows.columns:
            continue
        values = rows[name]
        if not column.nullable and values.null_count():
            yield Fault(path, "null", f"has {values.null_count()} nulls in {name}, which allows none")
        if not plainly_finite(values) and not values.drop_nulls().is_finite().all():
            yield Fault(path, "finite", f"has values in {name} that are not finite numbers")
        vocabulary = column.vocabulary
        if vocabulary and {*values.unique().cast(pl.String)} - {None, *vocabulary}:
            unknown = values.drop_nulls().cast(pl.String).is_in(vocabulary).not_().sum()
            words = ", ".join(vocabulary)
            yield Fault(path, "vocabulary", f"has {unknown} values in {name} that are none of {words}")


def plainly_finite(values: pl.Series) -> bool:
    """Whether the sum of a column shows that all its values are finite; False also where the sum overflows."""
    return not values.dtype.is_float() or math.isfinite(values.sum())


def _shown(columns: dict[str, pl.DataType]) -> str:
    return ", ".join(f"{name} {dtype}" for name, dtype in columns.items())
