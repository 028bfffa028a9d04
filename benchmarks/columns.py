"""Columns of the queries' rows, for servers that must not import this project's engines."""

from __future__ import annotations

from typing import Final

from schemas.rows import ROWS

CORE: Final = tuple(column.name for column in ROWS["score"].columns if not column.raw)
"""Columns of Q2, Q3 and Q7."""
_LEDGER: Final = {column.name for column in ROWS["portfolio"].columns}
CURVE: Final = tuple(column.name for column in ROWS["equity"].columns if column.name in _LEDGER)
"""Columns of the ledger in Q5."""
