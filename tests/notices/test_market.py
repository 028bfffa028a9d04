"""Runs falsified consistently in every table, checked against a file of the market's own prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from examples.reference_engine import (
    Market,
    ledger,
    run_alpha,
    write_seal,
)
from tests.notices.beside_prices import (
    NEEDING_MORE,
    SPEC,
    given,
    lifted,
    outcomes_of,
    prices_of,
    run_of,
    seal_of,
    unmet,
    with_paths,
)
from tests.support.seals import rewrite


def test_an_honest_run_agrees_with_its_market(market: Market, prices: Path, tmp_path: Path) -> None:
    outcomes = outcomes_of(seal_of(market, tmp_path), prices)
    assert unmet(outcomes) <= NEEDING_MORE, outcomes
    # These two are of the moves of honest prices, the others of differences from them.
    moves = {id_: outcomes.pop(id_) for id_ in ("market.foresight", "market.left_out")}
    assert all(outcome.outcome != "notice" for outcome in moves.values())
    assert all(abs(outcome.value or 0.0) < 1e-6 for outcome in outcomes.values()), outcomes
    assert outcomes["market.forward_returns"].details["cells"] > 2_000
    assert outcomes["market.prices"].details["cells"] > 1_500
    assert outcomes["market.sessions"].details["sessions"] > 300
    assert len(outcomes["market.prices"].details["prices"]) == 64


@pytest.mark.parametrize("adjusted", [True, False])
def test_splits_levels_and_dividends_of_either_side_do_not_matter(
    market: Market, tmp_path: Path, adjusted: bool
) -> None:
    """The run's prices are adjusted for a split and for quarterly dividends; the file's closes are not."""
    quarter = np.arange(market.observed)[:, None] // 63
    dividends = 1.004 ** (quarter + np.arange(len(market.symbols)) % 2)
    split = np.where(np.arange(market.observed)[:, None] < 200, 2.0, 1.0)
    unadjusted = with_paths(market, dividends**-1 * (split if adjusted else 1.0))
    columns = {"adj_close": market.closes * 3} if adjusted else {}
    result = outcomes_of(seal_of(market, tmp_path), prices_of(unadjusted, tmp_path / "prices", **columns))
    assert unmet(result) <= NEEDING_MORE, result


def forged(market: Market) -> Market:
    """Let one name out of four follow another path."""
    noise = np.random.default_rng(1).normal(0.0, 0.02, market.closes.shape)
    noise[:, np.arange(len(market.symbols)) % 4 > 0] = 0.0
    return with_paths(market, np.exp(np.cumsum(noise, axis=0)))


def eased(market: Market) -> Market:
    """Let every name that long_short holds overnight move by 2 bp in its favour."""
    positions = run_alpha(market, SPEC).tables["positions"].filter(pl.col("book") == "long_short")
    session = np.searchsorted(market.schedule, positions["date"].to_numpy())
    name = np.searchsorted(np.array(market.symbols), positions["symbol"].to_numpy().astype(str))
    side = np.zeros((market.observed + 1, len(market.symbols)))
    side[session + 1, name] = np.sign(positions["quantity"].to_numpy())
    return with_paths(market, np.exp(0.0002 * np.cumsum(side[:-1], axis=0)))


def split_undeclared(market: Market) -> Market:
    """Double all prices from one session on."""
    return with_paths(market, np.where(np.arange(market.observed)[:, None] < 200, 1.0, 2.0))


def without_a_month(market: Market, *, closed_up: bool) -> Market:
    """Cut four weeks out, and give the later sessions the days of the earlier ones to close the gap."""
    first, last = market.decisions[40] + 1, market.decisions[44] + 1
    kept = np.ones(market.schedule.size, np.bool_)
    kept[first:last] = False
    place = np.cumsum(kept) - 1
    seen = kept[: market.observed]
    listed = np.minimum(market.last, market.schedule.size - 1)
    by_session = ("opens", "closes", "no_borrow", "illiquid", "risk_free", "benchmark", "benchmark_adjusted")
    return replace(
        market,
        schedule=market.schedule[: kept.sum()] if closed_up else market.schedule[kept],
        decisions=place[market.decisions[kept[market.decisions]]],
        first=place[market.first],
        last=np.where(market.last < market.observed, place[listed], market.last),
        **{name: getattr(market, name)[seen] for name in by_session},
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (forged, {"market.prices", "market.one_name", "market.drift", "market.forward_returns"}),
        (lifted, {"market.drift"}),
        (eased, {"market.ratio"}),
        (split_undeclared, {"market.jumps"}),
        (lambda market: without_a_month(market, closed_up=False), {"market.sessions"}),
        (
            lambda market: without_a_month(market, closed_up=True),
            {"market.prices", "market.one_name", "market.drift", "market.forward_returns"},
        ),
    ],
    ids=["another path", "a lift", "eased", "a split", "a month less", "a month less, days closed up"],
)
def test_a_false_market_is_contradicted(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[Market], Market],
    expected: set[str],
) -> None:
    assert expected <= given(seal_of(change(market), tmp_path), prices)


def not_held() -> pl.Expr:
    weights = pl.col("long_short_target_weight", "long_only_target_weight")
    return pl.all_horizontal(weights == 0) & pl.col("forward_return").is_not_null()


def clipped(frame: pl.DataFrame) -> pl.DataFrame:
    returns = pl.when(not_held()).then(pl.col("forward_return").clip(lower_bound=-0.06))
    return frame.with_columns(forward_return=returns.otherwise("forward_return"))


def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
    some = frame.filter(not_held()).with_columns(
        pl.col("forward_return").shift(3).over("date", order_by="symbol")
    )
    return pl.concat([frame.filter(~not_held()), some]).sort("date", "symbol")


def biased(frame: pl.DataFrame) -> pl.DataFrame:
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    shift = pl.when(not_held()).then(0.001 * side).otherwise(0.0).fill_null(0.0)
    return frame.with_columns(pl.col("forward_return") + shift)


def lifted_by_20_bp(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("forward_return") + 0.002)


def logarithms(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("forward_return").log1p())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (clipped, {"market.forward_returns"}),
        (shuffled, {"market.forward_returns"}),
        (biased, {"market.forward_bias"}),
        (lifted_by_20_bp, {"market.forward_drift"}),
        (logarithms, {"market.forward_returns", "market.forward_drift"}),
    ],
)
def test_forward_returns_of_names_that_no_book_holds_are_compared(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    expected: set[str],
) -> None:
    seal = rewrite(seal_of(market, tmp_path, trades=False), "decisions", change)
    assert given(seal, prices) == expected


def test_mids_slightly_better_than_the_market_are_noticed(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    trades = run_of(market).tables["trades"].filter(pl.col("book") == "long_short")
    opens = market.opens.copy()
    session = np.searchsorted(market.schedule, trades["timestamp"].dt.date().to_numpy())
    name = np.searchsorted(np.array(market.symbols), trades["symbol"].to_numpy().astype(str))
    opens[session, name] *= 1 - 0.0008 * np.sign(trades["quantity"].to_numpy())
    outcome = outcomes_of(seal_of(replace(market, opens=opens), tmp_path), prices)["market.fills"]
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(8, abs=3)


def test_fills_between_decisions_better_than_the_market_are_noticed(
    market: Market, prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holdings are trimmed and stopped at prices 1% better than the open; they are too few to lift the mean of all fills."""
    genuine = ledger._Books.adjust  # noqa: SLF001 - what is falsified

    def adjust(books: Any) -> None:
        books.mid = books.mid * (1 + 0.01 * np.sign(books.shares.sum(axis=0)))
        genuine(books)

    monkeypatch.setattr(ledger._Books, "adjust", adjust)  # noqa: SLF001
    outcome = outcomes_of(write_seal(tmp_path / "seal", run_alpha(market, SPEC)), prices)["market.fills"]
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(100, abs=5)
    assert "fills between decisions" in (outcome.message or "")


