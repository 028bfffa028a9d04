"""``meta.summary`` of the two daily series, over all pages of the window."""

from __future__ import annotations

from typing import Final

from schemas.field import count, day, figure, record, text
from schemas.units import Unit

RETURN_BASES: Final = ("adjusted_close", "close")

WINDOW_DAYS: Final = (
    day("first_date", "First session of the window; null without sessions.", nullable=True),
    day("last_date", "Last session of the window; null without sessions.", nullable=True),
)
_SPAN: Final = (*WINDOW_DAYS, count("sessions", "Sessions of the window."))
_CUMULATIVE: Final = figure("cumulative_return_pct", "Last cumulative return.", unit=Unit.PERCENTAGE_POINTS)
MAX_DRAWDOWN_PCT: Final = figure(
    "max_drawdown_pct",
    "Deepest fall from the running peak, as a percentage of the peak.",
    unit=Unit.PERCENTAGE_POINTS,
    minimum=0,
)
_DRAWDOWN: Final = (
    MAX_DRAWDOWN_PCT,
    day("max_drawdown_date", "First session with the deepest percentage fall.", nullable=True),
)

EQUITY_SUMMARY: Final = record(
    "summary",
    "Summary of the book over all pages of the window.",
    text("book", "The book measured."),
    *_SPAN,
    figure("starting_equity", "Equity before the first session.", unit=Unit.EQUITY),
    figure("ending_equity", "Equity after the last session.", unit=Unit.EQUITY),
    figure("peak_equity", "Largest starting or ending equity of the window.", unit=Unit.EQUITY),
    figure("total_return", "Ending over starting equity, less one."),
    _CUMULATIVE,
    figure("max_drawdown", "Largest peak less ending equity.", unit=Unit.EQUITY, minimum=0),
    *_DRAWDOWN,
    model="EquitySummary",
)

BENCHMARK_SUMMARY: Final = record(
    "summary",
    "Summary of the benchmark over all pages of the window.",
    text("symbol", "The benchmark."),
    text("name", "Name of the benchmark."),
    text(
        "return_basis",
        "Price of returns and drawdowns: the adjusted close if every row of the window has one, otherwise the close, whose returns "
        "exclude dividends.",
        vocabulary=RETURN_BASES,
    ),
    *_SPAN,
    figure("first_close", "Close of the first session as stored, never adjusted.", unit=Unit.PRICE),
    figure("last_close", "Close of the last session as stored, never adjusted.", unit=Unit.PRICE),
    figure(
        "total_return",
        "Return over the window, of the price in `return_basis`; it differs from the change from `first_close` to `last_close` if that is "
        "the adjusted close.",
    ),
    _CUMULATIVE,
    *_DRAWDOWN,
    day(
        "previous_date",
        "Session before the first one of the window, from whose close the first session of a book is compared; null if the market data "
        "have none, or lack its adjusted close while `return_basis` is `adjusted_close`.",
        nullable=True,
    ),
    figure("previous_close", "Close of that session as stored, never adjusted.", unit=Unit.PRICE),
    figure(
        "first_return",
        "Return of the first session of the window from that close, of the price in `return_basis`. Over the sessions of a book, its first "
        "one included, the benchmark grows to (1 + first_return) x (1 + cumulative_return).",
    ),
    figure(
        "total_return_from_previous",
        "Return from that close to the last one of the window, to be compared with the `total_return` of an equity curve.",
    ),
    model="BenchmarkSummary",
)
