"""A benchmark's rows and summary over a window."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from datasets.figures.equity import period_returns
from datasets.figures.price import Benchmark
from datasets.figures.series import Window, null_if_nan
from datasets.market_data.benchmark_prices import BenchmarkPrices
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
    prices = BenchmarkPrices.over(benchmark, Window(first, last).rows(benchmark.dates))
    first_return = total_return = None
    if prices.previous_date is not None:
        ends = period_returns(np.full(2, prices.previous), prices.price[[0, -1]])
        first_return, total_return = map(null_if_nan, ends)
    return MeasuredWindow(
        prices.rows(from_previous=False),
        {
            "symbol": benchmark.symbol,
            "name": benchmark.name,
            "return_basis": _ADJUSTED if prices.adjusted else _CLOSE,
            **prices.summary(from_previous=False),
            "previous_date": prices.previous_date.isoformat() if prices.previous_date else None,
            "previous_close": null_if_nan(prices.previous_close),
            "first_return": first_return,
            "total_return_from_previous": total_return,
        },
    )
