"""Prices, fills and flows of a run, sampled for the notices: positions and pnl are read once, fills twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags, Floats
from pipeline.notices.fills import Fills
from pipeline.notices.held_names import HeldNames, Holdings
from pipeline.notices.ledger import Flows
from pipeline.notices.pnl import sample_pnl
from pipeline.notices.probe import MAX_DAYS, NO_SAMPLE, Sample, days_by_digest, period, usual_hour
from pipeline.notices.rows import (
    DAY_BITS,
    ReadColumns,
    Symbols,
    expanded,
    place_in,
    select_rows,
    to_days,
)
from pipeline.notices.spans import NEVER, Span
from pipeline.reconciliation.fills import FILLS, fill_instants
from pipeline.reconciliation.row_ranges import RowRanges
from pipeline.reconciliation.tables import SESSION
from schemas.notices.notice import BASIS_POINTS
from schemas.tables.books import (
    ADJUSTING,
    CONDITIONED_BOOKS,
    RAW_PREFIX,
    SETTLEMENTS,
    TRADE_ONLY_SUFFIXES,
    base_book,
    book_order,
    is_raw_book,
)

_FILL: Final = ("quantity", "mid_price", "execution_cost")
_REASON: Final = "rebalance_adjustment_reason"
_GROWTH: Final = {"entry": 1.0, "weight_increase": 1.0, "weight_decrease": -1.0, "exit": -1.0}
"""Reason of a fill -> 1 if it adds to a position, -1 if it takes from one."""
_SAME_PRICE: Final = 1e-9
"""Relative tolerance of the mids of a name at an instant, as in the rule trades.one_price."""
_SAMPLED_FILLS: Final = 10_000
"""Number of sampled fills at which no further day is added."""


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
        Start and end of each forward return, microseconds since 1970, shape (names, weeks); NEVER where not sealed.
    returns
        Forward returns, shape (names, weeks); NaN where missing.
    """

    codes: Integers
    days: Integers
    entry: Integers
    maturity: Integers
    returns: Floats

    def at(self, table: Floats, codes: Integers, days: Integers) -> Floats:
        """Return the values of names and rebalance dates in a table of shape (names, weeks); NaN for those that the panel lacks."""
        (name, known), (week, dated) = place_in(codes, self.codes), place_in(days, self.days)
        values = np.full(codes.size, np.nan)
        among = known & dated
        values[among] = table[name[among], week[among]]
        return values


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
    span, at_weeks, after_fills, positions
        Of the panel of the cross-sections, as :class:`pipeline.notices.panel.Panel` has them.
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
    span: Span | None = None
    at_weeks: Floats | None = None
    after_fills: Floats = field(default_factory=lambda: np.empty((0, 0)))
    positions: Floats | None = None
    held: Integers | None = None
    filled: int = 0


def sample_prices(
    tables: Mapping[str, Collection[str]], read: ReadColumns, symbols: Symbols, panel: PanelRows
) -> Prices:
    """Sample fills of some days with the marks around them, returns of some sessions, and the prices of a panel.

    Parameters
    ----------
    tables, read
        As in :func:`pipeline.notices.evidence.gather`.
    symbols
        Symbols numbered so far.
    panel
        Names, weeks and sealed instants of the panel.
    """
    sessions, books = np.empty(0, np.int64), []
    if "portfolio" in tables:
        (part,) = read("portfolio", ("book", "date"))
        sessions = np.unique(to_days(part["portfolio"]["date"]))
        names = part["portfolio"]["book"].unique()
        books = sorted(book for book in names if not is_raw_book(book))
    first_book = min(books, key=book_order, default="")
    held = "portfolio" in tables and "positions" in tables
    variants = [book + suffix for book in books for suffix in ("", *TRADE_ONLY_SUFFIXES)]
    fills, mids, span, filled = None, None, None, 0
    if "trades" in tables:
        fills, mids, filled = _fills(read, symbols, variants if held else [], sessions, panel)
    later = 1 + days_by_digest(sessions[1:])[:MAX_DAYS]
    pnl = sample_pnl(
        tables.get("pnl", ()),
        read,
        symbols,
        books if held else [],
        np.sort(sessions[later]),
        first_book=first_book,
    )
    if mids is not None and panel.codes.size:
        span = mids.span(np.isin(panel.codes, pnl.adjusted), adjusted=bool(pnl.adjusted.size))
    if not held:
        no_shorts = np.empty(0, np.int64), np.empty(0)
        flows = pnl.flows(books, *no_shorts) if "pnl" in tables else {}
        return Prices(span=span, flows=flows, filled=filled)
    following = sessions[np.minimum(np.searchsorted(sessions, panel.days, "right"), sessions.size - 1)]
    wanted = [sessions[later], sessions[later - 1], panel.days, following]
    if fills is not None:
        # Clamped: a fill on or before the first session has no earlier close, and `_with_fills` ignores the value.
        place = np.searchsorted(sessions, fills["day"])
        fills["before"], fills["earlier"] = (sessions[np.maximum(place - back, 0)] for back in (1, 2))
        wanted += [fills[name] for name in ("day", "before", "earlier", "decided")]
    days = np.unique(np.concatenate(wanted))
    held_names = HeldNames(first_book, sessions, symbols)
    ordered = np.sort(later)
    marks, shorts, all_held = _marks(
        read, books, days, (sessions[ordered - 1], sessions[ordered]), held_names
    )
    now, then = (marks[np.searchsorted(days, sessions[places])] for places in (later, later - 1))
    chosen = symbols.first(np.asarray(np.isfinite(marks).any(axis=0)))
    periods = [period(sessions[place - 1], sessions[place]) for place in later]
    by_day = np.argsort(later)
    holdings = held_names.holdings(pnl.received)
    at_weeks, after_fills = (
        marks[np.searchsorted(days, each)][:, panel.codes].T for each in (panel.days, following)
    )
    prices = Prices(
        marks=Sample.of(symbols.names(chosen), periods, (now[:, chosen] / then[:, chosen] - 1).T),
        closes=(now[by_day], then[by_day]),
        holdings=holdings,
        flows=pnl.flows(books, *shorts) if "pnl" in tables else {},
        span=span,
        at_weeks=at_weeks,
        after_fills=after_fills,
        positions=holdings.notional(panel.codes, panel.days)
        if holdings is not None and holdings.book == CONDITIONED_BOOKS[0]
        else None,
        held=all_held,
        filled=filled,
    )
    if fills is None:
        return prices
    moments = ("earlier", "before", "day", "decided")
    with_marks = {name: marks[np.searchsorted(days, fills[name]), fills["code"]] for name in moments}
    side, mid, code, decided, fills["gain_day"] = fills["between"]
    entered = at_weeks if span is None else np.where(np.isnan(span.mid_at_entry), at_weeks, span.mid_at_entry)
    fills["gain"] = side * (panel.at(entered * (1 + panel.returns), code, decided) / mid - 1)
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


