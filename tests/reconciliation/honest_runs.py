"""Honest runs, and those of unusual kinds with the notices that correctly apply to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from examples.reference_engine import AlphaSpec, RunRecord, ledger, run_alpha, simulate_market, strategy
from tests.reconciliation.careful_runs import (
    Weights,
    closing,
    weighted,
)
from tests.reconciliation.forged_runs import (
    PLAIN,
    RETURN,
    Floats,
    free_of_cost,
    honest,
    market,
    on,
    run,
    run_of,
    said_by,
    scores,
    standard,
    without_tables,
)
from tests.reconciliation.further_runs import BY_NAME, with_dividends, with_dividends_of, without_fills


def costing(factor: float) -> RunRecord:
    """Run with other spreads and borrow costs."""
    genuine = simulate_market(6, 40, 104)
    dear = replace(
        genuine, half_spread=genuine.half_spread * factor, borrow_rate=genuine.borrow_rate * factor
    )
    return run_alpha(dear, AlphaSpec("Test_honest", "reversal"))


HONEST: Mapping[str, Callable[[], RunRecord]] = {
    "momentum": honest,
    "momentum with ranks of its own, unsmoothed": partial(run_of, half_life_weeks=None, ranks=True),
    "reversal": partial(run_of, "reversal", half_life_weeks=1.0, tried=(2.0,)),
    "low volatility, smoothed for long": partial(run_of, "low_volatility", half_life_weeks=8.0),
    "few names": partial(run_of, names=24, weeks=60, seed=2),
    "many names that come and go": partial(run_of, names=100, weeks=112, seed=3),
    "a short run": partial(run_of, "reversal", weeks=12, seed=4),
    "a market without halts": lambda: run_alpha(
        simulate_market(9, 30, 60, pending=False, skipped=False), AlphaSpec("Test_honest", "momentum")
    ),
    "no raw signal, in dollars": partial(run_of, raw=False, equity_basis=1_000_000.0, seed=7),
    "dear to trade and to borrow": partial(costing, 3.0),
    "cheap to trade and to borrow": partial(costing, 0.4),
    "no fills": partial(without_tables, "trades"),
    "cross-sections alone": lambda: replace(
        without_tables("trades", "portfolio", "positions", "pnl"), metrics=None
    ),
}


def equal_weights(weights: Weights, _: Floats) -> None:
    for book, weight in weights.items():
        for side in (weight > 0, weight < 0):
            number = np.maximum(side.sum(axis=1, keepdims=True), 1)
            weights[book] = np.where(side, np.sign(weight) / number, weights[book])


def half_invested(weights: Weights, _: Floats) -> None:
    weights["long_short"] = 0.5 * weights["long_short"]


def cash_alone(weights: Weights, _: Floats) -> None:
    weights["long_short"] = np.zeros_like(weights["long_short"])


def sized_by_past_risk(weights: Weights, _: Floats) -> None:
    """Halve the book while market volatility is twice the usual."""
    genuine = market()
    returns = np.nanmean(np.diff(np.log(genuine.marks), axis=0), axis=1)
    past = np.array([returns[max(day - 20, 0) : day].std() for day in genuine.decisions])
    scale = np.clip(np.median(past) / past, 0.5, 1.0)[:, None]
    weights["long_short"] = scale * weights["long_short"]


def long_after_names_rose(weights: Weights, _: Floats) -> None:
    """Shift a tenth of the weight to the side that last week's mean return speaks for."""
    last = (
        np.nan_to_num(
            np.nanmean(market().marks[market().decisions] / market().marks[market().decisions - 5], axis=1)
        )
        - 1
    )
    shift = np.where(last > 0, 0.1, -0.1)[:, None]
    weights["long_short"] = weights["long_short"] * (1 + shift * np.sign(weights["long_short"]))


def by_sector() -> RunRecord:
    """Run with a sector-neutral book, which passes over some stronger names."""
    genuine = strategy.tail_weights

    def weights(scores_of_week: Floats) -> Floats:
        parts = [np.where(sector == BY_NAME % 4, scores_of_week, np.nan) for sector in range(4)]
        return np.asarray(sum(genuine(part) for part in parts) / 4)

    with patch.object(strategy, "tail_weights", weights):
        record = run(market())
    return replace(record, manifest={**record.manifest, "reconciliation": {"targets": "advisory"}})


def rebalanced_daily() -> RunRecord:
    """Run with books rebalanced to their weights daily."""

    def adjust(books: Any) -> None:
        can = books.bars[books.session] & (books.shares != 0)
        wanted = np.sign(books.shares) * books.target * books.equity[:, None] / books.mid
        books.fill(
            np.where(can, wanted, books.shares),
            variant="_adjustments", phase="rebalance", change=np.abs(wanted) > np.abs(books.shares),
        )  # fmt: skip

    with patch.object(ledger._Books, "adjust", adjust):  # noqa: SLF001 - another way to run the books
        return run(market())