@pytest.mark.parametrize(
    ("long", "short", "expected"), [(0, 0, False), (1, 1, False), (1, 0, True), (2, 1, True), (2, 2, True)]
)
def test_dividends_of_long_positions_alone_or_twice_are_noticed(
    market: Market, tmp_path: Path, long: int, short: int, expected: bool
) -> None:
    """Every name pays 1% each 30 sessions; the marks contain it as often as said while it is held long, or otherwise."""
    positions = run_of(market).tables["positions"].filter(pl.col("book") == "long_short")
    held = positions.filter(pl.col("quantity") > 0)
    session = np.searchsorted(market.schedule, held["date"].to_numpy())
    name = np.searchsorted(np.array(market.symbols), held["symbol"].to_numpy().astype(str))
    is_long = np.zeros((market.observed + 1, len(market.symbols)), np.bool_)
    is_long[session + 1, name] = True
    paying = np.add.outer(np.arange(market.observed), np.arange(len(market.symbols))) % 30 == 0
    contained = np.where(is_long[:-1], long, short) * paying
    # An open is still at the level of the close before.
    level = 1.01 ** np.cumsum(contained, axis=0)
    falsified = replace(market, closes=market.closes * level, opens=market.opens * level)
    adjusted = market.closes * 1.01 ** np.cumsum(paying, axis=0)
    file = prices_of(market, tmp_path / "prices", adj_close=adjusted)
    outcome = outcomes_of(seal_of(falsified, tmp_path), file)["market.dividends"]
    assert (outcome.outcome == "notice") == expected
    assert outcome.value is not None
