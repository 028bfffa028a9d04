"""Which columns and rows of a published table a key without raw-book access may have as a file.

Stricter than the rows of the interface, for a file holds what no row model chooses: whatever tells of the unconditioned
signal or of its books is left out, aggregates too, and so is what is not declared here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import RAW_PREFIX

RAW_ACCESS_TABLES: Final = frozenset({"weekly_deciles", "sealed_metrics"})
"""Tables that describe the unconditioned signal, or whose rows may name figures of it."""
BOOK_ROWS_TABLES: Final = frozenset({"books"})
"""Tables with a row for each book in one file: the rows of raw books are left out."""
_UNCONDITIONED: Final = "unsmoothed_score"


def derives_from_raw(column: Column) -> bool:
    """Return whether a column holds the unconditioned signal, or is computed from it."""
    return column.raw or column.name.startswith(RAW_PREFIX) or _UNCONDITIONED in column.needs


def visible_columns(table: str, present: Collection[str], *, raw: bool) -> tuple[Column, ...]:
    """Return the columns of a table's file that a key may have, in declared order.

    Parameters
    ----------
    table
        A published table.
    present
        Columns the snapshot holds.
    raw
        Whether the key has raw-book access.

    Returns
    -------
    tuple of Column
        Empty for a table that the key may not have at all. Partition columns stand in the link, not in the file.
    """
    if table in RAW_ACCESS_TABLES and not raw:
        return ()
    columns = PUBLISHED_TABLES[table].stored_columns
    return tuple(x for x in columns if x.name in present and (raw or not derives_from_raw(x)))


def is_raw_book(book: str) -> bool:
    """Return whether a book is an unconditioned twin."""
    return book.startswith(RAW_PREFIX)
