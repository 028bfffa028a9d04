"""Price curve of a benchmark: an equity curve computed from closes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.equity import EquityCurve, equity_curve, equity_summary, period_returns
from datasets.figures.series import Dates, Floats, null_if_nan

_OF_RETURNS: Final = ("total_return", "cumulative_return_pct", "max_drawdown_pct", "max_drawdown_date")


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
    curve = equity_curve(_openings(close, previous), close)
    if math.isnan(previous):
        curve.period_return[:1] = np.nan
    return curve


def _openings(close: Floats, previous: float) -> Floats:
    """Return the price at which each session opens: the close before it; for the first one its own close if that is unknown."""
    opening: Floats = np.concatenate([close[:1], close[:-1]])
    if not math.isnan(previous):
        opening[:1] = previous
    return opening


def price_summary(dates: Dates, close: Floats, price: Floats, previous: float = math.nan) -> dict[str, Any]:
    """Summarise a price over the window, as :func:`datasets.figures.equity.equity_summary` does equity.

    Parameters
    ----------
    dates : Dates, shape (n_sessions,)
        Day of each session, ascending.
    close, price : Floats, shape (n_sessions,)
        Close as stored and price by session: the close or the adjusted close; NaN stands for null.
    previous : float
        Price of the session before the first, as in :func:`price_curve`.

    Returns
    -------
    dict
        ``first_date``, ``last_date``, ``sessions``, ``first_close`` and ``last_close`` as stored, ``total_return`` from
        `previous` if given, else from the first price, ``cumulative_return_pct``, ``max_drawdown_pct`` and
        ``max_drawdown_date``. All but ``sessions`` are None when the window is empty.
    """
    summary = equity_summary(dates, _openings(price, previous), price, price_curve(price, previous))
    return {
        **{name: summary[name] for name in ("first_date", "last_date", "sessions")},
        "first_close": null_if_nan(close[0]) if close.size else None,
        "last_close": null_if_nan(close[-1]) if close.size else None,
        **{name: summary[name] for name in _OF_RETURNS},
    }