def weeks_not_traded(number: int) -> RunRecord:
    """Run without trading in some weeks, chosen independently of returns."""
    genuine = market()
    illiquid = genuine.illiquid.copy()
    weeks = np.random.default_rng(5).choice(np.arange(20, len(genuine.decisions) - 1), number, False)
    illiquid[genuine.decisions[weeks]] = True
    return on(illiquid=lambda _: illiquid)


def in_few_steps() -> RunRecord:
    """Run with a score of few distinct values."""
    with scores(lambda raw: np.round(2 * standard(raw)) / 2):
        return run(market(), replace(PLAIN, half_life_weeks=None))


def borrowed_overnight() -> RunRecord:
    """Run that pays to borrow from the session after a sale."""

    def close(books: Any, genuine: Callable[[Any], None]) -> None:
        own = books.market
        carried = (books.opening_shares < 0) & (books.shares < 0)
        books.market = replace(own, borrow_rate=np.where(carried, own.borrow_rate, 0.0))
        genuine(books)
        books.market = own

    with closing(close):
        return run(market(), replace(PLAIN, signal="reversal", half_life_weeks=None))


def in_ten_weeks() -> RunRecord:
    """Run for ten weeks, in which more fills than usual happen to be better than the closes around them."""
    genuine = simulate_market(308, 24, 30, skipped=False)
    spec = replace(PLAIN, signal="reversal", half_life_weeks=None)
    return run_alpha(replace(genuine, decisions=genuine.decisions[-10:]), spec)


def turnover_by_weights_without_positions() -> RunRecord:
    """Run with turnover from weight changes, without the positions that prove it."""
    record = without_tables("positions")
    session = ["book", "date"]
    weights = honest().tables["positions"].pivot(on="symbol", index=session, values="weight")
    by_session = (
        record.tables["portfolio"].select(session).join(weights, on=session, how="left").fill_null(0.0)
    )
    names = [name for name in by_session.columns if name not in session]
    changes = [(pl.col(name) - pl.col(name).shift(1, fill_value=0.0).over("book")).abs() for name in names]
    turnover = by_session.select(turnover=0.5 * pl.sum_horizontal(changes))["turnover"]
    ledger = record.tables["portfolio"].with_columns(turnover)
    return replace(record, tables={**record.tables, "portfolio": ledger}, metrics=None)


UNUSUAL: dict[str, tuple[Callable[[], RunRecord], frozenset[str]]] = {
    "held for one week": (partial(run_of, "reversal", half_life_weeks=None), said_by()),
    "thirty names over four years": (partial(run_of, names=30, weeks=208, seed=13), said_by()),
    "ten weeks": (in_ten_weeks, said_by()),
    "four hundred names": (
        partial(run_of, "reversal", names=400, weeks=52, seed=121, half_life_weeks=1.0),
        said_by(),
    ),
    "half a year": (partial(run_of, "low_volatility", weeks=26, seed=14), said_by()),
    "rebalanced every day": (rebalanced_daily, said_by()),
    "turnover by weights, without positions": (turnover_by_weights_without_positions, said_by()),
    "equal weights": (partial(weighted, equal_weights), said_by()),
    "half of the equity invested": (partial(weighted, half_invested), said_by()),
    "no position in long_short": (partial(weighted, cash_alone), said_by()),
    "long after names rose": (partial(weighted, long_after_names_rose), said_by()),
    "sized by past risk": (partial(weighted, sized_by_past_risk), said_by()),
    "neutral in each sector": (by_sector, said_by()),
    "some weeks that could not be traded": (partial(weeks_not_traded, 3), said_by()),
    "a score of few values": (in_few_steps, said_by()),
    "forward returns rounded to basis points": (lambda: without_fills(RETURN.round(4)), said_by()),
    "dividends on both sides": (partial(with_dividends, (1, -1)), said_by()),
    "dividends by which prices fall": (
        partial(with_dividends_of, 0.015, beside_adjusted_prices=False),
        said_by(),
    ),
    "borrowing paid from the session after a sale": (borrowed_overnight, said_by()),
    "said to cost nothing": (free_of_cost, said_by("book.execution_cost")),
    "said to borrow for nothing": (
        lambda: on(borrow_rate=lambda m: 0 * m.borrow_rate),
        said_by("book.borrow"),
    ),
}
"""Name -> function that makes the run, and the notices that correctly apply to it."""
