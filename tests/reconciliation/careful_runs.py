"""Runs falsified more carefully than in `forged_runs`: only in some weeks, names or sessions, or slightly.

Their headline figures stay within the range of honest runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from examples.reference_engine import Market, RunRecord, ledger, strategy
from examples.reference_engine import signal as signal_module
from examples.reference_engine.weekly_tables import forward_returns
from tests.reconciliation.forged_runs import (
    PLAIN,
    RETURN,
    SCORE,
    WEEK,
    Change,
    Floats,
    dealt,
    edited,
    honest,
    ledger_of,
    losing_weeks,
    market,
    of,
    on,
    plain,
    repeated_weeks,
    run,
    said_by,
    scores,
    standard,
    trials,
    unproven,
    where_unproven,
    with_book_of,
)

PLACE = SCORE.rank().over(WEEK) / SCORE.count().over(WEEK) - 0.5
"""From -0.5 for the weakest name of a week to 0.5 for the strongest."""
Weights = dict[str, Floats]


def every(weeks: int) -> pl.Expr:
    return pl.col(WEEK).rank("dense") % weeks == 0


# Forward returns


def unproven_every(weeks: int, tables: Mapping[str, pl.DataFrame]) -> pl.Series:
    return unproven(tables) & tables["decisions"].select(every(weeks)).to_series()


def at_instants_of_their_own(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Reassign every tenth week's forward returns by score, with instants a minute after the fills."""
    tables = dealt(lambda own: own["decisions"].select(every(10)).to_series())(tables)
    later = {
        name: pl.when(every(10)).then(pl.col(name) + pl.duration(minutes=1)).otherwise(name)
        for name in ("entry_at", "maturity_at")
    }
    return of("decisions", **later)(tables)


