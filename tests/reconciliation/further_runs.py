"""Further falsifications, written after the thresholds were set, that make a bad alpha look good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from examples.reference_engine import Market, RunRecord, ledger, strategy
from examples.reference_engine import signal as signal_module
from examples.reference_engine.weekly_tables import forward_returns
from tests.reconciliation.careful_runs import (
    Weights,
    knowing_where,
    under_two_symbols,
    weighted,
    with_sums_of,
    without,
)
from tests.reconciliation.forged_runs import (
    PLAIN,
    RETURN,
    SCORE,
    WEEK,
    Change,
    Floats,
    booked,
    edited,
    filled_at,
    knowing,
    ledger_of,
    market,
    of,
    on,
    paid_as,
    plain,
    returns_by_name,
    run,
    said_by,
    scores,
    standard,
    unproven,
    where_unproven,
    with_book_of,
)

BY_NAME = np.arange(len(market().symbols))


# Scores


def knowing_of(names: np.ndarray[Any, Any], share: float = 1.0, weeks: slice = slice(None)) -> RunRecord:
    """Run with a score that has foresight for some names or weeks."""
    chosen = np.zeros(forward_returns(market()).shape, np.bool_)
    chosen[weeks, names] = True
    return knowing_where(chosen, share)


def standing_out(share: float) -> RunRecord:
    """Run with a score that knows some names each week, and lets them stand out."""
    future = standard(forward_returns(market()))
    chosen = (np.random.default_rng(4).random(future.shape) < share) & np.isfinite(future)

    def signal(raw: Floats) -> Floats:
        return np.where(np.isfinite(raw), np.where(chosen, 3 * future, standard(raw)), np.nan)

    with scores(signal):
        return run(market(), replace(PLAIN, signal="low_volatility", half_life_weeks=None))


def steady_and_knowing(share: float) -> RunRecord:
    """Run with a nearly constant score that only changes with foresight."""
    future = np.nan_to_num(standard(forward_returns(market())))

    def signal(raw: Floats) -> Floats:
        return np.where(np.isfinite(raw), (1 - share) * standard(raw) + share * future, np.nan)

    with scores(signal):
        return run(market(), replace(PLAIN, signal="low_volatility", half_life_weeks=None))


def other_names_each_week(share: float) -> RunRecord:
    return knowing_where(np.random.default_rng(3).random(forward_returns(market()).shape) < share)


def extremes_known() -> RunRecord:
    """Run with a score that has foresight for its extreme tenths."""
    future = np.nan_to_num(standard(forward_returns(market())))

    def signal(raw: Floats) -> Floats:
        score = standard(raw)
        wrong = (np.abs(score) > 1.2) & (np.sign(score) != np.sign(future))
        return np.where(wrong, 0.1 * score, score)

    with scores(signal):
        return run(market(), replace(PLAIN, half_life_weeks=None))


def days_ahead(days: int, kind: str = "reversal") -> RunRecord:
    """Run with a signal computed some sessions after the decision date."""
    genuine = signal_module.raw_signal

    def signal(kind: Any, closes: Floats, marks: Floats, first: Any, decisions: Any) -> Floats:
        return genuine(kind, closes, marks, first, np.minimum(decisions + days, len(closes) - 1))

    with patch.object(strategy, "raw_signal", signal):
        return run(market(), replace(PLAIN, signal=kind, half_life_weeks=None))  # type: ignore[arg-type]


# Selection and weights


def losers_untradeable(loss: float) -> RunRecord:
    """Run where the selected names that would lose most are declared untradeable."""
    genuine, future = strategy._unavailability, np.nan_to_num(forward_returns(market()))  # noqa: SLF001 - what is falsified
    side = strategy.decide(market(), PLAIN).weights["long_short"]

    def unavailability(own: Market) -> Any:
        return np.where(np.sign(side) * future < -loss, "halted", genuine(own))

    with patch.object(strategy, "_unavailability", unavailability):
        return run(market())


def passed_over(loss: float) -> RunRecord:
    """Run with books without future losers, the rest of the side scaled up."""

    def change(weights: Weights, future: Floats) -> None:
        for book, weight in weights.items():
            weights[book] = with_sums_of(weight, np.where(np.sign(weight) * future < -loss, 0.0, weight))

    return weighted(change)


def small_in_wild_weeks(weights: Weights, future: Floats) -> None:
    """Shrink the book by two fifths in the third of the weeks in which it earns or loses most."""
    paid = np.abs((weights["long_short"] * future).sum(axis=1))
    wild = paid > np.quantile(paid[paid > 0], 2 / 3)
    weights["long_short"] = weights["long_short"] * np.where(wild, 0.6, 1.0)[:, None]


def long_only_knows(strength: float) -> RunRecord:
    """Run with foresight in the weights of long_only; long_short is honest."""

    def change(weights: Weights, future: Floats) -> None:
        weight = weights["long_only"] * np.exp(strength * future)
        total = weight.sum(axis=1, keepdims=True)
        weights["long_only"] = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)

    return weighted(change)


# Prices


def best_of_the_day() -> RunRecord:
    """Fill at the better of open and close."""

    def price(genuine: Market, cell: tuple[int, int], quantity: float) -> float:
        better = min if quantity > 0 else max
        return better(float(genuine.opens[cell]), float(genuine.closes[cell]))

    return filled_at(price)


def prices_of_the_day_after(prices: str) -> Callable[[Market], Floats]:
    def later(genuine: Market) -> Floats:
        values = getattr(genuine, prices)
        ahead = np.vstack([values[1:], values[-1:]])
        return np.asarray(np.where(np.isfinite(values) & np.isfinite(ahead), ahead, values))

    return later


def held() -> Floats:
    """Return the honest run's side of each name at each close."""
    genuine = market()
    positions = plain().tables["positions"].filter(pl.col("book") == "long_short")
    day = {at: place for place, at in enumerate(genuine.schedule.tolist())}
    name = {symbol: place for place, symbol in enumerate(genuine.symbols)}
    side = np.zeros(genuine.closes.shape)
    for symbol, at, quantity in positions.select("symbol", "date", "quantity").iter_rows():
        side[day[at], name[symbol]] = np.sign(quantity)
    return side


