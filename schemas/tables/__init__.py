"""Every table of a seal and of a snapshot."""

from __future__ import annotations

from typing import Final

from schemas.table import Table
from schemas.tables.books import BOOKS
from schemas.tables.decisions import DECISIONS
from schemas.tables.equity_curve import EQUITY_CURVE
from schemas.tables.pnl import PNL
from schemas.tables.portfolio import PORTFOLIO
from schemas.tables.positions import POSITIONS
from schemas.tables.rebalances import REBALANCES
from schemas.tables.sealed_metrics import SEALED_METRICS
from schemas.tables.trades import TRADES
from schemas.tables.trials import TRIALS
from schemas.tables.weekly_deciles import WEEKLY_DECILES
from schemas.tables.weekly_signal import WEEKLY_SIGNAL

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        REBALANCES,
        DECISIONS,
        PORTFOLIO,
        POSITIONS,
        PNL,
        TRADES,
        TRIALS,
        BOOKS,
        EQUITY_CURVE,
        WEEKLY_SIGNAL,
        WEEKLY_DECILES,
        SEALED_METRICS,
    )
}
"""Table name -> declaration."""

SEALED_TABLES: Final[dict[str, Table]] = {name: table for name, table in TABLES.items() if table.sealed}
PUBLISHED_TABLES: Final[dict[str, Table]] = {name: table for name, table in TABLES.items() if table.published}
