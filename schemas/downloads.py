"""Published tables that a key may read, and their columns that it may download.

Without raw-book access this is stricter than for rows of the API, since files contain columns that no row model selects.
Columns about the unconditioned signal or its books are left out, aggregates included, and so are undeclared columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from schemas.table import Column
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import RAW_PREFIX

SERVED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "rebalances": ("signals.rebalances.list",),
    "decisions": ("signals.rebalances.get", "signals.scores"),
    "portfolio": ("portfolio.ledger",),
    "positions": ("portfolio.positions",),
    "pnl": ("portfolio.pnl",),
    "trades": ("portfolio.trades",),
    "trials": ("research.luck",),
    "books": ("portfolio.books",),
    "equity_curve": ("portfolio.equity_curve",),
    "weekly_signal": ("performance.metrics",),
    "weekly_deciles": ("performance.metrics",),
    "sealed_metrics": ("performance.metrics",),
}
"""Published table -> endpoints that serve its rows or figures of them; access to one of them is access to the table."""
RAW_ACCESS_TABLES: Final = frozenset({"weekly_deciles", "sealed_metrics"})
"""Tables about the unconditioned signal, or whose rows may name figures of it."""
BOOK_ROWS_TABLES: Final = frozenset({"books"})
"""Tables with one row per book in a single file, from which rows of raw books are left out."""
_UNCONDITIONED: Final = "unsmoothed_score"


def readable_tables(endpoint_ids: Collection[str]) -> frozenset[str]:
    """Return the published tables that a key may read, given the endpoints that it may call."""
    return frozenset(table for table, ids in SERVED_BY.items() if any(name in endpoint_ids for name in ids))


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
