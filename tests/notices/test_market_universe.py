"""Names left out of a run, or settled early, are judged by the market."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from examples.reference_engine import (
    Market,
    RunRecord,
    ledger,
    run_alpha,
    simulate_market,
    write_seal,
)
from examples.reference_engine.strategy import decide
from examples.reference_engine.weekly_tables import forward_returns
from pipeline.notices.market.left_out import judge_left_out
from pipeline.notices.market.price_file import read_prices
from pipeline.notices.market.unscored import judge_unscored
from tests.notices.beside_prices import (
    SPEC,
    given,
    outcomes_of,
    prices_of,
    run_of,
)


def stop_before_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let books close positions at the open of a session in which these lose more than 2%."""
    genuine = ledger._Books.adjust  # noqa: SLF001 - what is falsified

    def adjust(books: Any) -> None:
        loses = np.sign(books.shares) * (books.marks[books.session] / books.mid - 1) < -0.02
        books.fill(
            np.where(loses & books.bars[books.session], 0.0, books.shares),
            variant="_adjustments", phase="close", change="exit", exit_reason="risk_exit",
        )  # fmt: skip
        genuine(books)

    monkeypatch.setattr(ledger._Books, "adjust", adjust)  # noqa: SLF001


def test_positions_closed_before_the_market_moves_are_noticed(
    market: Market, prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_losses(monkeypatch)
    seal = write_seal(tmp_path / "seal", run_alpha(market, SPEC))
    outcome = outcomes_of(seal, prices)["market.foresight"]
    assert outcome.outcome == "notice"
    assert (outcome.value or 0.0) > 200
    assert given(seal, prices) == {"market.foresight"}


def test_names_left_out_give_the_same_figure_in_every_build(tmp_path: Path) -> None:
    market = simulate_market(909, 40, 200)
    prices = read_prices(str(prices_of(market, tmp_path)))
    rows = (
        run_alpha(market, replace(SPEC, signal="low_volatility"))
        .tables["decisions"]
        .select("symbol", "date", "score")
        .drop_nulls()
    )
    scored = rows.with_columns(pl.col("symbol").cast(prices.names))
    days, _ = prices.count(np.empty(0, np.int64))
    orders = (scored.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(20))
    (value,) = {judge_left_out(order, prices, days).value for order in orders}
    assert value is not None


@pytest.mark.parametrize(("known", "expected"), [(True, "notice"), (False, "pass")])
def test_names_left_out_before_they_lose_are_noticed(tmp_path: Path, known: bool, expected: str) -> None:
    """Some rows are left out: those whose return is to fall short of -6% on the side of the score the week before, or any."""
    market = simulate_market(12, 60, 80, skipped=False, pending=False)
    run = run_alpha(market, replace(SPEC, signal="momentum"))
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    rows = run.tables["decisions"].with_columns(side=side)
    lost = pl.col("side").shift(1).over("symbol", order_by="date") * pl.col("forward_return") < -0.06
    unheld = pl.col("long_short_target_weight") == 0
    chance = pl.Series(np.random.default_rng(2).random(rows.height) < 0.05)
    out = (lost if known else pl.lit(chance)) & unheld
    decisions = rows.filter(~out.fill_null(value=False)).drop("side")
    tables = {"decisions": decisions, "rebalances": run.tables["rebalances"]}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.left_out"]
    assert outcome.outcome == expected, outcome


@pytest.mark.parametrize("signal", ["momentum", "reversal"])
@pytest.mark.parametrize(("known", "expected"), [(True, "notice"), (False, "pass")])
def test_losers_left_out_of_the_universe_are_noticed(
    tmp_path: Path, signal: Any, known: bool, expected: str
) -> None:
    """Every tenth name has no row in any week: those on which the book would have lost most over the run, or any."""
    market, spec = simulate_market(11, 100, 160), replace(SPEC, signal=signal)
    gains = decide(market, spec).weights["long_short"] * np.nan_to_num(forward_returns(market))
    order = gains.sum(axis=0) if known else np.random.default_rng(2).random(100)
    kept = np.sort(order.argsort()[10:])
    by_name = ("first", "last", "half_spread", "borrow_rate")
    by_session = ("opens", "closes", "no_borrow", "illiquid")
    chosen = {name: getattr(market, name)[..., kept] for name in (*by_name, *by_session)}
    symbols = tuple(market.symbols[name] for name in kept)
    run = run_alpha(replace(market, symbols=symbols, **chosen), spec)
    tables = {kind: run.tables[kind] for kind in ("decisions", "rebalances")}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.unscored"]
    assert outcome.outcome == expected, outcome
    assert outcome.details["names"] == 10


def test_scores_that_prices_do_not_explain_say_nothing_of_other_names(market: Market, prices: Path) -> None:
    run = run_of(market)
    scores = pl.Series(np.random.default_rng(2).normal(0, 1, run.tables["decisions"].height))
    decisions = (
        run.tables["decisions"]
        .drop("forward_return")
        .with_columns(score=pl.when(pl.col("score").is_not_null()).then(scores))
    )
    market_prices = read_prices(str(prices))
    scored = decisions.select("symbol", "date", "score").drop_nulls()
    outcome = judge_unscored(scored.with_columns(pl.col("symbol").cast(market_prices.names)), market_prices)
    assert outcome.reason is not None
    assert outcome.reason.startswith("scores and changes of prices have a rank correlation of 0.")


def settled_before_the_end(market: Market) -> Market:
    """Let two names that are held end at session 250 for the run."""
    held = run_of(market).tables["positions"].filter(pl.col("date") == market.schedule[250])
    names = np.searchsorted(np.array(market.symbols), sorted(set(held["symbol"]))[:2])
    changed = {name: getattr(market, name).copy() for name in ("last", "opens", "closes")}
    changed["last"][names] = 250
    for column in ("opens", "closes"):
        changed[column][251:, names] = np.nan
    return replace(market, **changed)


@pytest.mark.parametrize(("share", "expected"), [(0.1, "notice"), (0.02, "pass"), (-0.1, "pass")])
def test_settlements_better_than_the_last_price_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, expected: str
) -> None:
    market, genuine = simulate_market(11, 100, 80), ledger._Books.settle_delisted  # noqa: SLF001 - what is falsified

    def settle(books: Any) -> None:
        delisted = books.market.last < books.session
        books.mid = np.where(delisted, books.mid * (1 + share * np.sign(books.shares.sum(axis=0))), books.mid)
        genuine(books)

    monkeypatch.setattr(ledger._Books, "settle_delisted", settle)  # noqa: SLF001
    seal = write_seal(tmp_path / "seal", run_alpha(market, replace(SPEC, signal="momentum")))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.settlements"]
    assert outcome.outcome == expected
    assert outcome.details["settlements"] > 2


def test_names_settled_while_the_market_goes_on_are_noticed(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    run = run_alpha(settled_before_the_end(market), SPEC)
    outcome = outcomes_of(write_seal(tmp_path / "seal", run), prices)["market.settlements"]
    assert (outcome.outcome, outcome.value) == ("notice", 2.0)