def closes_in_favour(sessions: slice, share: float) -> RunRecord:
    """Mark positions slightly better on some sessions."""
    closes = market().closes.copy()
    closes[sessions] *= 1 + share * held()[sessions]
    return on(closes=lambda _: closes)


def losses_softened(beyond: float) -> RunRecord:
    """Limit daily losses of holdings, with prices continuing from there."""
    genuine, side = market(), held()
    growth = np.diff(np.log(genuine.marks), axis=0)
    excess = np.minimum(side[1:] * growth + beyond, 0.0) * side[1:]
    lifted = np.vstack([np.zeros(side.shape[1]), np.cumsum(np.nan_to_num(-excess), axis=0)])
    before = np.vstack([lifted[:1], lifted[:-1]])
    return on(opens=lambda m: m.opens * np.exp(before), closes=lambda m: m.closes * np.exp(lifted))


def losses_erased(beyond: float) -> RunRecord:
    """Let holdings keep their price in sessions of large losses, with prices continuing from there."""
    genuine, side = market(), held()[:-1]
    growth = np.nan_to_num(np.diff(np.log(genuine.marks), axis=0))
    added = np.where(side * growth < -beyond, -growth, 0.0)
    lifted = np.vstack([np.zeros(side.shape[1]), np.cumsum(added, axis=0)])
    before = np.vstack([lifted[:1], lifted[:-1]])
    return on(opens=lambda m: m.opens * np.exp(before), closes=lambda m: m.closes * np.exp(lifted))


def exits_before_losses(loss: float) -> RunRecord:
    """Exit positions at the open before large losses."""
    genuine = ledger._Books.adjust  # noqa: SLF001 - what is falsified here

    def adjust(books: Any) -> None:
        close = books.marks[books.session]
        loses = np.sign(books.shares) * (close / books.mid - 1) < -loss
        books.fill(
            np.where(loses & books.bars[books.session], 0.0, books.shares),
            variant="_adjustments", phase="close", change="exit", exit_reason="risk_exit",
        )  # fmt: skip
        genuine(books)

    with patch.object(ledger._Books, "adjust", adjust):  # noqa: SLF001
        return run(market())


# Costs, cash and rates


def nearly_free(share: float) -> RunRecord:
    """Run with a hundredth of the trading costs for some names."""
    free = share * BY_NAME.size > BY_NAME
    with patch("examples.reference_engine.ledger.FEE_PER_SHARE", 0.0):
        return on(half_spread=lambda m: np.where(free, 1e-7, m.half_spread))


