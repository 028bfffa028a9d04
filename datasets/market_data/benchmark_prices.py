"""Prices of a benchmark over the sessions of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from datasets.figures.price import price_curve
from datasets.figures.series import FULL_HISTORY, Dates, Floats, Window, day
from datasets.market_data.prices import read_symbols
from datasets.snapshot import Snapshot, in_window

if TYPE_CHECKING:
    import datetime as dt
    import os


@dataclass(frozen=True, slots=True)
class BenchmarkPrices:
    """A benchmark over the sessions of a book.

    Attributes
    ----------
    symbol : str
        In upper case.
    rows : polars.DataFrame
        ``date``, ``close`` and ``price`` by day of the benchmark. The price is the adjusted close if every day has one, else
        the close.
    previous_date : datetime.date or None
        Last day of the benchmark before the first of `rows`; None when the market data have no price of it.
    previous : float
        Price of that day, adjusted or not as in `rows`; NaN when the market data have none.
    """

    symbol: str
    rows: pl.DataFrame
    previous_date: dt.date | None
    previous: float

    @property
    def curve(self) -> pl.DataFrame:
        """Close, return, compounded return and drawdown by day, starting at the close before the first."""
        dates, close, price = (self.rows[name].to_numpy() for name in ("date", "close", "price"))
        return price_rows(dates, close, price, self.previous)


def price_rows(dates: Dates, close: Floats, price: Floats, previous: float = math.nan) -> pl.DataFrame:
    """Return the rows of a benchmark, as they are served.

    Parameters
    ----------
    dates : Dates, shape (n_days,)
        Days of the rows.
    close, price : Floats, shape (n_days,)
        The close that is shown, and the price that is compounded; NaN stands for null.
    previous : float
        As in :func:`datasets.figures.price.price_curve`.

    Returns
    -------
    polars.DataFrame
        ``date``, ``close``, ``period_return``, ``cumulative_return`` and ``drawdown_pct``.
    """
    curve = price_curve(price, previous)
    names = ("period_return", "cumulative_return", "drawdown_pct")
    computed = {name: getattr(curve, name) for name in names}
    return pl.DataFrame({"date": dates, "close": close, **computed}, nan_to_null=True)


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
    price, _ = benchmark.prices(rows)
    columns = {"date": benchmark.dates[rows], "close": benchmark.close[rows], "price": price[rows]}
    previous = float(price[rows.start - 1]) if rows.start else math.nan
    previous_day = None if math.isnan(previous) else day(benchmark.dates, rows.start - 1)
    return BenchmarkPrices(benchmark.symbol, pl.DataFrame(columns), previous_day, previous)
