"""Runs of the reference engine that use what they could not know yet, at true prices."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from examples.reference_engine import (
    AlphaSpec,
    Market,
    ledger,
    run_alpha,
    simulate_market,
)
from examples.reference_engine.sessions import Flags, Floats, trading_sessions
from examples.reference_engine.signal import raw_signal
from examples.reference_engine.strategy import decide
from examples.reference_engine.weekly_tables import forward_returns
from pipeline.notices.correlations import rank_correlations
from pipeline.notices.signal import judge_weekly_days
from tests.support.notices import notices_of

SPEC = AlphaSpec("Test_hindsight", "reversal", raw=False)


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(11, 60, 110)


@pytest.mark.parametrize("variant", ["advisory", "_adjustments"])
def test_positions_larger_than_their_weights_where_they_pay_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    """Every third position is up to a tenth larger or smaller by its return to come; target weights are advisory, or fills adjustments."""
    gains, rebalance = np.nan_to_num(forward_returns(market)), ledger._Books.rebalance  # noqa: SLF001

    def tilted(books: Any, target: Floats, tradeable: Flags, decided: int) -> Flags:
        filled = rebalance(books, target, tradeable, decided)
        week = int(np.searchsorted(market.decisions, decided))
        gain = gains[week] * (np.arange(gains.shape[1]) % 3 == week % 3)
        larger = books.shares * (1 + np.clip(3 * np.sign(books.shares) * gain, -0.1, 0.1))
        kept = np.where(tradeable & books.bars[books.session], larger, books.shares)
        books.fill(kept, variant=variant.replace("advisory", ""), phase="rebalance", change="weight_increase")
        return filled

    monkeypatch.setattr(ledger._Books, "rebalance", tilted)  # noqa: SLF001
    run = run_alpha(market, SPEC)
    advisory = {"reconciliation": {"targets": "advisory"}} if variant == "advisory" else {}
    notices = notices_of(replace(run, manifest={**run.manifest, **advisory}), tmp_path)
    assert notices.keys() - {"fills.foresight"} == {"book.tilt"}
    assert ("fills.foresight" in notices) == (variant == "_adjustments")
    assert notices["book.tilt"].value == pytest.approx(0.38, abs=0.05)


@pytest.mark.parametrize(("known", "expected"), [("the run", {"signal.name_sizes"}), ("the past", set())])
def test_sizes_tuned_by_name_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str, expected: set[str]
) -> None:
    """Names that paid best have twice the weight of those that paid worst, over the run or up to the week before the decision."""
    genuine = decide(market, SPEC)
    weights = genuine.weights["long_short"]
    paid = np.cumsum(np.nan_to_num(forward_returns(market)) * np.sign(weights), axis=0)
    paid = np.broadcast_to(paid[-1], paid.shape) if known == "the run" else np.roll(paid, 2, axis=0)
    rank = paid.argsort(axis=1).argsort(axis=1) / paid.shape[1]
    tuned = weights * 2.0**rank
    for side in (tuned > 0, tuned < 0):
        total = np.abs(np.where(side, tuned, 0.0)).sum(axis=1, keepdims=True)
        tuned = np.where(side, tuned / np.maximum(total, 1e-9), tuned)
    long_only = genuine.weights["long_only"]
    changed = replace(genuine, weights={"long_short": tuned, "long_only": long_only})
    monkeypatch.setattr("examples.reference_engine.run.decide", lambda *_: changed)
    assert notices_of(run_alpha(market, SPEC), tmp_path).keys() == expected


def test_losing_names_that_could_not_be_traded_are_noticed(market: Market, tmp_path: Path) -> None:
    """In each week the name of either tail that is to lose most is said to be illiquid."""
    scores = raw_signal("reversal", market.closes, market.marks, market.first, market.decisions)
    gains, illiquid = np.nan_to_num(forward_returns(market)), market.illiquid.copy()
    for week, day in enumerate(market.decisions[:-1]):
        low, high = np.nanquantile(scores[week], [0.2, 0.8])
        losses = np.where(scores[week] < low, gains[week], np.where(scores[week] > high, -gains[week], 0.0))
        illiquid[day, losses.argmax()] = True
    notices = notices_of(run_alpha(replace(market, illiquid=illiquid), SPEC), tmp_path)
    assert notices.keys() == {"universe.barred_names", "signal.weight_ic", "book.missing_losses"}
    outcome = notices["universe.barred_names"]
    assert outcome.value == pytest.approx(0.33, abs=0.05)
    assert (outcome.message or "").startswith("225 names that could not be traded would have lost: ")


@pytest.mark.parametrize("variant", ["_adjustments", ""])
def test_positions_closed_before_they_lose_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    """Positions that lose 8% or more by the next decision are closed at the open, at the price of the market."""

    def stop(books: Any) -> None:
        following = market.decisions[market.decisions >= books.session].min(initial=market.observed - 1)
        loss = -np.sign(books.shares) * (books.marks[following] / books.mid - 1)
        kept = np.where(books.bars[books.session] & (loss > 0.08), 0.0, books.shares)
        books.fill(kept, variant=variant, phase="close", change="exit", exit_reason="risk_exit")

    monkeypatch.setattr("examples.reference_engine.ledger._Books.adjust", stop)
    notices = notices_of(run_alpha(market, SPEC), tmp_path)
    assert notices.keys() == {"fills.foresight"}
    outcome = notices["fills.foresight"]
    assert outcome.value == pytest.approx(880, abs=50)
    assert "gained" in (outcome.message or "")


def test_fills_between_decisions_are_judged_on_all_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are few compared with those of the decisions of 300 names: each day a position that is to lose is closed at the open."""
    market = simulate_market(11, 300, 110)

    def stop(books: Any) -> None:
        gains = np.sign(books.shares[0]) * (market.closes[books.session] / books.mid - 1)
        loser = np.nan_to_num(gains).argsort()[5]
        kept = np.where(np.arange(gains.size) == loser, 0.0, books.shares)
        books.fill(kept, variant="_adjustments", phase="close", change="exit", exit_reason="risk_exit")

    monkeypatch.setattr("examples.reference_engine.ledger._Books.adjust", stop)
    outcome = notices_of(run_alpha(market, SPEC), tmp_path)["fills.foresight"]
    assert outcome.details["fills"] > 50  # 24 of them are on the days whose fills are sampled


