"""Runs of the reference engine with one consistent falsification: no figure contradicts its table.

A forgery either changes the tables of an honest run, or is a run of the engine on a falsified market, with a falsified
signal or with falsified books, so that every identity holds. The run's own figures are left out or recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import polars as pl

from examples.reference_engine import (
    AlphaSpec,
    Market,
    RunRecord,
    ledger,
    run_alpha,
    simulate_market,
    strategy,
)
from examples.reference_engine import signal as signal_module
from examples.reference_engine.alpha import SignalName
from examples.reference_engine.own_metrics import own_metrics
from examples.reference_engine.sessions import week_ends
from examples.reference_engine.weekly_tables import forward_returns

Floats = npt.NDArray[np.float64]
Change = Callable[[dict[str, pl.DataFrame]], dict[str, pl.DataFrame]]

NAMES, WEEKS, SEED = 40, 104, 11
SPEC = AlphaSpec("Test_forged", "momentum", 2.0, tried=(1.0, 4.0))
PLAIN = replace(SPEC, raw=False, tried=())
RETURN, SCORE = pl.col("forward_return"), pl.col("score")
WEEK = "date"


@cache
def market() -> Market:
    return simulate_market(SEED, NAMES, WEEKS)


@cache
def honest() -> RunRecord:
    return run_alpha(market(), SPEC)


def edited(change: Change, run: Callable[[], RunRecord] = honest, **manifest: Any) -> RunRecord:
    """Return a run with changed tables and without its own figures."""
    record = run()
    return replace(
        record, tables=change(dict(record.tables)), manifest={**record.manifest, **manifest}, metrics=None
    )


def restated(record: RunRecord) -> RunRecord:
    """Recompute a run's own figures from its changed tables."""
    tables = record.tables
    return replace(
        record, metrics=own_metrics(tables["decisions"], tables["rebalances"], tables["portfolio"])
    )


def of(kind: str, *values: pl.Expr, **named: pl.Expr) -> Change:
    """Change columns of a table."""
    return lambda tables: {**tables, kind: tables[kind].with_columns(*values, **named)}


# Forward returns


def dealt_by_score(tables: Mapping[str, pl.DataFrame], rows: pl.Series) -> pl.DataFrame:
    """Reassign the forward returns of some rows in the order of their scores, week by week."""
    decisions = tables["decisions"].with_row_index("row")
    some = decisions.filter(
        rows & decisions["forward_return"].is_not_null() & decisions["score"].is_not_null()
    )
    by_score, by_return = some.sort(WEEK, "score"), some.sort(WEEK, "forward_return")
    dealt = pl.DataFrame({"row": by_score["row"], "dealt": by_return["forward_return"]})
    return (
        decisions.join(dealt, on="row", how="left", maintain_order="left")
        .with_columns(forward_return=pl.coalesce("dealt", RETURN))
        .drop("row", "dealt")
    )


def all_rows(tables: Mapping[str, pl.DataFrame]) -> pl.Series:
    return pl.repeat(True, tables["decisions"].height, eager=True)


def unproven(tables: Mapping[str, pl.DataFrame]) -> pl.Series:
    """Return the decisions whose forward return no two fills prove."""
    fills = tables["trades"].filter(~pl.col("book").str.ends_with("_settlements"))
    filled = {(name, at) for name, at in fills.select("symbol", "timestamp").iter_rows()}
    rows = tables["decisions"].select("symbol", "entry_at", "maturity_at").iter_rows()
    return pl.Series([(name, entry) not in filled or (name, end) not in filled for name, entry, end in rows])


def dealt(rows: Callable[[Mapping[str, pl.DataFrame]], pl.Series]) -> Change:
    return lambda tables: {**tables, "decisions": dealt_by_score(tables, rows(tables))}