def _fills(
    read: ReadColumns, symbols: Symbols, books: list[str], sessions: Integers, panel: PanelRows
) -> tuple[dict[str, Any] | None, _Mids, int]:
    """Read the fills of the days that come first by digest, column by column, and the mids of a panel; count the fills of decisions.

    The columns are as sealed, with the ``code`` of the symbol, the index of the ``book`` and the days ``day`` and ``decided``;
    ``between`` has those of :func:`_between_decisions`.
    """
    parts = [part.row_ranges("trades", FILLS) for part in read("trades", FILLS)]
    heads = pl.concat([ranges.heads for ranges in parts])
    lengths = np.concatenate([ranges.lengths for ranges in parts])
    own = heads["book"].is_in(books).to_numpy()
    distinct, place = np.unique(to_days(heads["timestamp"])[own], return_inverse=True)
    number = np.bincount(place, weights=lengths[own], minlength=distinct.size)
    by_book = heads.select("book", fills=lengths).group_by("book").sum()
    filled = max((fills for book, fills in by_book.iter_rows() if _decides(book)), default=0)
    order = days_by_digest(distinct)
    enough = max(MAX_DAYS, 1 + int(np.searchsorted(np.cumsum(number[order]), _SAMPLED_FILLS)))
    chosen = np.sort(distinct[order[:enough]])
    mids = _Mids(
        panel, _weekly_instants(heads, sessions, panel) if sessions.size and panel.days.size else None
    )
    first = _first_days(heads)
    sampled: list[list[Any]] = []
    between: list[list[Any]] = []
    for part in read("trades", (*FILLS, "symbol", *_FILL, _REASON)):
        ranges, rows = part.row_ranges("trades", FILLS), part["trades"]
        codes = symbols.codes(part.symbols("trades"))
        mids.add(ranges, codes, rows["mid_price"].to_numpy())
        if books:
            some = select_rows(ranges, books, "timestamp", chosen)
            decided = to_days(ranges.heads["decision_at"])[some.row_range]
            values = [rows[name].to_numpy()[some.rows] for name in _FILL]
            reason = rows[_REASON].gather(some.rows)
            growth = reason.replace_strict(_GROWTH, default=np.nan, return_dtype=pl.Float64).to_numpy()
            at = ranges.heads["timestamp"].cast(pl.Int64).to_numpy()[some.row_range]
            code = codes[some.rows].astype(np.int64)
            sampled.append([code, some.book, some.day, at, decided, growth, *values])
            between.append(_between_decisions(ranges, codes, rows, books, panel.codes, first=first))
    names = ("code", "book", "day", "at", "decided", "growth", *_FILL)
    if not books:
        return None, mids, filled
    columns, of_panel = (
        [np.concatenate(column) for column in zip(*parts, strict=True)] for parts in (sampled, between)
    )
    return dict(zip(names, columns, strict=True), between=of_panel), mids, filled


def _decides(book: str) -> bool:
    """Return whether fills of a book are those of its decisions, and visible to every reader."""
    return base_book(book) == book and not is_raw_book(book)