def nearly_unborrowed() -> RunRecord:
    return on(borrow_rate=lambda m: np.where(BY_NAME % 2, 1e-6, m.borrow_rate))


def free_leverage(factor: float) -> RunRecord:
    """Run a leveraged long_only book with free debt."""

    def change(weights: Weights, _: Floats) -> None:
        weights["long_only"] = weights["long_only"] * factor

    def pay(row: dict[str, Any], *_: Any) -> Floats:
        refund = np.where(row["cash_start"] < 0, -row["cash_carry"], 0.0)
        row["cash_carry"] = row["cash_carry"] + refund
        return np.asarray(refund)

    with booked(pay):
        return weighted(change)


# Universe


def noisy_twins(number: int) -> RunRecord:
    """Run on a market with some names duplicated and scored slightly differently."""
    noise = np.random.default_rng(2)

    def signal(raw: Floats) -> Floats:
        return np.asarray(raw * (1 + 1e-4 * noise.standard_normal(raw.shape)))

    with scores(signal):
        return under_two_symbols(number)


def held_without_a_decision() -> RunRecord:
    """Run whose long_short also holds a name that rises by 4 bp a session, and that has no row in the decisions."""
    genuine, decided = market(), strategy.decide(market(), PLAIN)
    prices = 50 * np.exp(0.0004 * np.arange(genuine.observed))
    by_session = {"opens": prices, "closes": prices, "no_borrow": prices < 0, "illiquid": prices < 0}
    by_name = {"first": 0, "last": genuine.observed + 50, "half_spread": 0.0002, "borrow_rate": 0.004}
    wider = replace(
        genuine,
        symbols=(*genuine.symbols, "ZZZ"),
        **{name: np.column_stack([getattr(genuine, name), own]) for name, own in by_session.items()},
        **{name: np.append(getattr(genuine, name), own) for name, own in by_name.items()},
    )
    traded = decided.weights["long_short"].any(axis=1)
    weights = {
        book: np.column_stack([weight, 0.3 * traded * (book == "long_short")])
        for book, weight in decided.weights.items()
    }
    unavailable = np.column_stack([decided.unavailable, np.full(traded.size, "")])
    also = replace(decided, weights=weights, unavailable=unavailable)
    with patch("examples.reference_engine.run.decide", lambda *_: also):
        return run(wider)


# Forward returns


