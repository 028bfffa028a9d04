"""Prices of a benchmark over the sessions of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from datasets.figures.price import Benchmark, price_curve, price_summary
from datasets.figures.series import FULL_HISTORY, Dates, Floats, Window, day
from datasets.market_data.prices import read_symbols
from datasets.snapshot import Snapshot, in_window

if TYPE_CHECKING:
    import datetime as dt
    import os


@dataclass(frozen=True, slots=True)
class BenchmarkPrices:
    """A benchmark over consecutive days.

    Attributes
    ----------
    symbol : str
        In upper case.
    dates : Dates, shape (n_days,)
        Ascending.
    close, price : Floats, shape (n_days,)
        The close as stored, and the price that is compounded: the adjusted close if every day has one, else the close.
    adjusted : bool
        Whether the price is the adjusted close; False without days.
    previous_date : datetime.date or None
        Day of the benchmark before the first; None when the market data have no price of it, and without days.
    previous_close, previous : float
        Close and price of that day; NaN without one.
    """

    symbol: str
    dates: Dates
    close: Floats
    price: Floats
    adjusted: bool
    previous_date: dt.date | None
    previous_close: float
    previous: float

    @classmethod
    def over(cls, benchmark: Benchmark, rows: slice) -> Self:
        """Select days of a benchmark."""
        price, adjusted = benchmark.prices(rows)
        dates, close = benchmark.dates[rows], benchmark.close[rows]
        before = rows.start - 1
        previous: tuple[dt.date | None, float, float] = None, math.nan, math.nan
        if dates.size and before >= 0 and not math.isnan(price[before]):
            previous = day(benchmark.dates, before), float(benchmark.close[before]), float(price[before])
        return cls(benchmark.symbol, dates, close, price[rows], adjusted and dates.size > 0, *previous)

    def rows(self, *, from_previous: bool) -> pl.DataFrame:
        """Return the rows as they are served.

        Parameters
        ----------
        from_previous : bool
            Whether returns start at the price of the day before the first, if that is known; else at the first price.

        Returns
        -------
        polars.DataFrame
            ``date``, ``close``, ``period_return``, ``cumulative_return`` and ``drawdown_pct``.
        """
        curve = price_curve(self.price, self.previous if from_previous else math.nan)
        names = ("period_return", "cumulative_return", "drawdown_pct")
        computed = {name: getattr(curve, name) for name in names}
        return pl.DataFrame({"date": self.dates, "close": self.close, **computed}, nan_to_null=True)

    def summary(self, *, from_previous: bool) -> dict[str, Any]:
        """Summarise the days, as :func:`datasets.figures.price.price_summary`; the parameter is that of :meth:`rows`."""
        previous = self.previous if from_previous else math.nan
        return price_summary(self.dates, self.close, self.price, previous)


def read_benchmark(
    run: Snapshot,
    market_data: str | os.PathLike[str] | None,
    symbol: str | None,
    book: str,
    window: Window = FULL_HISTORY,
) -> BenchmarkPrices:
    """Read a benchmark over the sessions of a book.

    Parameters
    ----------
    run : Snapshot
        The run with the book.
    market_data : str, os.PathLike or None
        As in :func:`datasets.market_data.prices.read_symbols`.
    symbol : str or None
        One of the symbols of :func:`datasets.market_data.prices.read_symbols`.
    book : str
        Name of the book.
    window : Window
        Days to include.

    Returns
    -------
    BenchmarkPrices
        Prices on the benchmark's days from the first to the last session.

    Raises
    ------
    SettingsError
        When market data are not configured, the symbol is missing, or a file breaks a rule.
    """
    (benchmark,) = read_symbols(market_data, (symbol,))
    days = run.read("equity_curve", ("date",), book).filter(in_window(window))["date"]
    rows = slice(0, 0) if days.is_empty() else Window(days[0], days[-1]).rows(benchmark.dates)
    return BenchmarkPrices.over(benchmark, rows)
