"""A benchmark's rows and summary over a window."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from datasets.figures import series
from datasets.figures.equity import period_returns
from datasets.figures.price import Benchmark, price_summary
from datasets.figures.series import Floats, null_if_nan
from datasets.market_data.benchmark_prices import price_rows
from schemas.objects.summaries import RETURN_BASES

_ADJUSTED, _CLOSE = RETURN_BASES


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """The rows of a window, and their summary.

    Attributes
    ----------
    rows
        The declared columns of a benchmark row, ascending by day.
    summary
        JSON-ready; for an empty window every figure is null.
    """

    rows: pl.DataFrame
    summary: dict[str, Any]


def measure(benchmark: Benchmark, first: dt.date | None, last: dt.date | None) -> MeasuredWindow:
    """Measure the sessions of a window.

    Parameters
    ----------
    benchmark
        The cached series of the symbol.
    first, last
        Days of the window, inclusive; None for the first or last day of the data.

    Returns
    -------
    MeasuredWindow
        ``close`` is as stored, not adjusted. Returns and drawdowns use the adjusted close if every session of the window
        has one, else the close; an empty window has the basis ``close``. The rows begin at the close of the window's
        first session. A book's returns include that session; the summary has the figures to compare with them.
    """
    window = series.Window(first, last).rows(benchmark.dates)
    dates, close = benchmark.dates[window], benchmark.close[window]
    prices, adjusted = benchmark.prices(window)
    price = prices[window]
    return MeasuredWindow(
        price_rows(dates, close, price),
        {
            "symbol": benchmark.symbol,
            "name": benchmark.name,
            "return_basis": _ADJUSTED if adjusted and dates.size else _CLOSE,
            **price_summary(dates, close, price),
            **_from_previous_close(benchmark, prices, window),
        },
    )


def _from_previous_close(benchmark: Benchmark, prices: Floats, window: slice) -> dict[str, Any]:
    """Measure the window from the close of the previous session; null if there is none on the window's basis."""
    price = prices[window]
    before = slice(max(0, window.start - 1), window.start if price.size else 0)
    previous = prices[before]
    known = previous.size == 1 and not np.isnan(previous[0])
    return {
        "previous_date": str(benchmark.dates[before][0].astype("datetime64[D]")) if known else None,
        "previous_close": float(benchmark.close[before][0]) if known else None,
        "first_return": null_if_nan(period_returns(previous, price[:1])[0]) if known else None,
        "total_return_from_previous": null_if_nan(period_returns(previous, price[-1:])[0]) if known else None,
    }