def gains_of_book(market: Market, weights: Floats) -> Floats:
    """Return what the weights of each week earn."""
    gains: Floats = np.nansum(weights * forward_returns(market), axis=1)
    return gains


def test_weeks_left_out_because_they_lost_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book is in cash in the worst twentieth of the weeks, or in as many chosen at random."""
    spec = replace(SPEC, signal="low_volatility")
    genuine = decide(market, spec)
    worst = np.argsort(gains_of_book(market, genuine.weights["long_short"]))[:6]
    at_random = np.random.default_rng(4).choice(np.arange(10, 100), 6, replace=False)
    for weeks, expected in ((worst, {"signal.skipped_losses"}), (at_random, set())):
        weights = {book: own.copy() for book, own in genuine.weights.items()}
        for own in weights.values():
            own[weeks] = 0.0
        changed = replace(genuine, weights=weights)
        monkeypatch.setattr("examples.reference_engine.run.decide", lambda *_, own=changed: own)
        folder = tmp_path / str(len(expected))
        folder.mkdir()
        notices = notices_of(run_alpha(market, spec), folder)
        assert notices.keys() & {"signal.skipped_losses"} == expected


def test_a_score_that_knows_only_the_worst_weeks_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the twentieth of the weeks in which a steady signal loses most, half a deviation of its score is the return to come."""
    spec = replace(SPEC, signal="low_volatility")
    losses = gains_of_book(market, decide(market, spec).weights["long_short"])
    gains, worst = np.nan_to_num(forward_returns(market)), np.argsort(losses)[:5]

    def knowing(*own: Any) -> Floats:
        scores = raw_signal(*own)
        scores[worst] += 0.5 * np.nanstd(scores[worst]) / gains.std() * gains[worst]
        return scores

    monkeypatch.setattr("examples.reference_engine.strategy.raw_signal", knowing)
    outcome = notices_of(run_alpha(market, spec), tmp_path)["signal.outlying_weeks"]
    assert (outcome.message or "").startswith("The IC of what is new in the score of ")


