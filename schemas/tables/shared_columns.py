"""Columns that several tables hold with one meaning."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column
from schemas.units import Type, Unit

BOOK: Final = Column(
    "book",
    Type.STR,
    Unit.NONE,
    "Name of the simulated portfolio: long_short, long_only, or their unconditioned twins; trades also know the "
    "trade-only variants ending in _adjustments and _settlements.",
    bound=Bound.BOOK,
)
DATE: Final = Column("date", Type.DATE, Unit.DATE, "Trading session of the row.")
WEEK: Final = Column("date", Type.DATE, Unit.DATE, "Weekly decision date.")
SYMBOL: Final = Column("symbol", Type.STR, Unit.NONE, "Ticker of the name.", bound=Bound.TICKER)
TIMESTAMP: Final = Column("timestamp", Type.TIMESTAMP, Unit.INSTANT, "Instant of the session's close.")
STARTING_EQUITY: Final = Column(
    "starting_equity",
    Type.F64,
    Unit.EQUITY,
    "Equity at the session's open: the previous session's ending equity; `equity_basis` on the first one.",
)
ENDING_EQUITY: Final = Column("ending_equity", Type.F64, Unit.EQUITY, "Equity at the session's close.")
GROSS_EXPOSURE: Final = Column(
    "gross_exposure",
    Type.F64,
    Unit.RATIO,
    "Sum of absolute position weights; about 2 when fully invested long and short.",
)
NET_EXPOSURE: Final = Column(
    "net_exposure", Type.F64, Unit.RATIO, "Sum of signed position weights; about 0 when neutral."
)
TURNOVER: Final = Column(
    "turnover", Type.F64, Unit.RATIO, "One-sided traded fraction: half the sum of absolute weight changes."
)
