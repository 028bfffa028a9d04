"""Read the content of an alpha's tear sheet from its snapshot, JSON-ready; withheld parts have a reason."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
import polars.selectors as cs

from datasets.analysis.alpha import Alpha
from datasets.figure_data import floats_of
from datasets.figures.equity import equity_curve, equity_summary
from datasets.figures.series import FULL_HISTORY, Window
from datasets.market_data.benchmark_prices import read_benchmark
from datasets.provenance.audit import Reader, audit_entries, verdict
from datasets.snapshot import Snapshot, in_window
from schemas.errors import SettingsError
from schemas.warning_codes import CODES

Content = dict[str, Any]

ROLLING_WEEKS: Final = 26
"""Measured weeks in each value of the rolling mean IC."""
LEVEL: Final = 0.95
"""Confidence level of the intervals."""
TOP_NAMES: Final = 10
"""Number of best names and of worst names."""
_READER: Final = Reader(raw=False, may_read=lambda _: True)
"""Reader of a sheet, who may see other alphas of the root but no raw columns."""
NO_LEDGER: Final = "the run sealed no daily ledger of this book"
NO_SESSION: Final = "no session of the run lies in the window"
_RUN_BLOCKS: Final = frozenset({"core", "rank_ic", "rank_ic.conditioned", "rank_ic.raw", "nwt.ic", "periods"})
"""Blocks of the metrics that a window does not narrow, or narrows only in part."""
_CURVE: Final = (
    "date",
    "period_return",
    "cumulative_return",
    "drawdown_pct",
    "gross_exposure",
    "net_exposure",
    "turnover",
)


def content(
    run: Alpha, book: str, market_data: str | None, symbol: str | None, window: Window = FULL_HISTORY
) -> Content:
    """Read the content of an alpha's tear sheet.

    Parameters
    ----------
    run
        Snapshot of the alpha.
    book
        Book to show.
    market_data
        Address of benchmark prices; None if there are none.
    symbol
        Symbol of the benchmark; None for SPY, or for the only symbol.
    window
        Days covered by every part except the description and the audit.

    Returns
    -------
    dict
        JSON-ready. A part that cannot be shown is ``{"withheld": reason}``.

    Raises
    ------
    SettingsError
        When the run has books but not `book`, when the benchmark cannot be read, or when the window ends before it begins.
    SnapshotCorrupt
        When a file is missing or damaged.
    """
    books = run.books("equity_curve")
    if books and book not in books:
        raise SettingsError(f"{run.alpha_id} has no book {book!r}; it has {', '.join(books)}")
    metrics = narrow_to_window(
        run.metrics(first=window.first, last=window.last, granularity="yearly", panel=True, raw=False)
    )
    pointer, manifest = run.pointer, run.manifest
    return {
        "alpha_id": run.alpha_id,
        "name": pointer.name,
        "tldr": pointer.tldr,
        "source_alpha_id": manifest.source_alpha_id,
        "snapshot": run.id,
        "published_at": run.published_at,
        "started_at": manifest.started_at,
        "sealed_at": manifest.sealed_at,
        "equity_basis": manifest.equity_basis,
        "missing": list(manifest.missing),
        "book": book,
        "window": None if window == FULL_HISTORY else json_ready({"from": window.first, "to": window.last}),
        "description": run.description(),
        "audit": {"verdict": verdict(metrics["checked"]), "entries": audit_entries(manifest, _READER)},
        "metrics": metrics,
        "luck": run.luck(book=book, window=window),
        "weekly": weekly(run, metrics["nwt"]["ic"], window),
        "delivered": delivered(run, window),
        "equity": equity(run, book, window),
        "risk": risk(run, book, window),
        "costs": costs(run, book, window),
        "legs": _of_run(run, "concentration", "legs and concentration", book, window),
        "regimes": _with_reasons(run.regimes(market_data, benchmark=symbol, book=book, window=window)),
        "exposures": exposures(run, book, market_data, symbol, window),
        "benchmark": benchmark(run, book, market_data, symbol, window),
        "names": names(run, book, window),
        "holdings": holdings(run, book, window),
    }


def narrow_to_window(metrics: Content) -> Content:
    """Replace the run's figures by the window's, if a window is given."""
    narrowed = metrics["within_window"]
    if narrowed is None:
        return metrics
    # Warnings about the replaced figures do not apply.
    shown = {
        member: [
            {**entry, "block": entry["block"].removeprefix("within_window.")}
            for entry in metrics[member]
            if entry["block"] not in _RUN_BLOCKS
        ]
        for member in CODES
    }
    return {
        **metrics,
        "core": {**narrowed["core"], "tenure": metrics["core"]["tenure"]},
        "rank_ic": narrowed["rank_ic"],
        "nwt": {**metrics["nwt"], **narrowed["nwt"]},
        "periods": narrowed["periods"],
        "within_window": None,
        **shown,
    }


def equity(run: Snapshot, book: str, window: Window) -> Content:
    """Return the equity curve of a book as columns, and its summary."""
    if not run.has_rows("equity_curve", book):
        return withheld(NO_LEDGER)
    rows = run.scan("equity_curve", book).filter(in_window(window)).collect()
    if rows.is_empty():
        return withheld(NO_SESSION)
    starting, ending = floats_of(rows, "starting_equity"), floats_of(rows, "ending_equity")
    curve = equity_curve(starting, ending)
    if window != FULL_HISTORY:
        # The stored curve is compounded from the start of the run, and its peak may lie before the window.
        rows = rows.with_columns(
            pl.Series(name, getattr(curve, name)) for name in ("cumulative_return", "drawdown_pct")
        )
    summary = equity_summary(rows["date"].to_numpy(), starting, ending, curve)
    return {"columns": columns(rows.select(_CURVE)), "summary": json_ready(summary)}


def risk(run: Alpha, book: str, window: Window) -> Content:
    """Return the risk of a book, as the API returns it."""
    figures = _of_run(run, "risk", "figures of risk", book, window)
    if "withheld" in figures or figures["drawdowns"] is not None:
        return figures
    return withheld(figures["reasons"]["drawdowns"])


def costs(run: Alpha, book: str, window: Window) -> Content | None:
    """Return the costs of a book, as the API returns them; None for a window or without a ledger."""
    figures = _of_run(run, "costs", "costs", book, window)
    return None if "withheld" in figures else figures


def _of_run(run: Alpha, family: str, what: str, book: str, window: Window) -> Content:
    """Return a family of research figures of a book; withheld for a window, because they describe the complete run."""
    if window != FULL_HISTORY:
        return withheld(f"{what} describe the complete run")
    if not run.has_rows("portfolio", book):
        return withheld(NO_LEDGER)
    return _with_reasons(run.research(family, book))


def exposures(run: Alpha, book: str, market_data: str | None, symbol: str | None, window: Window) -> Content:
    """Return the exposures of a book to the benchmark and the factors, as the API returns them."""
    if not run.has_rows("portfolio", book):
        return withheld(NO_LEDGER)
    symbols = () if market_data is None else (symbol,)
    return _with_reasons(run.exposures(market_data, benchmarks=symbols, book=book, window=window))


def _with_reasons(figures: Content) -> Content:
    """Rename the reasons of withheld figures, because `withheld` marks a part that the sheet omits completely."""
    return {
        **{name: value for name, value in figures.items() if name != "withheld"},
        "reasons": figures["withheld"],
    }


def weekly(run: Snapshot, test: Content | None, window: Window) -> Content:
    """Return the weekly IC of the delivered score, and the Newey-West interval of its mean.

    Parameters
    ----------
    test
        The block ``nwt.ic`` of the metrics; None if it is withheld.
    """
    if not run.has_rows("weekly_signal"):
        return withheld("the run sealed no weekly cross-sections")
    rows = run.scan("weekly_signal").filter(in_window(window)).select("date", "ic").drop_nulls().collect()
    if rows.is_empty():
        return withheld("no week has both scores and forward returns")
    return {
        "columns": columns(rows),
        "span": ROLLING_WEEKS,
        "interval": None if test is None else interval(test),
    }


def delivered(run: Alpha, window: Window) -> Content | None:
    """Return the decile figures of the delivered score, as the API returns them; None for a window or without deciles."""
    block = run.signal()["delivered"] if window == FULL_HISTORY else None
    return block if block and block["deciles"] else None


def interval(test: Content) -> Content:
    """Return the confidence interval of a mean from its Newey-West test."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    reach = float(stdtrit(test["n"] - 1, 0.5 + LEVEL / 2)) * test["standard_error"]
    return {
        "mean": test["mean"],
        "lower": test["mean"] - reach,
        "upper": test["mean"] + reach,
        "level": LEVEL,
    }


