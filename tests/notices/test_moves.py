"""Runs of the reference engine whose marks are falsified in every table alike, and unusual honest ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market
from pipeline.notices import NoticeOutcome
from pipeline.notices.held_names import Holdings
from pipeline.notices.moves import judge_moves
from schemas.notices.moves import MOVE_NOTICES
from tests.support.notices import notices_of, outcomes_of

SPEC = AlphaSpec("Test_moved", "reversal", raw=False)
NO_WEEKS = np.empty((0, 0))


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(11, 60, 110)


def with_moves(market: Market, change: Callable[[np.ndarray], np.ndarray]) -> Market:
    """Let the closes move by changed log returns, and the opens between them accordingly."""
    moves = np.diff(np.log(market.marks), axis=0)
    lifted = np.cumsum(np.nan_to_num(change(moves) - moves), axis=0)
    start = np.zeros((1, moves.shape[1]))
    at_close = np.vstack([start, lifted])
    at_open = np.vstack([start, at_close[:-1]])
    return replace(market, closes=market.closes * np.exp(at_close), opens=market.opens * np.exp(at_open))


def earned(market: Market) -> np.ndarray:
    """Return of long_short in each session of the market."""
    ledger = run_alpha(market, SPEC).tables["portfolio"].filter(pl.col("book") == "long_short").sort("date")
    returns = np.zeros(market.observed)
    place = np.searchsorted(market.schedule, ledger["date"].to_numpy())
    returns[place] = (ledger["ending_equity"] / ledger["starting_equity"] - 1).to_numpy()
    return returns


def with_late_losses(market: Market, later: int) -> Market:
    """Book half of every move of the worst tenth of the sessions some sessions later."""
    returns = earned(market)
    worst = np.flatnonzero(returns <= np.quantile(returns[returns != 0], 0.1))
    worst = worst[worst + later < market.observed] - 1

    def change(moves: np.ndarray) -> np.ndarray:
        late = moves.copy()
        late[worst] -= moves[worst] / 2
        late[worst + later] += moves[worst] / 2
        return late

    return with_moves(market, change)


def with_smooth_marks(market: Market) -> Market:
    """Book a quarter of every move a session later."""

    def change(moves: np.ndarray) -> np.ndarray:
        late = 0.75 * moves
        late[1:] += 0.25 * moves[:-1]
        return late

    return with_moves(market, change)


def with_the_best_session_twice(market: Market) -> Market:
    best = int(earned(market)[:-1].argmax()) - 1

    def change(moves: np.ndarray) -> np.ndarray:
        moves = moves.copy()
        moves[best + 1] = moves[best]
        return moves

    return with_moves(market, change)


def with_falls_cut_off(market: Market) -> Market:
    return with_moves(market, lambda moves: np.maximum(moves, -0.03))


def with_the_worst_sessions_erased(market: Market) -> Market:
    """Let the names that long_short holds stay where they are in the worst 3% of its sessions: other books and later fills move."""
    returns = earned(market)
    worst = np.flatnonzero(returns <= np.quantile(returns[returns != 0], 0.03)) - 1
    positions = run_alpha(market, SPEC).tables["positions"].filter(pl.col("book") == "long_short")
    held = np.zeros(market.closes.shape, np.bool_)
    days = np.searchsorted(market.schedule, positions["date"].to_numpy())
    held[days, np.searchsorted(market.symbols, positions["symbol"].to_numpy())] = True

    def change(moves: np.ndarray) -> np.ndarray:
        moves = moves.copy()
        moves[worst] = np.where(held[worst + 1], 0, moves[worst])
        return moves

    return with_moves(market, change)


def without_adjustment_for_splits(market: Market) -> Market:
    """Leave the prices before a split of every second name as they were, at twice those after it."""
    session, name = np.indices(market.closes.shape)
    before = (name % 2 == 0) & (session < market.observed // 2 + name)
    factor = np.where(before, 2.0, 1.0)
    return replace(market, closes=market.closes * factor, opens=market.opens * factor)


def with_stale_marks(market: Market) -> Market:
    """Renew the marks of a tenth of the names every third session alone."""
    source = np.arange(market.observed) // 3 * 3
    known = np.isfinite(market.closes) & np.isfinite(market.closes[source])
    known[:, np.arange(known.shape[1]) % 10 != 0] = False
    return replace(market, closes=np.where(known, market.closes[source], market.closes))


@pytest.mark.parametrize(
    ("falsify", "expected"),
    [
        (lambda market: with_late_losses(market, 1), "book.deferred_losses"),
        (lambda market: with_late_losses(market, 2), "book.deferred_losses"),
        (with_smooth_marks, "book.lagged_marks"),
        (with_the_best_session_twice, "book.copied_sessions"),
        (with_falls_cut_off, "book.clipped_losses"),
        (with_the_worst_sessions_erased, "book.flat_sessions"),
        (with_stale_marks, "book.stale_marks"),
        (without_adjustment_for_splits, "book.split_moves"),
    ],
    ids=["a session late", "two sessions late", "smooth", "twice", "cut off", "erased", "stale", "splits"],
)
def test_marks_that_cannot_be_prices_are_noticed(
    market: Market, tmp_path: Path, falsify: Callable[[Market], Market], expected: str
) -> None:
    outcome = outcomes_of(run_alpha(falsify(market), SPEC), tmp_path)[expected]
    assert outcome.outcome == "notice", outcome
    assert outcome.message is not None


def only(run: RunRecord, *books: str) -> RunRecord:
    tables = {
        kind: table.filter(
            pl.col("book").is_in(
                [book + suffix for book in books for suffix in ("", "_adjustments", "_settlements")]
            )
        )
        if "book" in table.columns
        else table
        for kind, table in run.tables.items()
    }
    return RunRecord(run.manifest, tables, None, None, None)


def without(run: RunRecord, *kinds: str) -> RunRecord:
    tables = {kind: table for kind, table in run.tables.items() if kind not in kinds}
    return RunRecord(run.manifest, tables, None, None, None)


def dear(market: Market) -> Market:
    return replace(market, half_spread=market.half_spread * 20)


@pytest.mark.parametrize("signal", ["momentum", "reversal", "low_volatility"])
@pytest.mark.parametrize(
    "unusual",
    [
        run_alpha,
        lambda market, spec: run_alpha(market, replace(spec, half_life_weeks=None, raw=True)),
        lambda market, spec: without(only(run_alpha(market, spec), "long_only"), "trades"),
        lambda market, spec: without(run_alpha(market, spec), "positions", "pnl", "trades"),
        lambda market, spec: run_alpha(dear(market), spec),
        lambda _, spec: run_alpha(simulate_market(12, 24, 14), spec),
    ],
    ids=["plain", "unsmoothed", "one book", "no positions", "high costs", "short"],
)
def test_unusual_honest_marks_are_not_noticed(
    market: Market, tmp_path: Path, signal: str, unusual: Callable[[Market, AlphaSpec], RunRecord]
) -> None:
    run = unusual(market, replace(SPEC, signal=signal))  # type: ignore[arg-type]
    assert not notices_of(run, tmp_path).keys() & {notice.id for notice in MOVE_NOTICES}


def test_marks_of_few_names_are_not_judged() -> None:
    marks = 50 * np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.02, (3, 30)), axis=1))
    holdings = Holdings("long_short", np.arange(3), np.arange(30), marks, np.ones(marks.shape))
    outcomes = {outcome.notice: outcome for outcome in judge_moves(holdings, np.zeros(30), NO_WEEKS)}
    assert list(outcomes) == [notice.id for notice in MOVE_NOTICES]
    assert {outcome.outcome for outcome in outcomes.values()} == {"not_checked"}
    assert outcomes["book.lagged_marks"].reason == (
        "0 sessions have 8 names with a move in both sessions; 20 are needed"
    )


@pytest.mark.parametrize("declared", [True, False])
def test_a_declared_split_is_not_noticed(declared: bool) -> None:
    marks = 50 * np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.01, (40, 60)), axis=1))
    quantities = np.where(np.arange(40)[:, np.newaxis] % 2, 100.0, -100.0) * np.ones(marks.shape)
    marks[:4, 30:] /= 4
    if declared:
        quantities[:4, 30:] *= 4
    outcomes = {
        x.notice: x
        for x in judge_moves(
            Holdings("long_short", np.arange(40), np.arange(60), marks, quantities), np.zeros(60), NO_WEEKS
        )
    }
    outcome = outcomes["book.split_moves"]
    assert (outcome.outcome, outcome.value) == (("pass", 0.0) if declared else ("notice", 4.0))


@pytest.mark.parametrize(
    ("price", "late", "expected"), [(0.5, 0.0, "pass"), (0.5, 0.5, "notice"), (50.0, 0.3, "notice")]
)
def test_marks_in_cents_below_a_dollar_often_stay(price: float, late: float, expected: str) -> None:
    """A cent is two per cent of half a dollar, the size of a usual move; marks that are renewed late stay more often."""
    rng = np.random.default_rng(3)
    marks = np.round(price * np.exp(np.cumsum(rng.normal(0, 0.02, (40, 100)), axis=1)), 2)
    for session in range(1, 100):
        stays = rng.random(40) < late
        marks[stays, session] = marks[stays, session - 1]
    outcome = of_marks(marks)["book.stale_marks"]
    assert outcome.outcome == expected, outcome


def test_a_price_of_a_few_ticks_may_double() -> None:
    rng = np.random.default_rng(3)
    marks = 50 * np.exp(np.cumsum(rng.normal(0, 0.01, (40, 100)), axis=1))
    marks[:4] = 0.01 * rng.integers(1, 4, (4, 100))
    outcome = of_marks(marks)["book.split_moves"]
    assert (outcome.outcome, outcome.value) == ("pass", 0.0)


def of_marks(marks: np.ndarray, shares: float = 100.0) -> dict[str, NoticeOutcome]:
    """Judge names that are held throughout with a constant number of shares."""
    names, sessions = marks.shape
    holdings = Holdings(
        "long_short", np.arange(names), np.arange(sessions), marks, np.full(marks.shape, shares)
    )
    return {outcome.notice: outcome for outcome in judge_moves(holdings, np.zeros(sessions), NO_WEEKS)}


@pytest.mark.parametrize(("side", "expected"), [(100.0, "notice"), (-100.0, "pass"), (np.nan, "not_checked")])
def test_falls_that_are_booked_three_sessions_later_are_noticed_where_they_are_losses(
    side: float, expected: str
) -> None:
    moves = np.random.default_rng(3).normal(0, 0.02, (40, 200))
    late = np.where(moves < -0.04, moves, 0.0)[:, :-3]
    moves[:, :-3] -= late
    moves[:, 3:] += late
    marks = 50 * np.exp(np.cumsum(moves, axis=1))
    outcome = of_marks(marks, side)["book.stale_losses"]
    assert outcome.outcome == expected, outcome
    if expected != "not_checked":
        assert outcome.value == pytest.approx(np.sign(side) * 2.03, abs=0.05)


@pytest.mark.parametrize("erased", [True, False])
def test_the_worst_sessions_of_a_book_are_missed(erased: bool) -> None:
    """Enough losses are left among the largest twentieth of the returns, but none among the largest fiftieth."""
    returns = np.random.default_rng(4).normal(0.0004, 0.01, 1_200)
    if erased:
        returns[np.argsort(returns)[:30]] = 0.0
    marks = 50 * np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.02, (4, 1_200)), axis=1))
    holdings = Holdings("long_short", np.arange(4), np.arange(1_200), marks, np.full(marks.shape, 100.0))
    outcome = {x.notice: x for x in judge_moves(holdings, returns, NO_WEEKS)}["book.missing_losses"]
    assert outcome.outcome == ("notice" if erased else "pass")
    assert (outcome.message or "").endswith("of the 24 largest moves of the book are losses.") == erased


def with_splits(run: RunRecord, market: Market, day: np.ndarray) -> RunRecord:
    """Restate a run at twice the prices and half the shares before the split of each name, which is declared."""
    splits = pl.DataFrame({"symbol": market.symbols, "split": market.schedule[day]})
    tables = {
        kind: run.tables[kind].join(splits, on="symbol", how="left", maintain_order="left")
        for kind in ("positions", "trades", "pnl")
    }
    before = pl.when(pl.col("date") < pl.col("split")).then(2.0).otherwise(1.0)
    positions = tables["positions"].with_columns(pl.col("quantity") / before, pl.col("mark_price") * before)
    trades = (
        tables["trades"]
        .with_columns(date=pl.col("timestamp").dt.date())
        .with_columns(
            pl.col("quantity") / before, pl.col("mid_price") * before, pl.col("fill_price") * before
        )
        .drop("date", "split")
    )
    eve = pl.DataFrame({"symbol": market.symbols, "date": market.schedule[day - 1]})
    held = positions.join(eve, on=["symbol", "date"]).select("book", "symbol", held="quantity")
    pnl = tables["pnl"].join(held, on=["book", "symbol"], how="left", maintain_order="left")
    received = pl.when(pl.col("date") == pl.col("split")).then("held").fill_null(0.0)
    pnl = pnl.with_columns(quantity_adjustment=received).drop("split", "held")
    changed = {"positions": positions.drop("split"), "trades": trades, "pnl": pnl}
    return replace(run, tables={**run.tables, **changed})


def test_a_declared_split_is_not_noticed_where_the_position_is_rebalanced(
    market: Market, tmp_path: Path
) -> None:
    """The splits take effect at opens that fill decisions."""
    fills = market.decisions[market.decisions + 1 < market.observed] + 1
    day = fills[20 + np.arange(len(market.symbols)) % (fills.size - 30)]
    run = with_splits(run_alpha(market, SPEC), market, day)
    outcome = outcomes_of(run, tmp_path)["book.split_moves"]
    assert (outcome.outcome, outcome.value) == ("pass", 0.0)


def test_delays_match_a_slow_search() -> None:
    rng = np.random.default_rng(4)
    moves, sides = rng.normal(0, 0.01, (20, 60)), np.sign(rng.normal(size=(20, 61)))
    marks = 50 * np.cumprod(np.hstack([np.ones((20, 1)), 1 + moves]), axis=1)
    held = rng.random((20, 61)) < 0.9
    holdings = Holdings(
        "long_short",
        np.arange(20),
        np.arange(61),
        np.where(held, marks, np.nan),
        np.where(held, sides, np.nan),
    )
    own = np.full(moves.shape, np.nan)
    for session in range(60):
        known = held[:, session] & held[:, session + 1]
        for side in (1, -1):
            members = np.flatnonzero(known & (sides[:, session] == side))
            own[members, session] = moves[members, session] - moves[members, session].mean()
        limit = 3 * np.sqrt(np.nanmean(own[:, session] ** 2))
        own[:, session] = np.clip(own[:, session], -limit, limit)
    correlations = []
    for session in range(1, 60):
        both = np.isfinite(own[:, session]) & np.isfinite(own[:, session - 1])
        one, other = own[both, session], own[both, session - 1]
        correlations.append((one @ other) / np.sqrt((one @ one) * (other @ other)))
    (outcome, *_) = judge_moves(holdings, np.zeros(61), NO_WEEKS)
    assert outcome.value == pytest.approx(np.mean(correlations))
