"""Prices, fills and flows of a run, sampled for the notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import SESSIONS_PER_YEAR, Floats
from pipeline.notices.fills import Fills
from pipeline.notices.held_names import Holdings, sample_holdings
from pipeline.notices.ledger import Flows
from pipeline.notices.panel import NEVER, Span
from pipeline.notices.probe import MAX_DAYS, NO_SAMPLE, Sample, days_by_digest, period
from pipeline.notices.rows import BOOK_BITS, Symbols, expanded, place_in, select_rows, to_days
from pipeline.reconciliation.tables import FILLS, Tables, fill_instants
from schemas.notices import BASIS_POINTS
from schemas.notices.books import NEARLY_UNBORROWED
from schemas.tables.books import RAW_PREFIX, SETTLEMENTS, TRADE_ONLY_SUFFIXES, book_order
from schemas.tables.pnl import ADJUSTMENTS

_FILL: Final = ("quantity", "mid_price", "execution_cost")
_REASON: Final = "rebalance_adjustment_reason"
_GROWTH: Final = {"entry": 1.0, "weight_increase": 1.0, "weight_decrease": -1.0, "exit": -1.0}
"""Reason of a fill -> 1 if it adds to a position, -1 if it takes from one."""
_SAMPLED_FILLS: Final = 10_000
"""Sampled fills after which no further day is added."""
_PNL: Final = pl.col("market_pnl")
_CHANGED: Final = pl.col("quantity_adjustment") != 0
_CASH: Final = pl.col("cash_adjustment")
_SUMS: Final = {
    "cash_adjustment": (
        _CASH.sum(),
        _CASH.clip(lower_bound=0.0).sum().alias("cash_received"),
        (-_CASH).clip(lower_bound=0.0).sum().alias("cash_paid"),
        (_CASH > 0).sum().alias("receipts"),
    ),
    "quantity_adjustment": (
        _PNL.filter(_CHANGED).sum().alias("on_share_adjustments"),
        _CHANGED.sum().alias("changed"),
        (_PNL != 0).sum().alias("moved"),
        (_PNL**2).sum().alias("squares"),
    ),
}
"""Adjustment -> sums over the pnl of a book."""


@dataclass(frozen=True, slots=True)
class PanelRows:
    """Names and weeks whose prices are needed.

    Attributes
    ----------
    codes
        Number of each name.
    days
        Rebalance dates as days since 1970, ascending.
    entry, maturity
        From when to when each forward return runs, microseconds, shape (names, weeks); NEVER where that was not sealed.
    """

    codes: Integers
    days: Integers
    entry: Integers
    maturity: Integers


@dataclass(frozen=True, slots=True)
class Prices:
    """Samples of positions, fills and pnl.

    Attributes
    ----------
    marks, mids
        For the probe.
    fills, closes, holdings, flows
        As :class:`pipeline.notices.evidence.Evidence` has them.
    span, at_weeks
        Mids and marks of the panel of the cross-sections; None where the run sealed no fills, or no positions.
    """

    marks: Sample = NO_SAMPLE
    mids: Sample = NO_SAMPLE
    fills: Fills | None = None
    closes: tuple[Floats, Floats] | None = None
    holdings: Holdings | None = None
    flows: Mapping[str, Flows] = field(default_factory=dict)
    span: Span | None = None
    at_weeks: Floats | None = None


def sample_prices(tables: Tables, symbols: Symbols, panel: PanelRows) -> Prices:
    """Keep fills of some days beside the marks around them, the returns of some sessions, and the prices of a panel.

    Parameters
    ----------
    tables
        As of :func:`pipeline.notices.evidence.gather`.
    symbols
        Of these tables.
    panel
        Its names, weeks and sealed instants.
    """
    sessions, books = np.empty(0, np.int64), []
    if tables.has("portfolio"):
        sessions = np.unique(to_days(tables["portfolio"]["date"]))
        names = tables["portfolio"]["book"].unique()
        books = sorted(book for book in names if not book.startswith(RAW_PREFIX))
    held = tables.has("portfolio") and tables.has("positions")
    later = 1 + days_by_digest(sessions[1:])[:MAX_DAYS]
    sampled = np.sort(sessions[later])
    adjusted = _adjusted(tables)
    span = (
        _span(tables, symbols, sessions, panel, adjusted)
        if tables.has("trades") and panel.codes.size
        else None
    )
    if not held:
        return Prices(span=span)
    variants = [book + suffix for book in books for suffix in ("", *TRADE_ONLY_SUFFIXES)]
    fills = _fills(tables, variants) if tables.has("trades") and variants else None
    wanted = [sessions[later], sessions[later - 1], panel.days]
    if fills is not None:
        # A fill on no session or the first one has no close before it, and none is looked for on the day 0 days ahead.
        place = np.searchsorted(sessions, fills["day"])
        fills["before"], fills["earlier"] = (sessions[np.maximum(place - back, 0)] for back in (1, 2))
        wanted += [fills[name] for name in ("day", "before", "earlier", "decided")]
    days = np.unique(np.concatenate(wanted))
    marks = _marks(tables, symbols, books, days)
    now, then = (marks[np.searchsorted(days, sessions[places])] for places in (later, later - 1))
    chosen = symbols.first(np.asarray(np.isfinite(marks).any(axis=0)))
    periods = [period(sessions[place - 1], sessions[place]) for place in later]
    by_day = np.argsort(later)
    prices = Prices(
        marks=Sample.of(symbols.names(chosen), periods, (now[:, chosen] / then[:, chosen] - 1).T),
        closes=(now[by_day], then[by_day]),
        holdings=sample_holdings(tables, min(books, key=book_order, default=""), sessions, symbols),
        flows=_flows(tables, books, sampled) if tables.has("pnl") else {},
        span=span,
        at_weeks=marks[np.searchsorted(days, panel.days)][:, panel.codes].T,
    )
    if fills is None:
        return prices
    moments = ("earlier", "before", "day", "decided")
    with_marks = {name: marks[np.searchsorted(days, fills[name]), fills["code"]] for name in moments}
    return _with_fills(prices, fills, with_marks, variants, symbols)


def _with_fills(
    prices: Prices,
    fills: Mapping[str, Any],
    marks: Mapping[str, Floats],
    variants: list[str],
    symbols: Symbols,
) -> Prices:
    """Add the sampled fills with the marks of their names, and the probe's sample of some days."""
    day, before, code, mid = (fills[name] for name in ("day", "before", "code", "mid_price"))
    close_before = np.where(before < day, marks["before"], np.nan)
    with_marks = Fills(
        variants,
        fills["book"],
        code,
        np.sign(fills["quantity"]),
        fills["growth"],
        np.abs(fills["quantity"] * mid),
        mid,
        fills["execution_cost"] / np.abs(fills["quantity"] * mid) * BASIS_POINTS,
        np.where(fills["earlier"] < before, marks["earlier"], np.nan),
        close_before,
        marks["day"],
        marks["decided"],
    )
    different = np.unique(day)
    sampled = different[days_by_digest(different)[:MAX_DAYS]]
    order = np.argsort(sampled)
    place, among = place_in(day, sampled[order])
    table = np.full((symbols.width, sampled.size), np.nan)
    table[code[among], order[place[among]]] = (mid / close_before - 1)[among]
    before_day = dict(zip(day.tolist(), before.tolist(), strict=True))
    chosen = symbols.first(np.asarray(np.isfinite(table).any(axis=1)))
    periods = [period(before_day[one], one) for one in sampled.tolist()]
    return replace(prices, fills=with_marks, mids=Sample.of(symbols.names(chosen), periods, table[chosen]))


