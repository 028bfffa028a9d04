"""The figures of the notices on fills, marks and universes compared with slow versions."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datasets.figures.series import Floats
from pipeline.notices import in_declared_order, judged, not_checked
from pipeline.notices.catalogue import contradictions
from pipeline.notices.clipped_returns import shared_extremes
from pipeline.notices.fills import Fills, judge_fills
from pipeline.notices.panel import Panel
from pipeline.notices.rows import Symbols
from pipeline.notices.sampled_fills import sample_fills
from pipeline.notices.spans import NEVER, Span, judge_chained_returns
from pipeline.notices.universe import judge_exits, judge_frozen_marks, poisson_lower_tail
from pipeline.reconciliation.tables import Tables
from schemas.notices import NOTICES
from tests.notices.ledgers import by_id


def test_implausible_fill_prices_are_noticed() -> None:
    rng = np.random.default_rng(5)
    side = rng.choice([-1.0, 1.0], 800)
    before = 50 * np.exp(rng.normal(0, 0.2, 800))
    earlier = before * np.exp(rng.normal(0, 0.015, 800))
    mid = before * np.exp(rng.normal(0, 0.008, 800))
    after = mid * np.exp(rng.normal(0, 0.012, 800))
    honest = Fills(
        ("long_short",),
        np.zeros(800, np.int64),
        np.arange(800) % 4,
        side,
        rng.choice([-1.0, 1.0], 800),
        np.full(800, 100.0),
        mid,
        np.full(800, 10.0),
        earlier,
        before,
        after,
        earlier,
        np.arange(800),
        (side * (after / mid - 1))[::8],
        np.arange(800)[::8],
    )
    assert {x.outcome for x in by_id(judge_fills(honest, ())).values()} == {"pass"}

    better = mid * (1 - 0.005 * side)
    forged = by_id(judge_fills(replace(honest, mid=better), ()))
    marks = list(zip(side, better, before, after, strict=True))
    inside = [s * (b - m) > 0 and s * (a - m) > 0 for s, m, b, a in marks]
    outside = [s * (b - m) < 0 and s * (a - m) < 0 for s, m, b, a in marks]
    assert forged["fills.better_than_marks"].outcome == "notice"
    assert forged["fills.better_than_marks"].value == pytest.approx((sum(inside) - sum(outside)) / 800)
    assert forged["fills.price_improvement"].outcome == "notice"
    means = [
        np.mean([s * (mark - m) / m for s, m, mark in zip(side, better, x, strict=True)])
        for x in (before, after)
    ]
    assert forged["fills.price_improvement"].value == pytest.approx(1e4 * min(means))

    gain = np.where(np.arange(100) % 2 == 0, 0.5, 0.02)
    foresight = by_id(judge_fills(replace(honest, gain=gain), ()))["fills.foresight"]
    assert (foresight.outcome, foresight.details["fills"]) == ("notice", 100)
    assert foresight.value == pytest.approx(1e4 * (0.02 + 0.1) / 2)  # half of them are limited
    usual = np.tile([0.0130, 0.0140], 50)  # as after the stops of a reversal in the spring of 2020
    foresight = by_id(judge_fills(replace(honest, gain=usual), ()))["fills.foresight"]
    assert foresight.outcome == "pass"
    assert foresight.value == pytest.approx(135)

    decided = np.where(np.arange(800) % 2 == 0, mid, np.nan)
    assert by_id(judge_fills(replace(honest, decided=decided), ()))["fills.decision_close"].value == 1.0
    stale = by_id(judge_fills(replace(honest, mid=earlier * 1.0001), ()))["fills.stale"]
    assert stale.outcome == "notice"
    line = stats.linregress(np.log(before / earlier), np.log(before / (earlier * 1.0001)))
    assert stale.value == pytest.approx(line.slope)
    free = by_id(judge_fills(replace(honest, cost=np.where(np.arange(800) % 4, honest.cost, 0.0)), ()))[
        "fills.without_cost"
    ]
    assert (free.outcome, free.value) == ("notice", 0.25)
    few = {name: getattr(honest, name)[:40] for name in Fills.__slots__ if name != "books"}
    few |= {name: few[name][:10] for name in ("gain", "gain_day")}
    assert {x.outcome for x in judge_fills(replace(honest, **few), ())} == {"not_checked"}


def fills_at(mid: Floats, earlier: Floats, before: Floats, after: Floats) -> Fills:
    """Return purchases at these mids, with the closes around them."""
    ones, book = np.ones(mid.size), np.zeros(mid.size, np.int64)
    marks = earlier, before, after, earlier
    return Fills(
        ("long_short",),
        book,
        book,
        ones,
        ones,
        ones,
        mid,
        ones,
        *marks,
        np.arange(mid.size),
        np.empty(0),
        np.empty(0, np.int64),
    )


@pytest.mark.parametrize(("per_session", "expected"), [(1, "notice"), (20, "pass")])
def test_fills_of_a_session_share_its_move(per_session: int, expected: str) -> None:
    """The market rises by 0.3% after the fills of a session on average, with a deviation of 1%."""
    sessions = 400 // per_session
    rises = np.random.default_rng(6).normal(0, 1, sessions)
    rises = 0.003 + 0.01 * (rises - rises.mean()) / rises.std()
    mid = np.full(400, 50.0)
    above = mid * (1 + np.repeat(rises, per_session))
    fills = replace(fills_at(mid, mid, above, above), day=np.repeat(np.arange(sessions), per_session))
    assert by_id(judge_fills(fills, ()))["fills.price_improvement"].outcome == expected
    # Below the close before, and in more than a third of the sessions also below the next.
    below = replace(fills, before=mid * 1.001, after=above - 0.006 * mid)
    assert by_id(judge_fills(below, ()))["fills.better_than_marks"].outcome == expected


@pytest.mark.parametrize("bounce", [0.0, 0.005, 0.01])
def test_fills_at_closes_between_bid_and_ask_are_not_stale(bounce: float) -> None:
    """A close far from the price is taken back by the next one, but never by more than half of the move."""
    rng = np.random.default_rng(4)
    price = np.cumsum(rng.normal(0, 0.01, (2000, 3)), axis=1)
    closes = np.exp(price + rng.normal(0, bounce, price.shape)).T
    outcome = by_id(judge_fills(fills_at(closes[2], *closes), ()))["fills.stale"]
    assert outcome.outcome == "pass"
    assert outcome.value == pytest.approx(bounce**2 / (0.01**2 + 2 * bounce**2), abs=0.06)
    opens_of_the_day_before = np.exp(price[:, 0] + 0.35 * (price[:, 1] - price[:, 0]))
    outcome = by_id(judge_fills(fills_at(opens_of_the_day_before, *closes), ()))["fills.stale"]
    assert outcome.outcome == "notice"


def span_of(
    rng: np.random.Generator, prices: np.ndarray[tuple[int, int], np.dtype[np.float64]], filled: float
) -> Span:
    """Return weekly spans from one instant to the next, with mids for a share of the instants."""
    mids = np.where(rng.random(prices.shape) < filled, prices, np.nan)
    weeks = np.broadcast_to(np.arange(prices.shape[1]), prices.shape)
    return Span(weeks[:, :-1], weeks[:, 1:], mids[:, :-1], mids[:, 1:])


def test_forward_returns_that_do_not_compound_to_fills_match_a_slow_search() -> None:
    rng = np.random.default_rng(5)
    prices = np.exp(np.cumsum(rng.normal(0, 0.04, (20, 61)), axis=1))
    returns = prices[:, 1:] / prices[:, :-1] - 1
    returns[rng.random(returns.shape) < 0.05] = np.nan
    span = span_of(rng, prices, 0.3)
    honest = judge_chained_returns(returns, span)
    assert (honest.outcome, honest.value) == ("pass", 0.0)
    assert honest.details["spans"] > 100

    returns[rng.random(returns.shape) < 0.02] += 0.001
    spans = wrong = 0
    for name in range(20):
        filled = np.flatnonzero(np.isfinite(span.mid_at_entry[name]))
        for first, last in pairwise(filled):
            part = returns[name, first:last]
            if last - first > 1 and np.isfinite(part).all():
                spans += 1
                ratio = span.mid_at_entry[name, last] / span.mid_at_entry[name, first]
                wrong += not math.isclose(np.prod(1 + part), ratio, rel_tol=1e-5)
    forged = judge_chained_returns(returns, span)
    assert (forged.details["spans"], forged.details["contradicted"]) == (spans, wrong)
    assert forged.outcome == "notice"


@given(st.integers(0, 2**32 - 1))
def test_shared_extremes_match_a_slow_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60, 12)
    returns = rng.choice([np.nan, *np.linspace(-0.1, 0.1, 41)], lengths.sum())
    weeks = np.repeat(np.arange(12), lengths)
    shared = measured = 0
    for week in range(12):
        moved = [
            x for w, x in zip(weeks, returns.tolist(), strict=True) if w == week and x and not math.isnan(x)
        ]
        if len(moved) >= 20:
            measured += 1
            shared += moved.count(max(moved)) > 1 or moved.count(min(moved)) > 1
    assert shared_extremes(weeks, returns) == (shared, measured)


def test_a_position_at_a_frozen_mark_is_noticed() -> None:
    rng = np.random.default_rng(5)
    marks = rng.random((10, 5))
    before = marks * 1.01
    assert judge_frozen_marks(marks, before).outcome == "pass"
    before[6:, 0] = marks[6:, 0]  # to the end
    before[2:6, 1] = marks[2:6, 1]  # for a while
    before[7:, 2] = marks[7:, 2]  # too short
    marks[8:, 3] = np.nan  # as long as it was held
    before[4:8, 3] = marks[4:8, 3]
    assert judge_frozen_marks(marks, before).value == 2


@given(st.integers(0, 60), st.floats(0.01, 80))
def test_the_probability_of_few_exits_matches_scipy(exits: int, expected: float) -> None:
    assert poisson_lower_tail(exits, expected) == pytest.approx(float(stats.poisson.cdf(exits, expected)))


def test_a_universe_of_survivors_is_noticed() -> None:
    assert judge_exits(500, 500, 500, 3.0).outcome == "notice"
    assert judge_exits(560, 500, 500, 3.0).outcome == "pass"
    assert judge_exits(24, 24, 24, 3.0).outcome == "pass"  # of 24 names none may leave by chance
    assert judge_exits(500, 500, 500, 1.5).outcome == "not_checked"


def test_a_value_is_contradicted_by_a_majority_that_agrees() -> None:
    nan = np.nan
    others = np.array(
        [
            [0.01, 0.01, 0.01, 0.01, 0.01, nan],
            [0.011, 0.01, 0.05, 0.01, 0.05, nan],
            [0.01, 0.01, 0.09, nan, 0.01, nan],
            [0.01, 0.01, -0.05, 0.01, 0.01, nan],
        ]
    )
    own = np.array([0.0105, 0.05, 0.05, 0.05, 0.03, 0.1])
    known, wrong, agree = contradictions(own, others)
    assert known.tolist() == [True, True, False, True, True, False]
    assert wrong.tolist() == [False, True, False, True, True, False]
    assert not agree[1, 4]


def test_each_declared_notice_has_one_outcome_in_declared_order() -> None:
    mixed = [not_checked(id_, "reason") for id_ in reversed(NOTICES)]
    mixed.append(judged("signal.mean_ic", 0.5, "It is high."))
    outcomes = in_declared_order(mixed)
    assert [outcome.notice for outcome in outcomes] == list(NOTICES)
    assert outcomes[0].to_dict() == {
        "notice": "signal.mean_ic", "outcome": "notice", "figure": "mean_ic", "value": 0.5, "threshold": 0.15,
        "unit": "ratio", "reason": None, "message": "It is high.", "raw": False, "details": {},
    }  # fmt: skip
    with pytest.raises(KeyError, match=r"signal\.mean_ic"):
        in_declared_order(mixed[:-2])


def test_a_figure_that_is_not_finite_is_not_checked() -> None:
    assert judged("book.borrow", math.nan, "").outcome == "not_checked"


@pytest.mark.parametrize("rows_of_part", [1, 3])
def test_a_name_that_is_filled_at_two_mids_has_none_however_its_fills_are_read(rows_of_part: int) -> None:
    filled_at, week = datetime(2020, 1, 13, 21, tzinfo=UTC), date(2020, 1, 10)
    fills = pl.DataFrame(
        {
            "book": "long_short",
            "timestamp": pl.Series([filled_at] * 6, dtype=pl.Datetime("us", "UTC")),
            "decision_at": week,
            "symbol": ["A", "A", "A", "B", "B", "B"],
            "quantity": 1.0,
            "mid_price": [10.0, 11.0, 11.0, 5.0, 5.0, 5.0],
            "execution_cost": 0.0,
            "rebalance_adjustment_reason": "entry",
        }
    )
    category = pl.Categorical(pl.Categories.random())
    parts = [Tables({"trades": part}, category=category) for part in fills.iter_slices(rows_of_part)]
    codes = Tables({"trades": fills}, category=category).symbols("trades").codes[[0, 3]].astype(np.int64)
    unknown = np.full((2, 1), NEVER)
    panel = Panel(codes, np.array([week], "datetime64[D]"), unknown, unknown, np.zeros((2, 1)))
    sessions = np.array([filled_at.date()], "datetime64[D]").astype(np.int64)
    _, panel, _ = sample_fills(lambda *_: parts, Symbols(), [], sessions, panel)
    assert panel.span is not None
    assert np.isnan(panel.span.mid_at_entry[0, 0])
    assert panel.span.mid_at_entry[1, 0] == 5.0
