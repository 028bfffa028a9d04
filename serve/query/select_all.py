"""Queries for all rows of a small published table."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.table import Table
from serve.query.sql import Statement, order_of, quoted, source


def whole(table: Table, file: str, columns: Sequence[str]) -> Statement:
    """Return the query of every row, in the table's order.

    Parameters
    ----------
    table
        Its declaration.
    file
        The published file.
    columns
        Declared columns that the file holds.
    """
    shown = ", ".join(quoted(table[name].name) for name in columns)
    read = source(file)
    order = order_of(*((name, False) for name in table.sort if name not in table.partition))
    return Statement(f"SELECT {shown} FROM {read.sql} ORDER BY {order}", read.binds)  # noqa: S608 - declared names only