def _fills(tables: Tables, books: list[str]) -> dict[str, Any]:
    """Read the fills of the days that stand first by digest, by column.

    The columns are as sealed, with ``code`` of the symbol, the place of the ``book``, and its days ``day`` and ``decided``.
    """
    runs, rows = tables.runs("trades", FILLS), tables["trades"]
    own = runs.heads["book"].is_in(books).to_numpy()
    different, place = np.unique(to_days(runs.heads["timestamp"])[own], return_inverse=True)
    number = np.bincount(place, weights=runs.lengths[own], minlength=different.size)
    order = days_by_digest(different)
    enough = max(MAX_DAYS, 1 + int(np.searchsorted(np.cumsum(number[order]), _SAMPLED_FILLS)))
    some = select_rows(runs, books, "timestamp", np.sort(different[order[:enough]]))
    growth = rows[_REASON].gather(some.rows).replace_strict(_GROWTH, default=np.nan, return_dtype=pl.Float64)
    return {
        "code": tables.symbols("trades").codes[some.rows].astype(np.int64),
        "book": some.book,
        "day": some.day,
        "decided": to_days(runs.heads["decision_at"])[some.run],
        "growth": growth.to_numpy(),
        **{name: rows[name].to_numpy()[some.rows] for name in _FILL},
    }


