"""Queries of whole columns: what is read once and then answered from memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from schemas.table import Table
from schemas.tables import TABLES
from serve.query.sql import Statement, make_order_by, quoted, selected, source, stored_order

_INDEX: Final = TABLES["rebalances"]
_LEDGER: Final = TABLES["portfolio"]


def select_all(table: Table, file: str, columns: Sequence[str]) -> Statement:
    """Return the query of every row of a small table, in the table's order.

    Parameters
    ----------
    columns
        Declared columns that the file holds.
    """
    chosen = Statement(", ".join(quoted(table[name].name) for name in columns))
    return selected(chosen, source(file), [], stored_order(table))


def select_weeks(file: str, present: Collection[str]) -> Statement:
    """Return the query of the rebalance index: day, status, and symbols where they were counted."""
    return select_all(_INDEX, file, [column.name for column in _INDEX if column.name in present])


def select_symbols(file: str) -> Statement:
    """Return the query of the distinct symbols of a file that has any."""
    stored, column = source(file), quoted("symbol")
    sql = f"SELECT DISTINCT {column} FROM {stored.sql} WHERE {column} IS NOT NULL"  # noqa: S608 - declared names only
    return Statement(sql, stored.binds)


def select_ledger(file: str, columns: Sequence[str]) -> Statement:
    """Return the query of columns of a book's whole ledger, in order of sessions."""
    chosen = Statement(", ".join(quoted(_LEDGER[name].name) for name in columns))
    return selected(chosen, source(file), [], make_order_by(("date", False)))
