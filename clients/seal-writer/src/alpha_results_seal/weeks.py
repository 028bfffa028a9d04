"""Weekly decisions: the session that fills each, and the tables ``rebalances`` and ``decisions``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.book import Book
from alpha_results_seal.checks import typed
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import Days, Floats, Matrix
from alpha_results_seal.market import Market
from alpha_results_seal.plurals import counted

BOOKS = ("long_short", "long_only", "raw_long_short", "raw_long_only")
MIN_WEIGHT = 1e-12
"""Target weights below this are an optimiser's rounding errors, and count as 0."""

MIN_SPACED_DECISIONS = 4
MAX_DAYS_BETWEEN_DECISIONS = 10.0
"""Decisions needed to judge how often a run decides, and the median of weekly ones, as in the notice ``signal.frequency``."""


@dataclass
class Week:
    """One decision.

    Attributes
    ----------
    date
        Session that dates the decision.
    original_date
        Decision day of the weights; differs from `date` if that day is not a session.
    fill
        Index of the session that fills the decision; beyond the observed ones while it is pending.
    pending
        Whether that session is still to come.
    weights
        Book -> weights before :meth:`settle`, shape (N,); NaN for names without a weight.
    scores
        Shape (N,); NaN for names without a score.
    targets
        Book -> target weights of all names, shape (N,); 0 for names that cannot be traded.
    tradeable
        Shape (N,): whether each name can be traded.
    members
        Indices of the names in the cross-section.
    """

    date: dt.date
    original_date: dt.date
    fill: int
    pending: bool
    weights: dict[str, Floats]
    scores: Floats
    targets: dict[str, Floats] = field(default_factory=dict)
    tradeable: Any = None
    members: Any = None

    def settle(self, tradeable: Any, books: Mapping[str, Book]) -> None:
        """Zero the weights of untradeable names, and record the names of the decision: those weighted, scored or held."""
        self.tradeable = tradeable
        members = np.isfinite(self.scores)
        for name, weights in self.weights.items():
            target = np.where(tradeable & (np.abs(weights) >= MIN_WEIGHT), weights, 0.0)
            if name.endswith("long_only") and target.any():
                target /= target.sum()
            self.targets[name] = target
            members |= np.isfinite(weights) | (books[name].shares != 0)
        self.members = np.flatnonzero(members)


def read_weeks(targets: Mapping[str, Matrix], scores: Matrix | None, market: Market) -> list[Week]:
    """Combine the decisions of all books, and find the session that fills each.

    A decision on a day without a session is dated by the previous session. The market's names include those of targets and
    scores.

    Raises
    ------
    SealError
        If books decide on different days or twice a week, or weights break the rules of their book.
    """
    days, sessions = _common_days(targets), market.sessions
    if not days.size:
        raise SealError("weights have no day: give at least one decision.")
    dates = last_sessions(days, sessions)
    _require_weekly(days, dates, sessions[-1])
    weights = {name: part.on(days, market.symbols) for name, part in targets.items()}
    scored = np.full((len(days), len(market.symbols)), np.nan)
    if scores is not None:
        scored = scores.rows(np.isin(scores.days, days)).on(days, market.symbols)
    weeks = []
    for row, (day, date) in enumerate(zip(days, dates)):
        fill = int(np.searchsorted(sessions, date, side="right"))
        decided = {name: values[row] for name, values in weights.items()}
        for name, values in decided.items():
            _require_weights_of_book(name, values, day, market.symbols)
        weeks.append(Week(date.item(), day.item(), fill, fill >= market.observed, decided, scored[row]))
    for one, other in zip(weeks, weeks[1:]):
        if one.fill == other.fill and not other.pending:
            raise SealError(
                f"the decisions of {one.date} and {other.date} are both filled on {sessions[one.fill]}: leave out the "
                "first, or let the prices begin earlier."
            )
    return weeks