def _span(tables: Tables, symbols: Symbols, sessions: Integers, panel: PanelRows, adjusted: Integers) -> Span:
    """Return the mids of a panel at the instants at which its forward returns begin and end, except the entries of adjusted names."""
    runs = tables.runs("trades", FILLS)
    entry, maturity = panel.entry, panel.maturity
    if sessions.size:
        weekly = _weekly_instants(runs.heads, sessions, panel)
        entry = np.where(entry == NEVER, weekly, entry)
        maturity = np.where(maturity == NEVER, np.append(weekly[1:], NEVER), maturity)
    instants = np.unique(np.concatenate([entry.ravel(), maturity.ravel()]))
    column, wanted = place_in(runs.heads["timestamp"].cast(pl.Int64).to_numpy(), instants)
    book = runs.heads["book"]
    # Raw books and settlements have no market.
    traded = ~(book.str.starts_with(RAW_PREFIX) | book.str.ends_with(SETTLEMENTS)).to_numpy()
    run, rows = expanded(runs, np.flatnonzero(traded & wanted))
    name = symbols.places(panel.codes)[tables.symbols("trades").codes[rows]]
    known = name >= 0
    mids = np.full((panel.codes.size, instants.size), np.nan)
    mids[name[known], column[run[known]]] = tables["trades"]["mid_price"].to_numpy()[rows[known]]
    names = np.arange(panel.codes.size)[:, np.newaxis]
    at_entry, at_maturity = (
        np.where(at == NEVER, np.nan, mids[names, np.searchsorted(instants, at)]) for at in (entry, maturity)
    )
    at_entry[np.isin(panel.codes, adjusted)] = np.nan
    return Span(entry, maturity, at_entry, at_maturity, bool(adjusted.size))


def _weekly_instants(heads: pl.DataFrame, sessions: Integers, panel: PanelRows) -> Integers:
    """Return the instant of the first session after each decision at which the books filled it; NEVER for none."""
    acted = fill_instants(heads, pl.Series(sessions, dtype=pl.Int32).cast(pl.Date))
    week, known = place_in(to_days(acted["date"]), panel.days)
    weekly = np.full(panel.days.size, NEVER)
    weekly[week[known]] = acted["at"].cast(pl.Int64).to_numpy()[known]
    return weekly


def _marks(tables: Tables, symbols: Symbols, books: list[str], days: Integers) -> Floats:
    """Return the marks of some days, shape (days, symbols), NaN if no book held the name."""
    some = select_rows(tables.runs("positions"), books, "date", days)
    marks = np.full((days.size, symbols.width), np.nan)
    at = np.searchsorted(days, some.day), tables.symbols("positions").codes[some.rows]
    marks[at] = tables["positions"]["mark_price"].to_numpy()[some.rows]
    return marks


def _adjusted(tables: Tables) -> Integers:
    """Return the numbers of the names with a split or a dividend."""
    adjustments = tables.present("pnl", ADJUSTMENTS)
    if not adjustments:
        return np.empty(0, np.int64)
    moved = tables["pnl"].select(pl.any_horizontal(pl.col(adjustments) != 0)).to_series().to_numpy()
    return np.unique(tables.symbols("pnl").codes[moved].astype(np.int64))


def _flows(tables: Tables, books: list[str], sampled: Integers) -> dict[str, Flows]:
    """Return the sums of the pnl of each book, and what its short positions on some days paid for their borrow."""
    positions, pnl = tables["positions"], tables["pnl"]
    held = select_rows(tables.runs("positions"), books, "date", sampled)
    quantity, price = (positions[name].to_numpy()[held.rows] for name in ("quantity", "mark_price"))
    sold = quantity < 0
    shorts, notional = held.cells(tables.symbols("positions").codes)[sold], (-quantity * price)[sold]
    earned = select_rows(tables.runs("pnl"), books, "date", sampled)
    cells = earned.cells(tables.symbols("pnl").codes)
    order = np.argsort(cells)
    place, known = place_in(shorts, cells[order])
    paid = np.zeros(shorts.size)
    paid[known] = -pnl["borrow_cashflow"].to_numpy()[earned.rows][order[place[known]]]
    unborrowed = paid * SESSIONS_PER_YEAR < NEARLY_UNBORROWED * notional
    book = shorts >> BOOK_BITS
    number, free = (np.bincount(some, minlength=len(books)) for some in (book, book[unborrowed]))
    sums = _sums(pnl)
    return {
        name: Flows(**sums.get(name, {}), shorts=int(number[place]), unborrowed=int(free[place]))
        for place, name in enumerate(books)
    }


def _sums(pnl: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return by book what adjustments of shares and cash brought it, as :class:`Flows` has it."""
    sums = [sum_ for name, own in _SUMS.items() if name in pnl.columns for sum_ in own]
    by_book = pnl.group_by("book").agg(sums)
    if "changed" in by_book.columns:
        deviation = (pl.col("squares") / pl.max_horizontal("moved", 1) * pl.col("changed")).sqrt()
        by_book = by_book.with_columns(chance_on_share_adjustments=deviation)
        by_book = by_book.drop("changed", "moved", "squares")
    return {row.pop("book"): row for row in by_book.iter_rows(named=True)}