@pytest.mark.parametrize("signal", ["reversal", "momentum"])
def test_weeks_with_the_sign_of_their_returns_turned_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal: Any
) -> None:
    """In the twentieth of the weeks that lose most all prices move the other way; the scores are those of the true prices."""
    spec = replace(SPEC, signal=signal, half_life_weeks=None)
    genuine = decide(market, spec)
    lost = gains_of_book(market, genuine.weights["long_short"])
    moves = np.diff(np.log(market.marks), axis=0, prepend=np.nan)
    turned = np.zeros_like(moves)
    for week in np.argsort(lost)[:5]:
        days = slice(market.decisions[week] + 1, market.decisions[week + 1] + 1)
        turned[days] = -2 * np.nan_to_num(moves[days])
    path = np.cumsum(turned, axis=0)
    opens = market.opens * np.exp(np.vstack([path[:1], path[:-1]]))
    forged = replace(market, opens=opens, closes=market.closes * np.exp(path))
    monkeypatch.setattr("examples.reference_engine.run.decide", lambda *_: genuine)
    notices = notices_of(run_alpha(forged, spec), tmp_path)
    assert notices["signal.opposed_weeks"].details["weeks"] == 5


@pytest.mark.parametrize(
    ("known", "noticed"),
    [
        ("the market", None),
        ("its own returns", None),
        ("the calendar", None),
        ("the worst weeks", "signal.flipped_weeks"),
        ("losing weeks", "signal.flipped_weeks"),
        ("the month to come", "signal.flipped_spells"),
    ],
)
def test_a_score_is_noticed_where_it_is_reversed_by_what_is_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str, noticed: str | None
) -> None:
    """Momentum changes its sign with what was known, or where it loses: in a twentieth of the weeks, in a sixth, or in months."""
    market = simulate_market(11, 60, 160)
    days = market.decisions
    scores = raw_signal("momentum", market.closes, market.marks, market.first, days)
    earned = np.nan_to_num(rank_correlations(scores.T, forward_returns(market).T))
    level = np.log(market.marks).mean(axis=1)
    past = np.append(np.zeros(8), [earned[week - 8 : week - 1].sum() for week in range(8, days.size)])
    months = market.schedule[days].astype("datetime64[M]").astype(np.int64)
    reverse = {
        "the market": level[days] < level[days - 21],
        "its own returns": past < 0,
        "the calendar": months % 3 == 0,
        "the worst weeks": earned <= np.quantile(earned, 0.05),
        "losing weeks": (earned < 0) & (np.arange(days.size) % 3 == 0),
        "the month to come": np.bincount(months - months[0], earned)[months - months[0]] < 0,
    }[known]

    def turned(*own: Any) -> Floats:
        return np.where(reverse[:, np.newaxis], -1, 1) * raw_signal(*own)

    monkeypatch.setattr("examples.reference_engine.strategy.raw_signal", turned)
    notices = notices_of(run_alpha(market, replace(SPEC, signal="momentum", half_life_weeks=None)), tmp_path)
    assert noticed in notices if noticed else not notices


def test_decision_days_chosen_by_what_they_earned_are_noticed(market: Market, tmp_path: Path) -> None:
    """In every week the decision is taken a day early if its book earns more on that day than it loses."""
    days, last = market.decisions[:-1], market.decisions[-1:]
    scores = raw_signal("reversal", market.closes, market.marks, market.first, days - 1)
    side = np.sign(np.nan_to_num(scores - np.nanmedian(scores, axis=1)[:, np.newaxis]))
    better = np.nansum(side * (market.opens[days + 1] / market.opens[days] - 1), axis=1) > 0
    chosen = replace(market, decisions=np.concatenate([days - better, last]))
    notices = notices_of(run_alpha(chosen, SPEC), tmp_path)
    assert notices.keys() == {"signal.irregular_weeks"}
    outcome = notices["signal.irregular_weeks"]
    assert outcome.value == pytest.approx(0.35, abs=0.05)
    assert (outcome.message or "").endswith(
        " are taken on another day than usual, and 0 are filled on another day or at another hour."
    )


@pytest.mark.parametrize("left_out", [(), ("trades", "positions", "pnl")], ids=["complete", "without fills"])
def test_fill_days_chosen_by_what_they_earned_are_noticed(
    market: Market, tmp_path: Path, left_out: tuple[str, ...]
) -> None:
    """Every third decision is filled a session later than the others, and its forward return begins there."""
    later = market.decisions + (np.arange(market.decisions.size) % 3 == 2)
    run = run_alpha(replace(market, decisions=later), SPEC)
    days = dict(zip(market.schedule[later].tolist(), market.schedule[market.decisions].tolist(), strict=True))
    tables = {
        kind: table.with_columns(pl.col(column).replace(list(days), list(days.values())))
        if (column := {"trades": "decision_at", "rebalances": "date", "decisions": "date"}.get(kind))
        else table
        for kind, table in run.tables.items()
        if kind not in left_out
    }
    outcome = notices_of(replace(run, tables=tables), tmp_path)["signal.irregular_weeks"]
    assert outcome.message == (
        "Of 108 decisions, 0 are taken on another day than usual, and 36 are filled on another day or at another hour."
    )


