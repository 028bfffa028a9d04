"""Price curve of a benchmark: an equity curve computed from closes."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

import numpy as np

from datasets.figures.equity import (
    EquityCurve,
    day_of_highest,
    equity_curve,
    highest,
    last_known_pct,
    period_returns,
)
from datasets.figures.series import Dates, Floats, day, null_if_nan


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Daily prices of one symbol. Requests share the arrays.

    Attributes
    ----------
    symbol : str
        In upper case.
    name : str
        Display name, which says if the prices are simulated.
    simulated : bool
        Whether the prices are simulated.
    dates : Dates, shape (n_days,)
        Ascending, unique.
    close, adjusted : Floats, shape (n_days,)
        Closes and adjusted closes in the unit of the price, above 0; `adjusted` is NaN if unknown.
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
        """Return adjusted closes if all requested rows have one, else closes.

        Parameters
        ----------
        rows : slice
            Rows that must all have an adjusted close.

        Returns
        -------
        price : Floats, shape (n_days,)
            Prices of all days, not only of `rows`.
        adjusted : bool
            Whether they are adjusted closes.
        """
        adjusted = not np.isnan(self.adjusted[rows]).any()
        return (self.adjusted if adjusted else self.close), adjusted

    def returns(self, rows: slice, before: int = 0) -> tuple[Dates, Floats, bool]:
        """Return the close-to-close returns of some rows.

        Parameters
        ----------
        rows : slice
            Rows to return; they also decide between closes and adjusted closes, as in :meth:`prices`.
        before : int
            Number of earlier rows to include, if they exist.

        Returns
        -------
        days : Dates, shape (n_rows,)
            Ascending.
        returns : Floats, shape (n_rows,)
            Fractions; the first is NaN.
        adjusted : bool
            Whether they are computed from adjusted closes.
        """
        price, adjusted = self.prices(rows)
        used = slice(max(0, rows.start - before), rows.stop)
        price = price[used]
        returns = np.concatenate([np.full(min(1, price.size), np.nan), period_returns(price[:-1], price[1:])])
        return self.dates[used], returns, adjusted


@dataclass(frozen=True, slots=True)
class PriceSummary:
    """Summary of a price over a window; every field but ``sessions`` is None for an empty one.

    Attributes
    ----------
    first_date, last_date : datetime.date or None
        Days of the first and last session.
    sessions : int
        Rows in the window.
    first_close, last_close : float or None
        Closes of those days, in the unit of the price.
    total_return : float or None
        Last close over the close before the window if given, else over the first close, minus one; a fraction. None if the
        base is null or not above 0.
    cumulative_return_pct : float or None
        Last known compounded return in percentage points.
    max_drawdown_pct : float or None
        Deepest drawdown from the running peak of the window, in percentage points of that peak.
    max_drawdown_date : datetime.date or None
        First session with that drawdown.
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

    Each session opens at the previous close, so :func:`datasets.figures.equity.equity_curve` applies. To compare with a book
    over the same sessions, pass the close before the window, because a book's first return starts at its opening equity.

    Parameters
    ----------
    close : Floats, shape (n_sessions,)
        Price by session; may be empty. NaN stands for null.
    previous : float
        Close of the session before the first; NaN if unknown or not used. Without it, the first session has no
        ``period_return``, and its ``cumulative_return`` is 0, the base of later rows.

    Returns
    -------
    EquityCurve
        One row per session, peak and drawdown in the unit of the price. A given `previous` counts towards the peak.
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
        Price by session; NaN stands for null.
    previous : float
        Close of the session before the first, as in :func:`price_curve`.

    Returns
    -------
    PriceSummary
        With ``sessions`` 0 and every other field None when the window is empty.
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