def where_unproven(value: pl.Expr) -> Change:
    def change(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        rows = pl.lit(unproven(tables))
        return of("decisions", forward_return=pl.when(rows).then(value).otherwise(RETURN))(tables)

    return change


def returns_by_name(shift: int) -> pl.Expr:
    return RETURN.shift(shift).over("symbol", order_by=WEEK)


# Runs on another market, with another signal, with other books


def run(market: Market, spec: AlphaSpec = PLAIN) -> RunRecord:
    return replace(run_alpha(market, spec), metrics=None)


@cache
def plain() -> RunRecord:
    """Return the honest run without its raw signal; call it outside of any patch of the engine."""
    return run(market())


@contextmanager
def scores(signal: Callable[[Floats], Floats]) -> Iterator[None]:
    """Make the engine score by a function of the signal."""
    genuine = signal_module.raw_signal

    def forged(*arguments: Any) -> Floats:
        return signal(genuine(*arguments))

    with patch.object(strategy, "raw_signal", forged):
        yield


def knowing(share: float, *, ahead: int = 0, known: Callable[[], Market] = market) -> RunRecord:
    """Run with a score that mixes the signal with future returns."""
    future = forward_returns(known())
    future = np.vstack([future[ahead:], np.full((ahead, future.shape[1]), np.nan)])

    def signal(raw: Floats) -> Floats:
        mixed = (1 - share) * standard(raw) + share * np.nan_to_num(standard(future))
        return np.where(np.isfinite(raw), mixed, np.nan)

    with scores(signal):
        return run(known(), replace(PLAIN, half_life_weeks=None))


def raw_foresight() -> RunRecord:
    """Run with a raw signal with foresight and a delivered score from the genuine one."""
    future = standard(forward_returns(market()))
    genuine: list[Floats] = []

    def signal(raw: Floats) -> Floats:
        genuine.append(raw.copy())
        return np.where(np.isfinite(raw), 0.5 * standard(raw) + 0.5 * np.nan_to_num(future), np.nan)

    def smoothed(raw: Floats, half_life: float | None) -> Floats:
        return signal_module.smoothed(np.where(np.isfinite(raw), genuine[-1], np.nan), half_life)

    with scores(signal), patch.object(strategy, "smoothed", smoothed):
        return run(market(), replace(SPEC, tried=()))


def standard(values: Floats) -> Floats:
    """Standardise each week."""
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0).sum(axis=1, keepdims=True) / count
    spread = np.sqrt(np.where(known, (values - mean) ** 2, 0).sum(axis=1, keepdims=True) / count)
    return np.asarray(np.divide(values - mean, spread, out=np.full_like(values, np.nan), where=spread > 0))


@contextmanager
def booked(change: Callable[[dict[str, Any], dict[str, Any], Floats], Floats]) -> Iterator[None]:
    """Add money to the books at each close, with all consequences for equity.

    `change` receives the session's ledger row and its results by name, which it may modify, and the value of the position of each
    result at the close before; it returns the money by book.
    """
    books_of = ledger._Books  # noqa: SLF001 - what is falsified here
    genuine = books_of.close_session

    def close_session(books: Any) -> None:
        genuine(books)
        row, holdings, results = books.ledger[-1], books.holdings[-1], books.results[-1]
        before, name = row["ending_equity"].copy(), results["name"]
        value = books.opening_shares[results["book"], name] * books.before[name]
        books.cash = books.cash + change(row, results, value)
        books.equity = books.cash + row["position_value_end"]
        row["cash_end"], row["ending_equity"] = books.cash, books.equity
        for column in ("gross_exposure", "net_exposure", "largest_abs_weight"):
            row[column] = row[column] * before / books.equity
        holdings["weight"] = holdings["weight"] * (before / books.equity)[holdings["book"]]

    with patch.object(books_of, "close_session", close_session):
        yield


def paid_as(column: str, share: float) -> RunRecord:
    """Pay every book a share of its equity each session, as one flow of its ledger."""

    def pay(row: dict[str, Any], results: dict[str, Any], _: Floats) -> Floats:
        money = share * row["starting_equity"]
        if column == "cash_adjustment":
            # It is part of the names' P&L: the first name that each book holds gets it.
            held = np.zeros_like(results["market_pnl"])
            books_with, first = np.unique(results["book"], return_index=True)
            held[first] = money[books_with]
            money = np.where(np.isin(np.arange(money.size), books_with), money, 0.0)
            results["market_pnl"] = results["market_pnl"] + held
            results[column] = held
            row["market_pnl"] = row["market_pnl"] + money
        else:
            row[column] = row[column] + money
        if column == "cash_carry":
            row["risk_free_return"] = row[column] / row["cash_start"]
        return np.asarray(money)

    with booked(pay):
        record = run(market())
    if column != "rounding_adjustment":
        return record
    return replace(record, manifest={**record.manifest, "reconciliation": {"rounding": 0.01}})


