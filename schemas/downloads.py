"""Columns and rows of published tables that a key without raw-book access may download.

This is stricter than for rows of the interface, since files contain columns that no row model selects. Columns about the
unconditioned signal or its books are left out, aggregates included, and so are undeclared columns.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import RAW_PREFIX

RAW_ACCESS_TABLES: Final = frozenset({"weekly_deciles", "sealed_metrics"})
"""Tables about the unconditioned signal, or whose rows may name figures of it."""
BOOK_ROWS_TABLES: Final = frozenset({"books"})
"""Tables with one row per book in a single file, from which rows of raw books are left out."""
_UNCONDITIONED: Final = "unsmoothed_score"


def derives_from_raw(column: Column) -> bool:
    """Return whether a column contains the unconditioned signal or is computed from it."""
    return column.raw or column.name.startswith(RAW_PREFIX) or _UNCONDITIONED in column.needs


def visible_columns(table: str, present: Collection[str], *, raw: bool) -> tuple[Column, ...]:
    """Return the columns of a table's file that a key may read, in declared order.

    Parameters
    ----------
    table
        A published table.
    present
        Columns of the snapshot.
    raw
        Whether the key has raw-book access.

    Returns
    -------
    tuple of Column
        Empty if the key may not read the table. Partition columns are in the link, not in the file.
    """
    if table in RAW_ACCESS_TABLES and not raw:
        return ()
    columns = PUBLISHED_TABLES[table].stored_columns
    return tuple(x for x in columns if x.name in present and (raw or not derives_from_raw(x)))