def test_fill_hours_chosen_by_what_they_earned_are_noticed(market: Market, tmp_path: Path) -> None:
    """Each decision is filled at the open or at the close of the next session, whichever is cheaper for the book."""
    weights = decide(market, SPEC).weights["long_short"]
    change, filled = np.diff(weights, axis=0, prepend=0.0), market.decisions[:-1] + 1
    during_day = np.nan_to_num(market.closes[filled] / market.opens[filled] - 1)
    later = filled[(change[:-1] * during_day).sum(axis=1) < 0]
    opens = market.opens.copy()
    opens[later] = market.closes[later]
    run = run_alpha(replace(market, opens=opens), SPEC)

    def at_close(*names: str) -> list[pl.Expr]:
        days = market.schedule[later].tolist()
        return [
            pl.when(pl.col(x).dt.date().is_in(days)).then(pl.col(x) + pl.duration(minutes=390)).otherwise(x)
            for x in names
        ]

    tables = {
        **run.tables,
        "decisions": run.tables["decisions"].with_columns(at_close("fill_at", "entry_at", "maturity_at")),
        "trades": run.tables["trades"].with_columns(at_close("timestamp")),
    }
    outcome = notices_of(replace(run, tables=tables), tmp_path)["signal.irregular_weeks"]
    at_the_close = later.size / filled.size
    assert outcome.value == pytest.approx(min(at_the_close, 1 - at_the_close), abs=0.03)
    assert 0.25 < at_the_close < 0.75
    assert (outcome.message or "").startswith("Of 108 decisions, 0 are taken on another day than usual, and ")


def test_a_seal_dated_before_its_last_session_is_noticed(market: Market, tmp_path: Path) -> None:
    """It says it was sealed after the first year; the last session is one of `market`, in 2023."""
    run = run_alpha(
        market, replace(SPEC, started_at="2022-07-01T06:00:00Z", sealed_at="2022-07-01T22:00:00Z")
    )
    last = str(run.tables["portfolio"]["date"].to_numpy().max())
    notices = notices_of(run, tmp_path)
    assert notices.keys() == {"book.early_seal"}
    assert notices["book.early_seal"].message == (
        f"The seal is dated 2022-07-01, but has sessions up to {last}."
    )
    same_day = replace(run, manifest={**run.manifest, "sealed_at": f"{last}T22:00:00Z"})
    assert notices_of(same_day, tmp_path / "same day") == {}


@pytest.mark.parametrize("weekday", range(5))
@pytest.mark.parametrize("before", [True, False])
def test_weekdays_moved_by_holidays_are_regular(weekday: int, before: bool) -> None:
    sessions = trading_sessions(date(2021, 1, 4), 520)
    days = np.arange(sessions[0], sessions[-1])
    days = days[(days.astype(np.int64) + 3) % 7 == weekday]
    place = np.searchsorted(sessions, days, side="right") - 1 if before else np.searchsorted(sessions, days)
    unknown = np.full(days.shape, np.datetime64("NaT"), "datetime64[D]")
    outcome = judge_weekly_days(sessions[place], unknown, sessions)
    assert outcome.value == pytest.approx(0.01, abs=0.01)


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_fills_at_the_close_before_where_the_open_is_worse_are_noticed(
    market: Market, tmp_path: Path, known: bool
) -> None:
    """One fill in 25 is at the close before: those that would have lost most by the gap, or others."""
    fills = run_alpha(market, SPEC).tables["trades"].filter(pl.col("book") == "long_short")
    day = np.searchsorted(market.schedule, fills["timestamp"].dt.date().to_numpy())
    name = np.searchsorted(market.symbols, fills["symbol"].to_numpy())
    gap = np.sign(fills["quantity"].to_numpy()) * (market.opens[day, name] / market.marks[day - 1, name] - 1)
    worst = np.argsort(-gap if known else np.random.default_rng(3).random(gap.size))[: gap.size // 25]
    opens = market.opens.copy()
    opens[day[worst], name[worst]] = market.marks[day - 1, name][worst]
    notices = notices_of(run_alpha(replace(market, opens=opens), SPEC), tmp_path)
    assert notices.keys() == ({"fills.better_than_marks"} if known else set())
