"""Columns of the queries' rows and the SQL of Q5, for servers that must not import this project's engines."""

from __future__ import annotations

from typing import Final

from schemas.rows import ROWS

CORE: Final = tuple(column.name for column in ROWS["score"].columns if not column.raw)
"""Columns of Q2, Q3 and Q7."""
_LEDGER: Final = {column.name for column in ROWS["portfolio"].columns}
CURVE: Final = tuple(column.name for column in ROWS["equity"].columns if column.name in _LEDGER)
"""Columns of the ledger in Q5."""


def curve_sql(table: str, conditions: str, greatest: str = "greatest") -> str:
    """Return the common table expressions of an equity curve, the last of which is ``d``.

    Parameters
    ----------
    table, conditions
        The ledger, and what restricts it to a book and a window.
    greatest
        The dialect's maximum of two values.
    """
    return f"""
with w as (
  select {", ".join(CURVE)}, (ending_equity - starting_equity) / starting_equity as period_return,
    ending_equity / first_value(starting_equity) over (order by date) - 1 as cumulative_return,
    max({greatest}(starting_equity, ending_equity)) over (order by date) as peak_equity
  from {table} where {conditions}),
d as (
  select *, peak_equity - ending_equity as drawdown, (peak_equity - ending_equity) / peak_equity * 100 as drawdown_pct
  from w)
"""