def on(**changes: Any) -> RunRecord:
    """Run on a market with some arrays replaced by functions of the market."""
    genuine = market()
    return run(replace(genuine, **{name: value(genuine) for name, value in changes.items()}))


def free_of_cost() -> RunRecord:
    with patch("examples.reference_engine.ledger.FEE_PER_SHARE", 0.0):
        return on(half_spread=lambda m: 0.0 * m.half_spread)


def bargains(share: float) -> RunRecord:
    """Fill purchases below the market and sales above it, with all consequences."""
    return filled_at(lambda own, cell, quantity: own.opens[cell] * (1 - share * np.sign(quantity)))


def filled_at(price: Callable[[Market, tuple[int, int], float], float]) -> RunRecord:
    """Fill trades at a price computed from market, session, name and quantity."""
    genuine = market()
    fills = plain().tables["trades"].filter(pl.col("book") == "long_short")
    day = {at: place for place, at in enumerate(genuine.schedule.tolist())}
    name = {symbol: place for place, symbol in enumerate(genuine.symbols)}
    opens = genuine.opens.copy()
    for symbol, at, quantity in fills.select("symbol", pl.col("timestamp").dt.date(), "quantity").iter_rows():
        cell = day[at], name[symbol]
        opens[cell] = price(genuine, cell, quantity)
    return run(replace(genuine, opens=opens))


def every_second_mark_lifted(genuine: Market) -> Floats:
    return np.asarray(genuine.closes * np.where(np.arange(genuine.observed)[:, None] % 2, 1.01, 1.0))


def one_name_lifted(prices: str, step: float = 0.01, symbol: str = "SIM004") -> Callable[[Market], Floats]:
    """Inflate the prices of one name a little more each session."""

    def lifted(genuine: Market) -> Floats:
        values: Floats = getattr(genuine, prices).copy()
        values[:, genuine.symbols.index(symbol)] *= np.exp(step * np.arange(values.shape[0]))
        return values

    return lifted


def with_book_of(other: RunRecord, book: str, base: RunRecord) -> RunRecord:
    """Replace one book of a run by that of another run."""
    mine, theirs = pl.col("book").str.starts_with(book), base.tables
    tables = {
        kind: pl.concat([theirs[kind].filter(~mine), other.tables[kind].filter(mine)]).sort(
            theirs[kind].columns[:3] if kind == "positions" else ["book"], maintain_order=True
        )
        for kind in ("portfolio", "positions", "pnl", "trades")
    }
    return replace(base, tables={**theirs, **tables}, metrics=None)


def one_book_at(prices: str, factor: float) -> RunRecord:
    """Mark or fill one book at its own prices every second session, with the matching P&L."""
    genuine = market()
    values = getattr(genuine, prices) * np.where(np.arange(genuine.observed)[:, None] % 2, factor, 1.0)
    moved = ledger_of(replace(genuine, **{prices: values}), plain())
    return with_book_of(moved, "long_only", plain())


def ledger_of(moved: Market, base: RunRecord) -> RunRecord:
    """Run the books of one market with the decisions of another."""
    decided = strategy.decide(market(), PLAIN)
    books = {name: weights for name, weights in decided.weights.items() if not name.startswith("raw_")}
    made = ledger.run_books(moved, books, decided.status == "traded", decided.tradeable, PLAIN.equity_basis)
    tables = {kind: getattr(made, kind) for kind in ("portfolio", "positions", "pnl", "trades")}
    return replace(base, tables={**base.tables, **tables})


def repeated_weeks(genuine: Market) -> Market:
    """Return a market whose second half repeats the returns of the first."""
    half = len(genuine.decisions) // 2
    starts = np.append(genuine.decisions + 1, genuine.observed)
    opens, closes = genuine.opens.copy(), genuine.closes.copy()
    for week in range(half + 1, len(genuine.decisions) - 1):
        here, there = range(starts[week], starts[week + 1]), starts[week - half]
        before, then = closes[starts[week] - 1], genuine.marks[there - 1]
        factor = np.where(np.isfinite(before), before, genuine.marks[starts[week] - 1]) / then
        for place, session in enumerate(here):
            source = min(there + place, starts[week - half + 1] - 1)
            opens[session], closes[session] = genuine.opens[source] * factor, genuine.closes[source] * factor
    none = np.zeros_like(genuine.no_borrow)
    always = np.full_like(genuine.last, genuine.observed + 50)
    return replace(genuine, opens=opens, closes=closes, no_borrow=none, illiquid=none, last=always)