def benchmark(
    run: Snapshot, book: str, market_data: str | None, symbol: str | None, window: Window
) -> Content:
    """Return the benchmark over the sessions of a book, starting at the close before the first, and its summary."""
    if market_data is None:
        if symbol is not None:
            raise SettingsError(f"no market data to take {symbol} from: give --market-data")
        return withheld("no market data was given (--market-data)")
    if not run.has_rows("equity_curve", book):
        return withheld("the run sealed no daily ledger, which determines the sessions to show")
    if run.scan("equity_curve", book).filter(in_window(window)).head(1).collect().is_empty():
        return withheld(NO_SESSION)
    prices = read_benchmark(run, market_data, symbol, book, window)
    if not prices.dates.size:
        return withheld(f"the market data hold no price of {prices.symbol} in the sessions of the run")
    summary = prices.summary(from_previous=True)
    return {
        "symbol": prices.symbol,
        "columns": columns(prices.rows(from_previous=True).drop("close")),
        "summary": json_ready({**summary, "previous_date": prices.previous_date}),
    }


def names(run: Snapshot, book: str, window: Window) -> Content:
    """Return the best and worst names by P&L over the window, and the total."""
    if not run.has_rows("pnl", book):
        return withheld("the run sealed no profit and loss by name of this book")
    money = ("net_pnl", "market_pnl", "execution_cost", "borrow_cashflow")
    rows = run.scan("pnl", book).filter(in_window(window)).select("symbol", *money).collect()
    if rows.is_empty():
        return withheld(NO_SESSION)
    # Sum each name separately, because the last digits of grouped sums vary from call to call.
    sums = [
        {"symbol": part["symbol"][0], **{name: part[name].sum() for name in money}, "sessions": part.height}
        for part in rows.partition_by("symbol")
    ]
    by_name = pl.DataFrame(sums).sort("net_pnl", "symbol", descending=[True, False])
    return {
        "columns": columns(by_name),
        "best": by_name.filter(pl.col("net_pnl") > 0).head(TOP_NAMES).to_dicts(),
        "worst": by_name.filter(pl.col("net_pnl") < 0).tail(TOP_NAMES).reverse().to_dicts(),
        "total": {name: float(by_name[name].sum()) for name in money},
    }


def holdings(run: Snapshot, book: str, window: Window) -> Content:
    """Return the largest positions of a book at its last close with positions."""
    if not run.has_rows("positions", book):
        return withheld("the run sealed no positions of this book")
    positions = run.scan("positions", book).filter(in_window(window))
    rows = positions.filter(pl.col("date") == pl.col("date").max()).collect()
    if rows.is_empty():
        return withheld("the book held no position in the window")
    largest = rows.sort(pl.col("weight").abs(), "symbol", descending=[True, False]).head(2 * TOP_NAMES)
    return {
        "date": rows["date"][0].isoformat(),
        "count": rows.height,
        "largest": largest.select("symbol", "weight", "quantity", "mark_price").to_dicts(),
    }


def withheld(reason: str) -> Content:
    """Return the placeholder of a withheld part."""
    return {"withheld": reason}


def columns(rows: pl.DataFrame) -> dict[str, list[Any]]:
    """Return a frame as JSON-ready columns: days as text, NaN and infinite values as null."""
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    ready = rows.with_columns(cs.date().cast(pl.String), finite)
    return ready.to_dict(as_series=False)


def json_ready(figures: Content) -> Content:
    """Return figures with days as text."""
    return {
        key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in figures.items()
    }