def better_maturity(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Measure unproven returns over one or two weeks, whichever suits the score, with matching maturity_at."""
    sign = (SCORE - SCORE.median().over(WEEK)).sign()
    longer = (1 + RETURN) * (1 + returns_by_name(-1)) - 1
    ends = pl.col("maturity_at").shift(-1).over("symbol", order_by=WEEK)
    better = pl.lit(unproven(tables)) & (sign * longer > sign * RETURN)
    decisions = tables["decisions"].with_columns(
        forward_return=pl.when(better.fill_null(value=False)).then(longer).otherwise(RETURN),
        maturity_at=pl.when(better.fill_null(value=False)).then(ends).otherwise("maturity_at"),
    )
    return {**tables, "decisions": decisions}


def nothing_where_wrong(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Set unproven returns to 0 where the score was wrong."""
    wrong = (SCORE.median().over(WEEK) < SCORE) != (RETURN > 0)
    return where_unproven(pl.when(wrong).then(0.0).otherwise(RETURN))(tables)


def in_every_week(change: pl.Expr, weeks: int) -> Change:
    return where_unproven(pl.when(pl.col(WEEK).rank("dense") % weeks == 0).then(change).otherwise(RETURN))


# Books


def last_weeks_pending(number: int) -> RunRecord:
    """Run whose last weeks are declared pending."""
    genuine = strategy._status  # noqa: SLF001 - what is falsified here

    def status(own: Market, *arguments: Any) -> Any:
        statuses = genuine(own, *arguments)
        statuses[-number:] = "pending"
        return statuses

    with patch.object(strategy, "_status", status):
        return run(market())


def one_book_bargains(share: float) -> RunRecord:
    """Fill only the long_only book below the market, at its own times."""
    genuine = market()
    moved = ledger_of(replace(genuine, opens=genuine.opens * (1 - share)), plain())
    return with_book_of(moved, "long_only", plain())


# Dividends and bounds


def with_dividends_of(dividend: float, *, beside_adjusted_prices: bool) -> RunRecord:
    """Let each name pay a dividend every 60 sessions, by which its prices fall unless they are adjusted for it."""
    genuine = market()
    session, name = np.indices(genuine.closes.shape)
    paying = (session + name) % 60 == 0
    level = np.cumprod(np.where(paying & (not beside_adjusted_prices), 1 - dividend, 1.0), axis=0)

    def pay(row: dict[str, Any], results: dict[str, Any], value: Floats) -> Floats:
        cash = dividend * value * paying[results["session"], results["name"]]
        results["market_pnl"] = results["market_pnl"] + cash
        results["cash_adjustment"] = cash
        money = np.bincount(results["book"], cash, minlength=row["starting_equity"].size)
        row["market_pnl"] = row["market_pnl"] + money
        return np.asarray(money)

    with booked(pay):
        return run(replace(genuine, opens=genuine.opens * level, closes=genuine.closes * level))


def with_dividends(sides: tuple[int, ...]) -> RunRecord:
    """Let each name pay a dividend every 60 sessions, which the long or the short positions receive or pay."""

    def pay(row: dict[str, Any], results: dict[str, Any], _: Floats) -> Floats:
        # Only short positions pay borrow costs.
        side = np.where(results["borrow_cashflow"] < 0, -1, 1)
        paying = (results["name"] + results["session"]) % 60 == 0
        held = paying & (results["market_pnl"] != 0) & np.isin(side, sides)
        cash = np.where(held, 0.00005 * side * row["starting_equity"][results["book"]], 0.0)
        results["market_pnl"] = results["market_pnl"] + cash
        results["cash_adjustment"] = cash
        money = np.bincount(results["book"], cash, minlength=row["starting_equity"].size)
        row["market_pnl"] = row["market_pnl"] + money
        return np.asarray(money)

    with booked(pay):
        return run(market())


def dividends_without_positions() -> RunRecord:
    """Run with profit from dividends, without the positions that receive them."""
    record = paid_as("cash_adjustment", 0.0005)
    return replace(record, tables={kind: rows for kind, rows in record.tables.items() if kind != "positions"})


def without_fills(forward_return: pl.Expr) -> RunRecord:
    """Falsify the forward returns, and seal no fills that contradict them."""
    return without(of("decisions", forward_return=forward_return), "trades")


def nth_of_week(place: int, *, highest: bool) -> pl.Expr:
    week = RETURN.top_k(place) if highest else RETURN.bottom_k(place)
    return (week.min() if highest else week.max()).over(WEEK)


FURTHER: dict[str, tuple[Callable[[], RunRecord], frozenset[str]]] = {
    "dividends for long positions alone": (partial(with_dividends, (1,)), said_by("book.unpaid_cash")),
    "dividends in adjusted prices and in cash": (
        partial(with_dividends_of, 0.015, beside_adjusted_prices=True),
        said_by("book.marks_on_payment"),
    ),
    "profit comes as dividends, and no positions are sealed": (
        dividends_without_positions,
        said_by("book.cash_adjustment"),
    ),
    "forward returns cut off at two bounds": (
        lambda: without_fills(RETURN.clip(-0.06, 0.06)),
        said_by("signal.repeated_returns"),
    ),
    "target weights in per cent, and no fills are sealed": (
        lambda: without(of("decisions", pl.col("long_short_target_weight") * 100), "trades"),
        said_by("book.target_size"),
    ),
    "target weights three quarters of the book, and no fills are sealed": (
        lambda: without(of("decisions", pl.col("long_short_target_weight") * 0.75), "trades"),
        said_by("book.target_size"),
    ),
    "forward returns half as large again": (
        lambda: without_fills(RETURN * 1.5),
        said_by("signal.return_size"),
    ),
    "forward returns of half a week": (lambda: without_fills(RETURN / 2), said_by("signal.return_size")),
    "losses of what the score likes cut off": (
        lambda: without_fills(pl.when(SCORE > 0).then(RETURN.clip(lower_bound=-0.03)).otherwise(RETURN)),
        said_by("signal.repeated_returns"),
    ),
    "the two highest and lowest forward returns of each week cut off": (
        lambda: without_fills(RETURN.clip(nth_of_week(3, highest=False), nth_of_week(3, highest=True))),
        said_by("signal.shared_extremes"),
    ),
    "five names are known": (partial(knowing_of, BY_NAME[:5]), said_by("signal.known_names")),
    "three names in a hundred are known, and stand out": (
        partial(standing_out, 0.03),
        said_by("signal.extremes"),
    ),
    "the last year is known": (
        partial(knowing_of, BY_NAME, 0.3, slice(52, None)),
        said_by("signal.mean_ic", "signal.icir"),
    ),
    "a tenth of the names is known, others each week": (
        partial(other_names_each_week, 0.1),
        said_by("signal.icir"),
    ),
    "a third of the names is known, others each week": (
        partial(other_names_each_week, 0.3),
        said_by("signal.mean_ic", "signal.newey_west_t"),
    ),
    "a steady score knows one part in twenty": (
        partial(steady_and_knowing, 0.05),
        said_by("signal.innovation_ic"),
    ),
    "the extremes of the score know whether they pay": (extremes_known, said_by("signal.icir")),
    "the signal is computed a session late": (
        partial(days_ahead, 1),
        said_by("signal.icir", "signal.returns_beyond_marks"),
    ),
    "the signal is computed three sessions late": (
        partial(days_ahead, 3),
        said_by("signal.mean_ic"),
    ),
    "a tenth knows the future": (partial(knowing, 0.1), said_by("signal.icir")),
    "what loses most called halted": (partial(losers_untradeable, 0.02), said_by("signal.weight_ic")),
    "what loses passed over": (partial(passed_over, 0.02), said_by("signal.weight_ic")),
    "the book is small in wild weeks": (
        partial(weighted, small_in_wild_weeks),
        said_by("book.risk_timing"),
    ),
    "long_only alone knows what pays": (partial(long_only_knows, 12.0), said_by("book.sharpe")),
    "long_only alone knows a little": (partial(long_only_knows, 4.0), said_by("signal.weight_ic")),
    "fills at the open or the close, whichever is better": (
        best_of_the_day,
        said_by("fills.price_improvement"),
    ),
    "marks of the day after": (lambda: on(closes=prices_of_the_day_after("closes")), said_by("fills.stale")),
    "the last close marked in favour": (
        partial(closes_in_favour, slice(-1, None), 0.03),
        said_by("book.last_session"),
    ),
    "losses of a day cut at two percent": (
        partial(losses_softened, 0.02),
        said_by("book.sharpe", "signal.mean_ic"),
    ),
    "large losses of a day erased": (partial(losses_erased, 0.045), said_by("book.missing_losses")),
    "exits at the open before the loss": (partial(exits_before_losses, 0.02), said_by("book.sharpe")),
    "trading half of the names is as good as free": (
        partial(nearly_free, 0.5),
        said_by("fills.without_cost"),
    ),
    "borrowing half of the names is as good as free": (nearly_unborrowed, said_by("book.unborrowed")),
    "a negative rate": (
        lambda: on(risk_free=lambda m: 0 * m.risk_free - 0.05 / 252),
        said_by("book.risk_free_rate"),
    ),
    "debt without interest": (partial(free_leverage, 1.8), said_by("decisions.long_only")),
    "a name that no decision covers rises every session": (
        held_without_a_decision,
        said_by("universe.undecided_names"),
    ),
    "twins scored a little otherwise": (partial(noisy_twins, 8), said_by("universe.twins")),
    "unproven returns over one week or two, whichever is better": (
        partial(edited, better_maturity),
        said_by("signal.icir"),
    ),
    "unproven returns are zero where the score was wrong": (
        partial(edited, nothing_where_wrong),
        said_by("signal.chained_returns"),
    ),
    "unproven returns clipped": (
        partial(edited, where_unproven(RETURN.clip(-0.03, 0.03))),
        said_by("signal.chained_returns"),
    ),
    "unproven returns of every tenth week lifted by score": (
        partial(
            edited,
            in_every_week(RETURN + 0.02 * (SCORE.rank().over(WEEK) / SCORE.count().over(WEEK) - 0.5), 10),
        ),
        said_by("signal.chained_returns"),
    ),
    "the last quarter called pending": (partial(last_weeks_pending, 12), said_by("signal.skipped_weeks")),
    "one book filled below the market": (partial(one_book_bargains, 0.002), said_by("trades.one_price")),
}