@cache
def wide_market() -> Market:
    return simulate_market(SEED, 100, 112)


def survivors() -> RunRecord:
    """Run only on names that survived from the first day to the last."""
    genuine = wide_market()
    stay = (genuine.last >= genuine.observed) & (genuine.first == 0)
    columns = {name: getattr(genuine, name)[:, stay] for name in ("opens", "closes", "no_borrow", "illiquid")}
    rows = {name: getattr(genuine, name)[stay] for name in ("first", "last", "half_spread", "borrow_rate")}
    symbols = tuple(np.array(genuine.symbols)[stay].tolist())
    return run(replace(genuine, symbols=symbols, **columns, **rows))


def every_day_a_session() -> RunRecord:
    """Run on an exchange without holidays and weekends."""
    genuine = market()
    days = genuine.schedule[0] + np.arange(genuine.schedule.size)
    ends = week_ends(days)
    # The number of sessions is the same, so there are fewer weeks.
    decisions = ends[(ends >= genuine.decisions[0]) & (ends < genuine.observed)]
    observed = int(decisions[-1]) + 1
    cut = {
        name: getattr(genuine, name)[:observed]
        for name in (
            "opens",
            "closes",
            "no_borrow",
            "illiquid",
            "risk_free",
            "benchmark",
            "benchmark_adjusted",
        )
    }
    return run(replace(genuine, schedule=days, decisions=decisions, **cut))


def sized(factor: float) -> RunRecord:
    """Run a long_short book of a tiny or huge fraction of equity."""
    genuine = strategy.decide

    def decide(*arguments: Any) -> strategy.Decisions:
        result = genuine(*arguments)
        result.weights["long_short"] = result.weights["long_short"] * factor
        return result

    with patch("examples.reference_engine.run.decide", decide):
        return run(market())


def stale() -> RunRecord:
    """Run on scores updated only every second week."""

    def signal(raw: Floats) -> Floats:
        kept = raw.copy()
        kept[1::2] = np.where(np.isfinite(raw[1::2]), raw[:-1:2][: len(raw[1::2])], np.nan)
        return kept

    with scores(signal):
        return run(market(), replace(PLAIN, half_life_weeks=None))


# Trials and figures


def trials(change: Callable[[pl.DataFrame], pl.DataFrame]) -> RunRecord:
    return edited(lambda tables: {**tables, "trials": change(tables["trials"])})


def stated(change: Callable[[dict[str, Any]], dict[str, Any]]) -> RunRecord:
    record = honest()
    assert record.metrics is not None
    return replace(record, metrics=[change(dict(entry)) for entry in record.metrics])


# Left out


def losing_weeks(tables: Mapping[str, pl.DataFrame]) -> pl.Series:
    """Return the worst traded weeks of the book."""
    weekly = (
        tables["decisions"]
        .group_by(WEEK)
        .agg(paid=(pl.col("long_short_target_weight") * RETURN).sum())
        .sort("paid")
    )
    traded = tables["rebalances"].filter(pl.col("week_status") == "traded")[WEEK]
    return weekly.filter(pl.col(WEEK).is_in(traded.implode()))[WEEK].head(8)


