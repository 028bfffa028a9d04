"""Price curve of a benchmark, like the equity curve with closes in place of equity."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

import numpy as np

from datasets.figures.equity import (
    EquityCurve,
    day,
    day_of_highest,
    equity_curve,
    highest,
    last_known_pct,
    period_returns,
)
from datasets.figures.series import Dates, Floats, null_if_nan


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The prices of one symbol, ascending by day. Requests share the arrays.

    Attributes
    ----------
    symbol
        In upper case.
    name
        Readable; says so when the prices are simulated.
    simulated
        Whether the prices are invented.
    dates : Dates, shape (n_days,)
        Days, each once.
    close, adjusted : Floats, shape (n_days,)
        Above 0; `adjusted` is NaN where there is no adjusted close.
    """

    symbol: str
    name: str
    simulated: bool
    dates: Dates
    close: Floats
    adjusted: Floats

    @property
    def source(self) -> str:
        """``meta.source`` of answers from this benchmark."""
        return "simulated market data" if self.simulated else "market data"

    def prices(self, rows: slice) -> tuple[Floats, bool]:
        """Return the adjusted price of every day where all of some rows have one, else the close, and which of them it is."""
        adjusted = not np.isnan(self.adjusted[rows]).any()
        return (self.adjusted if adjusted else self.close), adjusted

    def returns(self, rows: slice, before: int = 0) -> tuple[Dates, Floats, bool]:
        """Return days and returns of some rows, and whether they use adjusted closes, which they do if all rows have them.

        The first return is NaN. With `before`, the series begins so many rows earlier.
        """
        price, adjusted = self.prices(rows)
        used = slice(max(0, rows.start - before), rows.stop)
        price = price[used]
        returns = np.concatenate([np.full(min(1, price.size), np.nan), period_returns(price[:-1], price[1:])])
        return self.dates[used], returns, adjusted


@dataclass(frozen=True, slots=True)
class PriceSummary:
    """Figures of a price series over a window; every field but ``sessions`` is ``None`` for an empty one.

    Attributes
    ----------
    first_date, last_date
        Days of the first and last session.
    sessions
        Rows in the window.
    first_close, last_close
        Closes of those days, in the price's own unit.
    total_return
        Ratio; the last close over the one before the window where that is given, else over the first close, less one.
        Null where that close is null or not above 0.
    cumulative_return_pct
        Percentage points; the last compounded return that is known.
    max_drawdown_pct
        Deepest fall from the window's running peak, in percentage points of that peak.
    max_drawdown_date
        First session on which it is reached.
    """

    first_date: dt.date | None = None
    last_date: dt.date | None = None
    sessions: int = 0
    first_close: float | None = None
    last_close: float | None = None
    total_return: float | None = None
    cumulative_return_pct: float | None = None
    max_drawdown_pct: float | None = None
    max_drawdown_date: dt.date | None = None


def price_curve(close: Floats, previous: float = math.nan) -> EquityCurve:
    """Compound a price over the sessions of a window.

    Each session opens at the previous close, so the functions of the ledger apply. For comparison with a book over the same
    sessions the curve takes the close before the window: a book's first session counts from the equity it opened with.

    Parameters
    ----------
    close : Floats, shape (n_sessions,)
        Price by session; may be empty.
    previous : float
        Close of the session before the first. NaN where it is not known or lies outside what is measured: the first
        session then has no ``period_return``, and its ``cumulative_return`` is 0, the base the following rows compound on.

    Returns
    -------
    EquityCurve
        As long as the input; peak and drawdown in the price's unit. A given `previous` counts towards the peak.
    """
    curve = equity_curve(np.concatenate([np.full(min(1, close.size), previous), close[:-1]]), close)
    if close.size and math.isnan(previous) and not np.isnan(close[0]):
        curve.cumulative_return[0] = 0.0
    return curve


def price_summary(dates: Dates, close: Floats, previous: float = math.nan) -> PriceSummary:
    """Summarise a price over the window.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Day of each session, ascending.
    close : Floats, shape (n_sessions,)
        Price by session, as long as ``dates``.
    previous : float
        As of :func:`price_curve`.

    Returns
    -------
    PriceSummary
        With ``sessions`` 0 and every other field ``None`` when the window is empty.
    """
    if dates.size == 0:
        return PriceSummary()
    curve = price_curve(close, previous)
    base = close[:1] if math.isnan(previous) else np.array([previous])
    return PriceSummary(
        first_date=day(dates, 0),
        last_date=day(dates, -1),
        sessions=int(dates.size),
        first_close=null_if_nan(close[0]),
        last_close=null_if_nan(close[-1]),
        total_return=null_if_nan(period_returns(base, close[-1:])[0]),
        cumulative_return_pct=last_known_pct(curve.cumulative_return),
        max_drawdown_pct=highest(curve.drawdown_pct),
        max_drawdown_date=day_of_highest(dates, curve.drawdown_pct),
    )
