"""``meta.summary`` of the two daily series: the full window, whatever page is served."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, day, integer, number, record, text
from schemas.units import Unit

RETURN_BASES: Final = ("adjusted_close", "close")

WINDOW_DAYS: Final = (
    day("first_date", "First session of the window; null when it holds none.", nullable=True),
    day("last_date", "Last session of the window; null when it holds none.", nullable=True),
)
_SPAN: Final = (
    *WINDOW_DAYS,
    integer("sessions", Unit.COUNT, "Sessions of the window."),
)
_CUMULATIVE: Final = number(
    "cumulative_return_pct", Unit.PERCENTAGE_POINTS, "The last cumulative return, times 100.", nullable=True
)
_DRAWDOWN: Final = (
    number(
        "max_drawdown_pct",
        Unit.PERCENTAGE_POINTS,
        "Largest fall from the peak so far, as a percentage of that peak.",
        nullable=True,
        minimum=0,
    ),
    day("max_drawdown_date", "First session at which the largest percentage fall is reached.", nullable=True),
)


def _figure(name: str, unit: Unit, meaning: str) -> Field:
    return number(name, unit, meaning, nullable=True)


EQUITY_SUMMARY: Final = record(
    "summary",
    "The full window of the book, before paging.",
    text("book", "The book measured."),
    *_SPAN,
    _figure("starting_equity", Unit.EQUITY, "Equity before the first session."),
    _figure("ending_equity", Unit.EQUITY, "Equity after the last session."),
    _figure("peak_equity", Unit.EQUITY, "Largest starting or ending equity of the window."),
    _figure("total_return", Unit.RATIO, "Ending over starting equity, less one."),
    _CUMULATIVE,
    number("max_drawdown", Unit.EQUITY, "Largest peak less ending equity.", nullable=True, minimum=0),
    *_DRAWDOWN,
    model="EquitySummary",
)

BENCHMARK_SUMMARY: Final = record(
    "summary",
    "The full window of the benchmark, before paging.",
    text("symbol", "The benchmark."),
    text("name", "Its readable name."),
    text(
        "return_basis",
        "The price that returns and drawdowns are computed from: the adjusted close when every row of the "
        "window has one, else the close, whose returns leave dividends out.",
        vocabulary=RETURN_BASES,
    ),
    *_SPAN,
    _figure("first_close", Unit.PRICE, "Close of the first session as stored, never adjusted."),
    _figure("last_close", Unit.PRICE, "Close of the last session as stored, never adjusted."),
    _figure(
        "total_return",
        Unit.RATIO,
        "Return over the window of the price `return_basis` names, so not the change from `first_close` to `last_close` where that is the adjusted one.",
    ),
    _CUMULATIVE,
    *_DRAWDOWN,
    day(
        "previous_date",
        "Session before the window's first, from whose close a book's first session is compared; null where the market data hold "
        "none, or no adjusted close of it while `return_basis` is `adjusted_close`.",
        nullable=True,
    ),
    _figure("previous_close", Unit.PRICE, "Close of that session as stored, never adjusted."),
    _figure(
        "first_return",
        Unit.RATIO,
        "Return of the window's first session over that close, of the price `return_basis` names. Over the sessions of a book the "
        "benchmark grows to (1 + first_return) x (1 + cumulative_return), for the book's own first session counts as well.",
    ),
    _figure(
        "total_return_from_previous",
        Unit.RATIO,
        "Return from that close to the last of the window: what to compare the `total_return` of an equity curve with.",
    ),
    model="BenchmarkSummary",
)
