"""Rows of published tables, as the API serves them: selections of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.table import Column, Table
from schemas.tables import TABLES


@dataclass(frozen=True, slots=True)
class RowModel:
    """The columns of one kind of row, in the order they are served.

    Attributes
    ----------
    name
        Name in the endpoint registry.
    table
        The published table.
    columns
        The columns selected.
    null_when_absent
        Columns that are null, rather than absent, if the run never recorded them.
    """

    name: str
    table: Table
    columns: tuple[Column, ...]
    null_when_absent: frozenset[str] = frozenset()


def _row_without(name: str, table: str, *leave_out: str) -> RowModel:
    source = TABLES[table]
    return RowModel(name, source, tuple(x for x in source.published_columns if x.name not in leave_out))


_SCORE: Final = (
    "date",
    "symbol",
    "score",
    "score_z",
    "average_rank",
    "direction",
    "long_short_target_weight",
    "long_only_target_weight",
    "forward_return",
    "raw_score",
)
_DECISIONS: Final = TABLES["decisions"]
_NULLS: Final = frozenset({"forward_return"})

_ALL: Final = (
    _row_without("rebalance", "rebalances"),
    _row_without("decision", "decisions", "date"),
    RowModel("score", _DECISIONS, tuple(_DECISIONS[name] for name in _SCORE), _NULLS),
    RowModel("score_all", _DECISIONS, _DECISIONS.published_columns, _NULLS),
    _row_without("book", "books"),
    _row_without("portfolio", "portfolio"),
    _row_without("position", "positions"),
    _row_without("pnl", "pnl"),
    _row_without("trade", "trades", "fill_order"),
    _row_without("equity", "equity_curve", "book"),
)

ROWS: Final[dict[str, RowModel]] = {model.name: model for model in _ALL}
"""Name -> row model."""