def losing_weeks_skipped(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    lost = pl.col(WEEK).is_in(losing_weeks(tables).implode())
    weeks = tables["rebalances"].with_columns(
        week_status=pl.when(lost).then(pl.lit("insufficient_scored_tradeable_names")).otherwise("week_status")
    )
    weights = [c for c in tables["decisions"].columns if c.endswith("target_weight")]
    emptied = {name: pl.when(lost).then(0.0).otherwise(name) for name in weights}
    none = {name: pl.when(~lost).then(name) for name in ("forward_return", "fill_at", "raw_fill_at")}
    return {**tables, "rebalances": weeks, "decisions": tables["decisions"].with_columns(**emptied, **none)}


def not_traded_in_losing_weeks() -> RunRecord:
    """Run without trading in the worst weeks."""
    genuine = market()
    days = losing_weeks(honest().tables).to_numpy()
    illiquid = genuine.illiquid.copy()
    illiquid[np.isin(genuine.schedule[: len(illiquid)], days)] = True
    return run(replace(genuine, illiquid=illiquid))


def losing_weeks_gone(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    kept = ~pl.col(WEEK).is_in(losing_weeks(tables).implode())
    return {**tables, **{kind: tables[kind].filter(kept) for kind in ("rebalances", "decisions")}}


def losing_sessions_gone(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    ledger_rows = tables["portfolio"].filter(pl.col("book") == "long_short")
    worst = ledger_rows.sort(pl.col("ending_equity") / pl.col("starting_equity")).head(10)["date"]
    kept = ~pl.col("date").is_in(worst.implode())
    return {**tables, **{kind: tables[kind].filter(kept) for kind in ("portfolio", "positions", "pnl")}}


def losing_names_gone(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Remove from each week names with high scores that fell."""
    liked = SCORE.median().over(WEEK) < SCORE
    return {
        **tables,
        "decisions": tables["decisions"].filter(~(liked & (RETURN < -0.02)).fill_null(value=False)),
    }


def unliked_returns_withheld(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Remove forward returns that contradict the score."""
    against = ((SCORE.median().over(WEEK) < SCORE) != (RETURN.median().over(WEEK) < RETURN)).fill_null(
        value=False
    )
    return of("decisions", forward_return=pl.when(~against).then(RETURN))(tables)


def said_by(*ids: str) -> frozenset[str]:
    return frozenset(ids)


RULE = "decisions.forward_return"


def at_other_instants(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Reassign the forward returns, with instants a minute after the fills."""
    later = [pl.col(name) + pl.duration(minutes=1) for name in ("entry_at", "maturity_at")]
    return of("decisions", *later)(dealt(all_rows)(tables))


FORGERIES: Mapping[str, tuple[Callable[[], RunRecord], frozenset[str]]] = {
    # Forward returns
    "forward returns in the order of the scores": (lambda: restated(edited(dealt(all_rows))), said_by(RULE)),
    "forward returns in the order of the scores, at instants without a fill": (
        partial(edited, at_other_instants),
        said_by("signal.forward_returns_proven"),
    ),
    "figures without a table": (
        lambda: replace(honest(), tables={}),
        said_by("figures.stated"),
    ),
    "forward returns shuffled": (
        partial(edited, of("decisions", RETURN.shuffle(1).over(WEEK))), said_by(RULE),
    ),
    "forward returns lifted": (partial(edited, of("decisions", RETURN + 0.01)), said_by(RULE)),
    "forward returns of the other sign": (partial(edited, of("decisions", -RETURN)), said_by(RULE)),
    "forward returns of the week before": (
        partial(edited, of("decisions", forward_return=returns_by_name(1))), said_by(RULE),
    ),
    "forward returns over two weeks": (
        partial(edited, of("decisions", forward_return=RETURN + returns_by_name(-1).fill_null(0.0))), said_by(RULE),
    ),
    "losses of what the score liked cut short": (
        partial(
            edited,
            of("decisions", forward_return=pl.when(pl.col("long_short_target_weight") > 0).then(RETURN.clip(-0.01)).otherwise(RETURN)),
        ),
        said_by(RULE),
    ),
    "forward returns that no fill proves in the order of the scores": (
        partial(edited, dealt(unproven)), said_by("signal.mean_ic", "signal.book_correlation"),
    ),
    "forward returns that no fill proves follow the score": (
        partial(edited, where_unproven(RETURN + 0.05 * (SCORE.rank().over(WEEK) / SCORE.count().over(WEEK) - 0.5))),
        said_by("signal.mean_ic", "signal.icir"),
    ),
    "forward returns that speak against the score withheld": (
        partial(edited, unliked_returns_withheld), said_by("signal.mean_ic", "decisions.forward_return"),
    ),
    # Scores
    "scores are the forward returns, the books are as they were": (
        partial(edited, of("decisions", score=pl.coalesce(RETURN, SCORE))),
        said_by("decisions.sides"),
    ),
    "scores are the forward returns, and the books follow": (
        partial(knowing, 1.0), said_by("signal.mean_ic", "book.sharpe"),
    ),
    "scores know a little of the forward returns": (partial(knowing, 0.3), said_by("signal.mean_ic", "signal.icir")),
    "scores know the week after the next": (
        lambda: edited(of("decisions", score=pl.coalesce(returns_by_name(-1), SCORE))), said_by("decisions.sides"),
    ),
    "raw scores are the forward returns, the raw books are as they were": (
        partial(edited, of("decisions", unsmoothed_score=pl.coalesce(RETURN, pl.col("unsmoothed_score")))),
        said_by("decisions.sides"),
    ),
    "raw scores know the forward returns, and the raw books follow": (
        raw_foresight, said_by("signal.raw_mean_ic"),
    ),
    # Money from nowhere
    "profit comes as carry": (partial(paid_as, "cash_carry", 0.0005), said_by("book.carry", "book.risk_free_rate")),
    "profit comes as rounding": (
        partial(paid_as, "rounding_adjustment", 0.0005), said_by("portfolio.rounding_total", "book.rounding"),
    ),
    "profit comes as dividends": (partial(paid_as, "cash_adjustment", 0.0005), said_by("book.cash_adjustment")),
    "lenders pay for being borrowed from": (
        partial(on, borrow_rate=lambda m: -5 * m.borrow_rate), said_by("portfolio.signs", "table.bound", "pnl.borrow", "book.borrow"),
    ),
    # Prices
    "fills at prices a little better": (partial(bargains, 0.005), said_by("fills.better_than_marks")),
    "fills at prices 0.2 % better": (partial(bargains, 0.002), said_by("fills.price_improvement")),
    "three times the positions": (partial(sized, 3.0), said_by("book.leverage")),
    "one book is marked at prices of its own": (partial(one_book_at, "closes", 1.002), said_by("positions.one_price")),
    "one book is filled at prices of its own": (partial(one_book_at, "opens", 0.998), said_by("trades.one_price")),
    "scores are a week old every second week": (stale, said_by("signal.copied_scores")),
    "weeks come again": (lambda: run(repeated_weeks(market())), said_by("signal.copied_forward_returns")),
    "names that survived": (survivors, said_by("universe.exits")),
    "every day a session": (every_day_a_session, said_by("book.sessions")),
    "hardly anything is at risk": (partial(sized, 0.01), said_by("book.drawdown", "book.carry")),
    "one name is lifted a little every session": (
        partial(on, opens=one_name_lifted("opens"), closes=one_name_lifted("closes")),
        said_by("book.sharpe", "signal.icir"),
    ),
    # Left out
    "a book in debt": (partial(sized, 40.0), said_by("decisions.target", "trades.cost")),
    "losing weeks called skipped": (partial(edited, losing_weeks_skipped), said_by("trades.decision")),
    "losing weeks not traded": (not_traded_in_losing_weeks, said_by("signal.skipped_weeks")),
    "losing weeks left out": (partial(edited, losing_weeks_gone), said_by("trades.decision")),
    "losing sessions left out": (
        partial(edited, losing_sessions_gone), said_by("portfolio.continuity", "trades.session"),
    ),
    "names that fell left out": (
        partial(edited, losing_names_gone), said_by("signal.mean_ic", "decisions.target"),
    ),
    # Trials and figures
    "trials without the run itself": (
        partial(trials, lambda rows: rows.filter(pl.col("trial") != "half_life_weeks=2.0")), said_by("trials.own"),
    ),
    "returns of the trials are not the run's": (
        partial(trials, lambda rows: rows.with_columns(pl.col("period_return") * 0.5)), said_by("trials.own"),
    ),
}  # fmt: skip


def run_of(
    signal: SignalName = "momentum", *, names: int = 40, weeks: int = 104, seed: int = 5, **spec: Any
) -> RunRecord:
    """Run the engine as it is."""
    return run_alpha(simulate_market(seed, names, weeks), AlphaSpec("Test_honest", signal, **spec))


def without_tables(*kinds: str) -> RunRecord:
    record = run_of()
    return replace(record, tables={kind: rows for kind, rows in record.tables.items() if kind not in kinds})