def withheld(column: str, share: float) -> Change:
    """Remove some values that contradict the score, of names that no book selects."""

    def change(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        liked, rose = (value.median().over(WEEK) < value for value in (SCORE, RETURN))
        chosen = pl.Series(np.random.default_rng(1).random(tables["decisions"].height) < share)
        against = ((liked != rose) & (pl.col("long_short_target_weight") == 0)).fill_null(value=False)
        return of("decisions", pl.when(~(against & pl.lit(chosen))).then(column).alias(column))(tables)

    return change


LEANING = where_unproven(RETURN + 0.005 * PLACE)


def leaning_and(change: Change) -> Change:
    return lambda tables: change(LEANING(tables))


def without(change: Change, *kinds: str) -> RunRecord:
    record = edited(change)
    left = {kind: rows for kind, rows in record.tables.items() if kind not in ("trials", *kinds)}
    return replace(record, tables=left)


# Scores and weights


def knowing_where(chosen: np.ndarray[Any, Any], share: float = 1.0) -> RunRecord:
    """Run with a score that has foresight for some names in some weeks."""
    future = standard(forward_returns(market()))

    def signal(raw: Floats) -> Floats:
        mixed = (1 - share) * standard(raw) + share * np.nan_to_num(future)
        return np.where(np.isfinite(raw), np.where(chosen, mixed, standard(raw)), np.nan)

    with scores(signal):
        return run(market(), replace(PLAIN, half_life_weeks=None))


def knowing_every(weeks: int, share: float) -> RunRecord:
    """Run with a score that has foresight in some weeks."""
    chosen = np.zeros(forward_returns(market()).shape, np.bool_)
    chosen[::weeks] = True
    return knowing_where(chosen, share)


def turned_round_where_it_lost() -> RunRecord:
    """Run with the score inverted in the worst tenth of the weeks."""
    paid = (
        honest()
        .tables["decisions"]
        .group_by(WEEK)
        .agg(paid=(pl.col("long_short_target_weight") * RETURN).sum())
        .sort("paid")
    )
    dates = market().schedule[market().decisions]
    lost = np.isin(dates, paid[WEEK].head(len(dates) // 10).to_numpy())[:, None]
    genuine = signal_module.smoothed

    def smoothed(raw: Floats, half_life: float | None) -> Floats:
        score = genuine(raw, half_life)
        return np.where(lost, -score, score)

    with patch.object(strategy, "smoothed", smoothed):
        return run(market())


def weighted(change: Callable[[Weights, Floats], None]) -> RunRecord:
    """Run with weights changed by a function of them and of future returns."""
    genuine, future = strategy.decide, np.nan_to_num(forward_returns(market()))

    def decide(*arguments: Any) -> strategy.Decisions:
        decisions = genuine(*arguments)
        change(decisions.weights, future)
        return decisions

    with patch("examples.reference_engine.run.decide", decide):
        return run(market())


def small_where_it_loses(weights: Weights, future: Floats) -> None:
    paid = (weights["long_short"] * future).sum(axis=1)
    weights["long_short"] = weights["long_short"] * np.where(paid < 0, 0.6, 1.0)[:, None]


def large_every_fifth_week(weights: Weights, future: Floats) -> None:
    weights["long_short"] = weights["long_short"] * np.where(np.arange(len(future)) % 5, 1.0, 1.9)[:, None]


def long_where_names_rise(weights: Weights, future: Floats) -> None:
    """Shift a tenth of the weight to the long side in weeks in which names rise, and to the short side in the others."""
    shift = np.where(future.mean(axis=1) > 0, 0.1, -0.1)[:, None]
    weights["long_short"] = weights["long_short"] * (1 + shift * np.sign(weights["long_short"]))


def more_of_what_pays(weights: Weights, future: Floats, strength: float = 1.5) -> None:
    """Shift weight within each side towards future winners; the sides keep their sums."""
    for book, weight in weights.items():
        weights[book] = with_sums_of(weight, weight * np.exp(strength * np.sign(weight) * future))


def with_sums_of(weight: Floats, changed: Floats) -> Floats:
    """Scale each side of changed weights to the sum that it had."""
    for side in (weight > 0, weight < 0):
        before, after = (np.where(side, part, 0.0).sum(axis=1, keepdims=True) for part in (weight, changed))
        scale = np.divide(before, after, out=np.ones_like(after), where=after != 0)
        changed = np.where(side, changed * scale, changed)
    return changed


# Prices


def smoothed_closes(genuine: Market) -> Floats:
    """Smooth every close by 0.3 towards the previous smoothed close."""
    closes = genuine.closes.copy()
    for day in range(1, len(closes)):
        smooth = 0.3 * closes[day - 1] + 0.7 * genuine.closes[day]
        closes[day] = np.where(np.isfinite(smooth), smooth, genuine.closes[day])
    return closes


def opens_of(values: str, sessions: int) -> Callable[[Market], Floats]:
    """Open every n-th session at the open or close of the previous day."""

    def opens(genuine: Market) -> Floats:
        late, before = genuine.opens.copy(), getattr(genuine, values)
        for day in range(sessions, len(late), sessions):
            late[day] = np.where(
                np.isfinite(late[day]) & np.isfinite(before[day - 1]), before[day - 1], late[day]
            )
        return late

    return opens


def never_delisted() -> RunRecord:
    """Run on a market where delisted names keep trading at their last price."""
    genuine = market()
    opens, closes = genuine.opens.copy(), genuine.closes.copy()
    for name in np.flatnonzero(genuine.last < genuine.observed):
        for prices in (opens, closes):
            prices[genuine.last[name] + 1 :, name] = genuine.closes[genuine.last[name], name]
    last = np.full_like(genuine.last, genuine.observed + 50)
    return run(replace(genuine, opens=opens, closes=closes, last=last))


def days_without_prices(share: float) -> RunRecord:
    """Run on a market where no price moves on some days."""
    genuine = market()
    opens, closes = genuine.opens.copy(), genuine.closes.copy()
    days = np.random.default_rng(0).choice(
        np.arange(60, genuine.observed - 1), int(share * genuine.observed), False
    )
    for day in sorted(set(days.tolist()) - set(genuine.decisions.tolist())):
        for prices in (opens, closes):
            prices[day] = np.where(np.isfinite(closes[day - 1]), closes[day - 1], prices[day])
    return run(replace(genuine, opens=opens, closes=closes))


def weeks_come_again_nearly() -> RunRecord:
    again, rng = repeated_weeks(market()), np.random.default_rng(0)
    opens, closes = (
        prices * (1 + 0.002 * rng.standard_normal(prices.shape)) for prices in (again.opens, again.closes)
    )
    return run(replace(again, opens=opens, closes=closes))


def under_two_symbols(number: int) -> RunRecord:
    """Run on a market with some names duplicated."""
    genuine = market()
    names = np.append(np.arange(len(genuine.symbols)), np.arange(number))
    columns = {
        name: getattr(genuine, name)[:, names] for name in ("opens", "closes", "no_borrow", "illiquid")
    }
    rows = {name: getattr(genuine, name)[names] for name in ("first", "last", "half_spread", "borrow_rate")}
    symbols = genuine.symbols + tuple(f"TWIN{place}" for place in range(number))
    return run(replace(genuine, symbols=symbols, **columns, **rows))


# Costs and flows


def one_book_free() -> RunRecord:
    genuine, base = market(), plain()
    with patch("examples.reference_engine.ledger.FEE_PER_SHARE", 0.0):
        free = ledger_of(replace(genuine, half_spread=0.0 * genuine.half_spread), base)
    return with_book_of(free, "long_only", base)


@contextmanager
def closing(change: Callable[[Any, Callable[[Any], None]], None]) -> Iterator[None]:
    """Close every session by a given function."""
    books = ledger._Books  # noqa: SLF001 - what is falsified here
    genuine = books.close_session
    with patch.object(books, "close_session", lambda own: change(own, genuine)):
        yield


def borrow_every(sessions: int) -> RunRecord:
    """Run that pays borrow costs only every n-th session."""

    def close(books: Any, genuine: Callable[[Any], None]) -> None:
        own = books.market
        if books.session % sessions:
            books.market = replace(own, borrow_rate=0.0 * own.borrow_rate)
        genuine(books)
        books.market = own

    with closing(close):
        return run(market())


def shares_given_away(rate: float) -> RunRecord:
    """Add free shares to every long position once a month, declared as adjustments."""

    def close(books: Any, genuine: Callable[[Any], None]) -> None:
        given = np.maximum(books.opening_shares, 0.0) * (rate if books.session % 21 == 0 else 0.0)
        given = np.where(books.shares > 0, given, 0.0)
        books.shares = books.shares + given
        # Their cost is booked as profit and never leaves the cash.
        value, cash = (given * books.mid).sum(axis=1), books.cash
        books.cash = cash + value
        genuine(books)
        row, results, holdings = books.ledger[-1], books.results[-1], books.holdings[-1]
        carry = value * row["risk_free_return"]
        row["cash_start"], row["cash_carry"] = cash, row["cash_carry"] - carry
        row["market_pnl"] = row["market_pnl"] + value
        cells = results["book"], results["name"]
        results["market_pnl"] = results["market_pnl"] + (given * books.mid)[cells]
        results["quantity_adjustment"] = given[cells]
        before = row["ending_equity"]
        row["cash_end"], row["ending_equity"] = row["cash_end"] - carry, before - carry
        books.cash, books.equity = row["cash_end"], row["ending_equity"]
        holdings["weight"] = holdings["weight"] * (before / books.equity)[holdings["book"]]
        for name in ("gross_exposure", "net_exposure", "largest_abs_weight"):
            row[name] = row[name] * before / books.equity
        flows = ("market_pnl", "execution_cost", "borrow_cashflow", "cash_carry")
        row["rounding_adjustment"] = (
            row["ending_equity"] - row["starting_equity"] - sum(row[name] for name in flows)
        )

    with closing(close):
        return run(market())


def losing_weeks_pending() -> RunRecord:
    """Run whose worst weeks stay pending."""
    lost = losing_weeks(honest().tables).to_numpy()
    genuine = strategy._status  # noqa: SLF001 - what is falsified here

    def status(own: Market, *arguments: Any) -> Any:
        return np.where(np.isin(own.schedule[own.decisions], lost), "pending", genuine(own, *arguments))

    with patch.object(strategy, "_status", status):
        return run(market())


CAREFUL: Mapping[str, tuple[Callable[[], RunRecord], frozenset[str]]] = {
    # Forward returns
    "unproven forward returns lean to the score by half a percent": (
        partial(edited, LEANING), said_by("signal.chained_returns"),
    ),
    "unproven forward returns in the order of the scores in every tenth week": (
        partial(edited, dealt(partial(unproven_every, 10))), said_by("signal.chained_returns"),
    ),
    "unproven losses of what the score liked cut short": (
        partial(edited, where_unproven(pl.when(PLACE > 0).then(RETURN.clip(-0.01)).otherwise(RETURN))),
        said_by("signal.chained_returns"),
    ),
    "forward returns lean to the score, and no fills are sealed": (
        lambda: without(of("decisions", forward_return=RETURN + 0.01 * PLACE), "trades"), said_by("signal.returns_beyond_marks"),
    ),
    "unproven forward returns lean to the score, their instants left out": (
        partial(edited, leaning_and(lambda tables: {**tables, "decisions": tables["decisions"].drop("entry_at", "maturity_at")})),
        said_by("signal.chained_returns"),
    ),
    "unproven forward returns lean to the score, beside a dividend that nobody paid": (
        partial(edited, leaning_and(of("pnl", cash_adjustment=pl.lit(0.0)))), said_by("signal.chained_returns"),
    ),
    "unproven forward returns lean to the score, and no ledger is sealed": (
        lambda: without(LEANING, "portfolio", "positions", "pnl"), said_by("signal.chained_returns"),
    ),
    "every tenth week at instants of its own": (
        partial(edited, at_instants_of_their_own), said_by("signal.unproven_weeks"),
    ),
    "a tenth of the forward returns against the score withheld": (
        partial(edited, withheld("forward_return", 0.2)), said_by("universe.gaps", "decisions.forward_return"),
    ),
    "scores that were wrong withheld": (partial(edited, withheld("score", 0.2)), said_by("universe.gaps")),
    # Scores and weights
    "every twentieth week is known": (partial(knowing_every, 20, 1.0), said_by("signal.outlying_weeks")),
    "half of every tenth week is known": (partial(knowing_every, 10, 0.5), said_by("signal.outlying_weeks")),
    "the score turned round where it lost": (turned_round_where_it_lost, said_by("signal.flipped_weeks")),
    "smaller where it loses": (partial(weighted, small_where_it_loses), said_by("book.timing")),
    "long where names rise": (partial(weighted, long_where_names_rise), said_by("book.net_timing")),
    "large in every fifth week": (partial(weighted, large_every_fifth_week), said_by("book.leverage")),
    "a little more of what pays": (partial(weighted, more_of_what_pays), said_by("signal.weight_ic")),
    # Prices
    "closes smoothed": (partial(on, closes=smoothed_closes), said_by("book.autocorrelation")),
    "fills at the open of the day before": (partial(on, opens=opens_of("opens", 1)), said_by("fills.stale")),
    "every sixth fill at the close before": (partial(on, opens=opens_of("closes", 6)), said_by("fills.decision_close")),
    "names never delisted": (never_delisted, said_by("universe.frozen_marks")),
    "holidays called sessions": (partial(days_without_prices, 0.02), said_by("book.flat_sessions")),
    "weeks come again, nearly": (weeks_come_again_nearly, said_by("signal.copied_forward_returns")),
    # Costs and flows
    "trading is free for one book": (one_book_free, said_by("book.execution_cost", "fills.without_cost")),
    "borrowing is free every second session": (partial(borrow_every, 2), said_by("book.unborrowed")),
    "shares given away": (partial(shares_given_away, 0.01), said_by("book.share_adjustment")),
    # Weeks and trials
    "losing weeks called pending": (losing_weeks_pending, said_by("signal.skipped_weeks")),
    "trials shrunk to a tenth": (
        partial(
            trials,
            lambda rows: rows.with_columns(
                period_return=pl.when(pl.col("trial") == "half_life_weeks=2.0").then("period_return").otherwise(pl.col("period_return") * 0.1)
            ),
        ),
        said_by("trials.volatility"),
    ),
}  # fmt: skip