def delay_weeks(weeks: Sequence[Week], fills: pl.DataFrame, market: Market) -> None:
    """Delay the fills of all decisions by the number of sessions after which most decisions are first filled.

    Parameters
    ----------
    weeks
        The decisions.
    fills
        ``session`` and ``decision_at`` of the recorded fills.
    market
        Prices and sessions.
    """
    first = dict(fills.group_by("decision_at").agg(pl.col("session").min()).iter_rows())
    delays = [int(first[week.date]) - week.fill for week in weeks if week.date in first]
    usual = max(sorted(set(delays)), key=delays.count, default=0)
    for week in weeks:
        week.fill += usual
        week.pending = week.fill >= market.observed


def last_sessions(days: Days, sessions: Days) -> Days:
    """Return the last session on or before each day; the day itself before the first session."""
    place = np.searchsorted(sessions, days, side="right") - 1
    last: Days = np.where(place < 0, days, sessions[place])
    return last


def notes_on_weeks(weeks: Sequence[Week], market: Market, *, scored: bool) -> Iterator[str]:
    """Yield notes on decisions without scores, on days without a session or rarer than weekly, and on weights without prices.

    `scored` is whether scores were given.

    Raises
    ------
    SealError
        If scores were given, but none on the day of a decision for a name with weights, or no such name has prices.
    """
    # Shape (weeks, N): names with weights in any book.
    held = np.any([[np.abs(x) >= MIN_WEIGHT for x in week.weights.values()] for week in weeks], axis=1)
    has_score = held & np.array([np.isfinite(week.scores) for week in weeks])
    unscored = np.flatnonzero(held.any(axis=1) & ~has_score.any(axis=1))
    if not scored:
        yield "no scores were given: every score is null"
    elif unscored.size:
        lacking = f"no name with weights has a score, the first: {weeks[unscored[0]].original_date}"
        if not has_score.any():
            raise SealError(f"on every decision day {lacking}: compare the days and names of both frames.")
        yield f"on {unscored.size} of {len(weeks)} decision days {lacking}"
    moved = [week for week in weeks if week.original_date != week.date]
    if moved:
        yield (
            f"{len(moved)} of {len(weeks)} decisions are on days without a session and dated by the session before, the first: "
            f"{moved[0].original_date} as {moved[0].date}"
        )
    gaps = np.diff(np.array([week.date for week in weeks], "datetime64[D]")).astype(np.int64)
    if len(weeks) >= MIN_SPACED_DECISIONS and np.median(gaps) > MAX_DAYS_BETWEEN_DECISIONS:
        yield (
            f"half of the decisions are {np.median(gaps):g} days or more after the one before: weekly figures count decisions, so that "
            "icir is annualised by sqrt(52), and lags, horizons and half-lives are in decisions"
        )
    weighted = held.any(axis=0)
    unpriced = np.flatnonzero(weighted & ~np.isfinite(market.closes).any(axis=0))
    if unpriced.size:
        name = market.symbols[unpriced[0]]
        if unpriced.size == weighted.sum():
            raise SealError(
                f"no name with weights has prices, the first: {name!r}: compare the names of both frames."
            )
        names = counted(unpriced.size, "name with weights has", "names with weights have")
        yield f"{names} no prices and no trades, the first: {name}"


def rebalances_table(weeks: Sequence[Week]) -> pl.DataFrame:
    """Return one row per decision."""
    statuses = ["pending" if week.pending else "traded" for week in weeks]
    return typed("rebalances", pl.DataFrame({"date": [week.date for week in weeks], "week_status": statuses}))


