"""Columns that several tables share."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column
from schemas.units import Type, Unit

BOOK: Final = Column(
    "book",
    Type.STR,
    Unit.NONE,
    "Name of the simulated portfolio: long_short, long_only, or an unconditioned twin; for trades also the trade-only variants ending "
    "in _adjustments and _settlements.",
    bound=Bound.BOOK,
)
DATE: Final = Column("date", Type.DATE, Unit.DATE, "Trading session of the row.")
WEEK: Final = Column("date", Type.DATE, Unit.DATE, "Weekly decision date.")
SYMBOL: Final = Column("symbol", Type.STR, Unit.NONE, "Ticker of the name.", bound=Bound.TICKER)
TIMESTAMP: Final = Column("timestamp", Type.TIMESTAMP, Unit.INSTANT, "Close of the session.")
STARTING_EQUITY: Final = Column(
    "starting_equity",
    Type.F64,
    Unit.EQUITY,
    "Equity at the open of the session: the previous ending equity, or `equity_basis` for the first session.",
)
ENDING_EQUITY: Final = Column("ending_equity", Type.F64, Unit.EQUITY, "Equity at the close of the session.")
GROSS_EXPOSURE: Final = Column(
    "gross_exposure",
    Type.F64,
    Unit.RATIO,
    "Sum of absolute position weights; about 2 if fully invested long and short.",
)
NET_EXPOSURE: Final = Column(
    "net_exposure", Type.F64, Unit.RATIO, "Sum of signed position weights; about 0 if neutral."
)
TURNOVER: Final = Column(
    "turnover", Type.F64, Unit.RATIO, "One-sided traded fraction: half the sum of absolute weight changes."
)
