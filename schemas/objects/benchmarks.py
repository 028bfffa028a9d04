"""Rows of the benchmarks and of their daily series."""

from __future__ import annotations

from typing import Final

from schemas.field import count, day, figure, flag, number, record, text
from schemas.units import Unit

BENCHMARK_LISTED: Final = record(
    "benchmark_listed",
    "One benchmark.",
    text("symbol", "Symbol for `/v1/benchmarks/{symbol}/daily`."),
    text("name", "Readable name."),
    flag("simulated", "Whether its prices are simulated."),
    day("first_date", "First session."),
    day("last_date", "Last session."),
    count("sessions", "Number of sessions.", minimum=None),
    model="BenchmarkListedRow",
)

BENCHMARK: Final = record(
    "benchmark",
    "One session of a benchmark.",
    day("date", "Session in the market data."),
    number(
        "close",
        Unit.PRICE,
        "Close as stored, never adjusted. If `return_basis` is `adjusted_close`, the other figures of the row differ from changes of "
        "this price over dividends and splits.",
    ),
    figure(
        "period_return",
        "Change from the previous session of the price in `meta.summary.return_basis`; null on the first row of the window.",
    ),
    number(
        "cumulative_return",
        Unit.RATIO,
        "Product of one plus each period return, less one, from the price in `return_basis`; 0 on the first row.",
    ),
    number(
        "drawdown_pct",
        Unit.PERCENTAGE_POINTS,
        "Fall from the peak of the window, of the price in `return_basis`, as a percentage of that peak.",
    ),
    model="BenchmarkRow",
)
