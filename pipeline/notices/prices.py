"""Prices, fills and flows of a run, sampled for the notices: positions and pnl are read once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.fills import Fills
from pipeline.notices.held_names import HeldNames, Holdings
from pipeline.notices.ledger import Flows
from pipeline.notices.panel import Panel
from pipeline.notices.pnl import sample_pnl
from pipeline.notices.probe import MAX_DAYS, NO_SAMPLE, Sample, days_by_digest, period, usual_hour
from pipeline.notices.rows import (
    DAY_BITS,
    ReadColumns,
    Symbols,
    place_in,
    rows_of_ranges,
    select_rows,
    to_days,
)
from pipeline.notices.sampled_fills import sample_fills
from pipeline.reconciliation.tables import SESSION
from schemas.notices.notice import BASIS_POINTS
from schemas.tables.books import CONDITIONED_BOOKS, TRADE_ONLY_SUFFIXES, book_order, is_raw_book


@dataclass(frozen=True, slots=True)
class Prices:
    """Samples of positions, fills and pnl.

    Attributes
    ----------
    marks, mids
        Samples for the probe.
    fills
        Sample of the fills; None where the run sealed no fills or no positions.
    closes
        Marks at the close of some sessions, ascending, and at the close before each, shape (sessions, symbols), NaN where not
        held; None where the run sealed no positions.
    holdings
        Sampled names of long_short, or else of the first book, by session; None where the run sealed no positions.
    flows
        Book -> sums of its pnl.
    held
        Numbers of the names that a book other than a raw one held; None where the run sealed no positions.
    filled
        Fills of the decisions of one book, the one with most, other than a raw one.
    """

    marks: Sample = NO_SAMPLE
    mids: Sample = NO_SAMPLE
    fills: Fills | None = None
    closes: tuple[Floats, Floats] | None = None
    holdings: Holdings | None = None
    flows: Mapping[str, Flows] = field(default_factory=dict)
    held: Integers | None = None
    filled: int = 0


def sample_prices(
    tables: Mapping[str, Collection[str]], read: ReadColumns, symbols: Symbols, panel: Panel
) -> tuple[Prices, Panel]:
    """Sample fills of some days with the marks around them, and returns of some sessions; add the prices of a panel to it.

    Parameters
    ----------
    tables, read
        As in :func:`pipeline.notices.evidence.gather`.
    symbols
        Symbols numbered so far.
    panel
        Up to 64 names, week by week, without their prices.
    """
    sessions, books = np.empty(0, np.int64), []
    if "portfolio" in tables:
        (part,) = read("portfolio", ("book", "date"))
        sessions = np.unique(to_days(part["portfolio"]["date"]))
        names = part["portfolio"]["book"].unique()
        books = sorted(book for book in names if not is_raw_book(book))
    first_book = min(books, key=book_order, default="")
    has_positions = "portfolio" in tables and "positions" in tables
    variants = [book + suffix for book in books for suffix in ("", *TRADE_ONLY_SUFFIXES)]
    fills, filled = None, 0
    if "trades" in tables:
        fills, panel, filled = sample_fills(read, symbols, variants if has_positions else [], sessions, panel)
    sampled_at = 1 + days_by_digest(sessions[1:])[:MAX_DAYS]
    pnl = sample_pnl(
        tables.get("pnl", ()),
        read,
        symbols,
        books if has_positions else [],
        np.sort(sessions[sampled_at]),
        first_book=first_book,
    )
    if panel.span is not None and pnl.adjusted.size:
        adjusted = np.isin(panel.codes, pnl.adjusted)[:, np.newaxis]
        at_entry = np.where(adjusted, np.nan, panel.span.mid_at_entry)
        panel = replace(panel, span=replace(panel.span, mid_at_entry=at_entry, adjusted=True))
    if not has_positions:
        no_shorts = np.empty(0, np.int64), np.empty(0)
        flows = pnl.flows(books, *no_shorts) if "pnl" in tables else {}
        return Prices(flows=flows, filled=filled), panel
    following = sessions[np.minimum(np.searchsorted(sessions, panel.days, "right"), sessions.size - 1)]
    wanted = [sessions[sampled_at], sessions[sampled_at - 1], panel.days, following]
    if fills is not None:
        # Clamped: a fill on or before the first session has no earlier close, and `_with_fills` ignores the value.
        place = np.searchsorted(sessions, fills["day"])
        fills["before"], fills["earlier"] = (sessions[np.maximum(place - back, 0)] for back in (1, 2))
        wanted += [fills[name] for name in ("day", "before", "earlier", "decided")]
    days = np.unique(np.concatenate(wanted))
    held_names, ordered = HeldNames(first_book, sessions, symbols), np.sort(sampled_at)
    marks, shorts, held = _marks(read, books, days, (sessions[ordered - 1], sessions[ordered]), held_names)
    now, then = (marks[np.searchsorted(days, sessions[places])] for places in (sampled_at, sampled_at - 1))
    chosen = symbols.first(np.asarray(np.isfinite(marks).any(axis=0)))
    periods = [period(sessions[place - 1], sessions[place]) for place in sampled_at]
    by_day = np.argsort(sampled_at)
    holdings = held_names.holdings(pnl.received)
    at_weeks, after_fills = (
        marks[np.searchsorted(days, each)][:, panel.codes].T for each in (panel.days, following)
    )
    positions = None
    if holdings is not None and holdings.book == CONDITIONED_BOOKS[0]:
        positions = holdings.notional(panel.codes, panel.days)
    panel = replace(panel, marks=at_weeks, after_fills=after_fills, positions=positions)
    prices = Prices(
        marks=Sample.of(symbols.names(chosen), periods, (now[:, chosen] / then[:, chosen] - 1).T),
        closes=(now[by_day], then[by_day]),
        holdings=holdings,
        flows=pnl.flows(books, *shorts) if "pnl" in tables else {},
        held=held,
        filled=filled,
    )
    if fills is None:
        return prices, panel
    moments = ("earlier", "before", "day", "decided")
    with_marks = {name: marks[np.searchsorted(days, fills[name]), fills["code"]] for name in moments}
    side, mid, code, decided, fills["gain_day"] = fills["between"]
    mids = panel.span.mid_at_entry if panel.span is not None else np.full(at_weeks.shape, np.nan)
    entered = np.where(np.isnan(mids), at_weeks, mids)
    fills["gain"] = side * (panel.at(entered * (1 + panel.returns), code, decided) / mid - 1)
    return _with_fills(prices, fills, with_marks, variants, symbols), panel


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
        day,
        fills["gain"],
        fills["gain_day"],
    )
    distinct = np.unique(day)
    sampled = distinct[days_by_digest(distinct)[:MAX_DAYS]]
    place, among = place_in(day, sampled)
    table = np.full((symbols.width, sampled.size), np.nan)
    table[code[among], place[among]] = (mid / close_before - 1)[among]
    before_day = dict(zip(day.tolist(), before.tolist(), strict=True))
    chosen = symbols.first(np.asarray(np.isfinite(table).any(axis=1)))
    periods = [period(before_day[last], last) for last in sampled.tolist()]
    hours = np.array([[np.nan, usual_hour(fills["at"][day == last])] for last in sampled]).reshape(-1, 2)
    mids = Sample.of(symbols.names(chosen), periods, table[chosen], hours)
    return replace(prices, fills=with_marks, mids=mids)


def _marks(
    read: ReadColumns,
    books: list[str],
    days: Integers,
    sampled: tuple[Integers, Integers],
    held_names: HeldNames,
) -> tuple[Floats, tuple[Integers, Floats], Integers]:
    """Return the marks of some days, the short positions and all names held; add all positions to `held_names`.

    Parameters
    ----------
    sampled
        The session before each sampled day, and the sampled days, both ascending.

    Returns
    -------
    marks : Floats, shape (days, symbols)
        NaN if no book held the name.
    shorts : tuple of Integers and Floats
        Positions that are short at the close of a sampled day and at the close before, numbered by :meth:`BookRows.cells`, and
        their notionals. A name sold short on the day itself may cost nothing to borrow until the day after.
    held : Integers
        Numbers of the names that one of the books held at any close.
    """
    parts, shorts, symbols, held = [], [], held_names.symbols, set[int]()
    before, after = sampled
    for part in read("positions", (*SESSION, "symbol", "quantity", "mark_price")):
        positions, codes = part["positions"], symbols.codes(part.symbols("positions"))
        ranges = part.row_ranges("positions")
        held_names.add(ranges, codes, positions)
        rows = rows_of_ranges(ranges, np.flatnonzero(ranges.heads["book"].is_in(books).to_numpy()))[1]
        held.update(np.flatnonzero(np.bincount(codes[rows])).tolist())
        some = select_rows(ranges, books, "date", days)
        quantity, price = (positions[name].to_numpy()[some.rows] for name in ("quantity", "mark_price"))
        parts.append((some.day, codes[some.rows], price))
        sold = (quantity < 0) & (np.isin(some.day, before) | np.isin(some.day, after))
        shorts.append((some.cells(codes)[sold], some.day[sold].astype(np.int64), (-quantity * price)[sold]))
    marks = np.full((days.size, symbols.width), np.nan)
    for day, code, prices in parts:
        marks[np.searchsorted(days, day), code] = prices
    cells, day, notional = (np.concatenate(column) for column in zip(*shorts, strict=True))
    place, overnight = place_in(day, after)
    overnight &= np.isin(cells - ((day - before[place]) << DAY_BITS), cells)
    return marks, (cells[overnight], notional[overnight]), np.array(sorted(held), np.int64)