def decisions_table(weeks: Sequence[Week], books: Mapping[str, Book], market: Market) -> pl.DataFrame:
    """Return one row per decision and name.

    Parameters
    ----------
    weeks, books, market
        The decisions, the resulting books, and the prices of their fills.
    """
    instants = market.fill_instants
    entries = [int(week.fill) for week in weeks]
    forward = _forward_returns(market.fill_prices, entries)
    raw = [name for name in books if name.startswith("raw_")]
    rows: list[dict[str, Any]] = []
    for number, week in enumerate(weeks):
        after = entries[number + 1] if number + 1 < len(weeks) else len(instants)
        filled: dict[bool, dict[str, dt.datetime]] = {True: {}, False: {}}
        for name, book in books.items():
            filled[name in raw].update(book.filled_on.get(week.date, {}))
        for at in week.members:
            symbol, free = market.symbols[at], bool(week.tradeable[at])
            row: dict[str, Any] = {"date": week.date, "symbol": symbol}
            row["score"] = float(week.scores[at]) if np.isfinite(week.scores[at]) else None
            for name in ("long_short", "long_only", *raw):
                row[f"{name}_target_weight"] = float(week.targets[name][at]) if name in week.targets else 0.0
            row["next_open_tradeable"] = free
            row["unavailability_reason"] = None if free else "data_gap"
            row["fill_at"] = filled[False].get(symbol)
            if raw:
                row["raw_fill_at"] = filled[True].get(symbol)
            row["entry_at"] = instants[week.fill] if week.fill < len(instants) else None
            row["maturity_at"] = instants[after] if after < len(instants) else None
            known = not week.pending and np.isfinite(forward[number, at])
            row["forward_return"] = float(forward[number, at]) if known else None
            rows.append(row)
    table = pl.DataFrame(rows or {"date": [], "symbol": []}, infer_schema_length=None)
    return typed("decisions", table)


def _forward_returns(prices: Floats, entries: Sequence[int]) -> Floats:
    """Return each name's return from its first bar after a decision to its first bar after the next; NaN if either is missing."""
    at_entry = np.full((len(entries), prices.shape[1]), np.nan)
    for number, entry in enumerate(entries):
        until = entries[number + 1] if number + 1 < len(entries) else len(prices)
        window = prices[entry:until]
        if len(window):
            bars = np.isfinite(window)
            at_entry[number] = np.where(
                bars.any(axis=0), window[bars.argmax(axis=0), np.arange(prices.shape[1])], np.nan
            )
    returns = np.full_like(at_entry, np.nan)
    returns[:-1] = at_entry[1:] / at_entry[:-1] - 1.0
    return returns


def _common_days(targets: Mapping[str, Matrix]) -> Days:
    """Return the common decision days of all books."""
    if not targets:
        raise SealError("weights name no book.")
    for name in targets:
        if name not in BOOKS:
            raise SealError(f"{name!r} is not a book of weights: name it one of {', '.join(BOOKS)}.")
    days = next(iter(targets.values())).days
    for name, part in targets.items():
        if not np.array_equal(part.days, days):
            raise SealError(f"the weights of {name} have other days than those of {next(iter(targets))}.")
    return days


def week_numbers(days: Days) -> Any:
    """Return the number of each day's week, Monday to Sunday."""
    return (days.astype("datetime64[D]").astype(np.int64) + 3) // 7


def _require_weekly(days: Days, dates: Days, last_session: Any) -> None:
    weeks = week_numbers(dates)
    twice = np.flatnonzero(weeks[1:] == weeks[:-1])
    if len(twice):
        one, other = (
            f"{days[at]}" + (f" (no session; dated {dates[at]})" if days[at] != dates[at] else "")
            for at in (twice[0], twice[0] + 1)
        )
        moved = days[twice[0] + 1]
        if moved > last_session:
            fix = f"the sessions end on {last_session}: extend the prices, or leave out decisions after that week"
        elif week_numbers(days)[twice[0]] != week_numbers(days)[twice[0] + 1]:
            fix = f"date {moved} by a session of its own week"
        else:
            fix = "give the weights of one day a week"
        raise SealError(
            f"{one} and {other} are decisions of one week, and a seal is of weekly decisions: {fix}."
        )


def _require_weights_of_book(name: str, weights: Floats, day: Any, symbols: tuple[str, ...]) -> None:
    if not name.endswith("long_only"):
        return
    total = float(np.nansum(weights))
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        raise SealError(
            f"{name} is short of {symbols[negative[0]]} on {day}: a book with shorts is long_short."
        )
    if total != 0 and abs(total - 1) > 1e-6:
        raise SealError(
            f"the {name} weights of {day} sum to {total:.6g}, and a long-only book is fully invested: scale them to 1, "
            "or call a book that keeps cash long_short."
        )
