"""Columns that several tables share."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, day, instant, number, text
from schemas.units import Unit

BOOK: Final = text(
    "book",
    "Name of the simulated portfolio: long_short, long_only, or an unconditioned twin; trades also have variants whose names end in "
    "_adjustments and _settlements.",
    bound=Bound.BOOK,
)
DATE: Final = day("date", "Trading session of the row.")
WEEK: Final = day("date", "Weekly decision date.")
SYMBOL: Final = text("symbol", "Ticker of the name.", bound=Bound.TICKER)
TIMESTAMP: Final = instant("timestamp", "Close of the session.")
STARTING_EQUITY: Final = number(
    "starting_equity",
    Unit.EQUITY,
    "Equity at the open of the session: the previous ending equity, or `equity_basis` for the first session.",
)
ENDING_EQUITY: Final = number("ending_equity", Unit.EQUITY, "Equity at the close of the session.")
GROSS_EXPOSURE: Final = number(
    "gross_exposure",
    Unit.RATIO,
    "Sum of absolute position weights; about 2 if fully invested long and short.",
)
NET_EXPOSURE: Final = number(
    "net_exposure", Unit.RATIO, "Sum of signed position weights; about 0 if neutral."
)
TURNOVER: Final = number(
    "turnover", Unit.RATIO, "One-sided traded fraction: half the sum of absolute weight changes."
)