def _first_days(heads: pl.DataFrame) -> pl.DataFrame:
    """Return the ``first`` instant at which the books themselves filled each decision."""
    own = heads.filter(~pl.col("book").str.ends_with(ADJUSTING) & ~pl.col("book").str.ends_with(SETTLEMENTS))
    return own.group_by("decision_at").agg(first=pl.col("timestamp").min())


def _between_decisions(
    ranges: RowRanges,
    codes: NDArray[np.uint32],
    rows: pl.DataFrame,
    books: list[str],
    panel: Integers,
    *,
    first: pl.DataFrame,
) -> list[Any]:
    """Return side, mid, number of the name, day of the decision and day of some names' fills between decisions.

    They adjust a book, or are on a later day than the ``first`` fills of their decision.
    """
    book, later = pl.col("book"), pl.col("timestamp").dt.date() > pl.col("first").dt.date()
    chosen = book.is_in(books) & (book.str.ends_with(ADJUSTING) | later) & ~book.str.ends_with(SETTLEMENTS)
    heads = ranges.heads.join(first, on="decision_at", how="left", maintain_order="left")
    between = heads.select(chosen.fill_null(value=False)).to_series().arg_true().to_numpy()
    row_range, at = expanded(ranges, between)
    inside = np.isin(codes[at], panel)
    row_range, at = row_range[inside], at[inside]
    quantity, mid = (rows[name].to_numpy()[at] for name in ("quantity", "mid_price"))
    decided, day = (to_days(heads[name])[row_range] for name in ("decision_at", "timestamp"))
    return [np.sign(quantity), mid, codes[at].astype(np.int64), decided, day]


def _weekly_instants(heads: pl.DataFrame, sessions: Integers, panel: PanelRows) -> Integers:
    """Return, by week, the instant in the first session after the decision at which the books filled it; NEVER if none."""
    filled = fill_instants(heads, pl.Series(sessions, dtype=pl.Int32).cast(pl.Date))
    week, known = place_in(to_days(filled["date"]), panel.days)
    weekly = np.full(panel.days.size, NEVER)
    weekly[week[known]] = filled["at"].cast(pl.Int64).to_numpy()[known]
    return weekly


class _Mids:
    """Mids of a panel of names at the instants at which their forward returns begin and end.

    Parameters
    ----------
    panel
        Names, weeks and sealed instants of the panel.
    weekly
        Fill instant of each week, used where none is sealed; None where unknown.
    """

    def __init__(self, panel: PanelRows, weekly: Integers | None) -> None:
        self._entry, self._maturity = panel.entry, panel.maturity
        if weekly is not None:
            self._entry = np.where(panel.entry == NEVER, weekly, panel.entry)
            following = np.append(weekly[1:], NEVER)
            self._maturity = np.where(panel.maturity == NEVER, following, panel.maturity)
        self._instants = np.unique(np.concatenate([self._entry.ravel(), self._maturity.ravel()]))
        self._row = np.full(int(panel.codes.max(initial=0)) + 1, -1)
        self._row[panel.codes] = np.arange(panel.codes.size)
        self._mids = np.full((panel.codes.size, self._instants.size), np.nan)

    def add(self, ranges: RowRanges, codes: NDArray[np.uint32], prices: Floats) -> None:
        """Add fills, except those of raw books and settlements, which have no market."""
        if not self._mids.size:
            return
        column, wanted = place_in(ranges.heads["timestamp"].cast(pl.Int64).to_numpy(), self._instants)
        book = ranges.heads["book"]
        traded = ~(book.str.starts_with(RAW_PREFIX) | book.str.ends_with(SETTLEMENTS)).to_numpy()
        row_range, rows = expanded(ranges, np.flatnonzero(traded & wanted))
        inside = codes[rows] < self._row.size
        row_range, rows = row_range[inside], rows[inside]
        row = self._row[codes[rows]]
        known = row >= 0
        name, at, mids = row[known], column[row_range[known]], prices[rows[known]]
        before = self._mids[name, at]
        self._mids[name, at] = mids
        # Fills that represent a whole day may differ; as in the rule decisions.forward_return, they are no price at an instant.
        for other in (self._mids[name, at], before):
            differing = np.abs(other - mids) > _SAME_PRICE * mids
            self._mids[name[differing], at[differing]] = np.nan

    def span(self, left_out: Flags, *, adjusted: bool) -> Span:
        """Return the mids at entry and maturity; the entry mids of names `left_out` are NaN."""
        name = np.arange(self._entry.shape[0])[:, None]
        at_entry, at_maturity = (
            np.where(at == NEVER, np.nan, self._mids[name, np.searchsorted(self._instants, at)])
            for at in (self._entry, self._maturity)
        )
        at_entry[left_out] = np.nan
        return Span(self._entry, self._maturity, at_entry, at_maturity, adjusted)


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
        rows = expanded(ranges, np.flatnonzero(ranges.heads["book"].is_in(books).to_numpy()))[1]
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
