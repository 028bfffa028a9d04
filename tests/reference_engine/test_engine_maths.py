"""The engine's pure functions, compared with slow oracles and under permutation, renaming and scaling."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from examples.reference_engine import AlphaSpec, run_alpha, simulate_market
from examples.reference_engine.fills import execution_price
from examples.reference_engine.price_paths import benchmark_paths
from examples.reference_engine.sessions import trading_sessions, week_ends
from examples.reference_engine.signal import LOOKBACK, raw_signal, smoothed
from examples.reference_engine.strategy import tail_weights
from schemas.errors import SettingsError

Floats = npt.NDArray[np.float64]

distinct_scores = st.lists(
    st.floats(-1e3, 1e3, allow_subnormal=False), min_size=4, max_size=60, unique=True
).map(np.array)
panels = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.floats(-10, 10) | st.just(float("nan")),
)


@given(distinct_scores, st.randoms(use_true_random=False))
def test_weights_follow_their_names_under_permutation(scores: Floats, random: object) -> None:
    order = np.array(sorted(range(len(scores)), key=lambda _: random.random()))  # type: ignore[attr-defined]
    np.testing.assert_array_equal(tail_weights(scores[order]), tail_weights(scores)[order])


@given(distinct_scores, st.floats(0.01, 100))
def test_weights_depend_on_the_order_of_scores_alone(scores: Floats, factor: float) -> None:
    scaled = scores * factor
    if len(np.unique(scaled)) == len(scores):
        np.testing.assert_array_equal(tail_weights(scaled), tail_weights(scores))


@given(distinct_scores)
def test_weights_are_neutral_fully_invested_and_antisymmetric(scores: Floats) -> None:
    weights = tail_weights(scores)
    assert weights[weights > 0].sum() == pytest.approx(1)
    assert weights.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(tail_weights(-scores), -weights)
    assert weights.max() / weights[weights > 0].min() == pytest.approx(3)


def test_weights_omit_unscored_names_and_need_four() -> None:
    assert not tail_weights(np.array([1.0, 2.0, np.nan, 3.0])).any()
    weights = tail_weights(np.array([4.0, np.nan, 1.0, 2.0, 3.0, np.nan]))
    np.testing.assert_allclose(weights, [0.75, 0, -0.75, -0.25, 0.25, 0])


def slow_smoothing(column: list[float], half_life: float) -> list[float]:
    keep = 0.5 ** (1 / half_life)
    memory: float | None = None
    out = []
    for value in column:
        if np.isnan(value):
            out.append(float("nan"))
            continue
        memory = value if memory is None else keep * memory + (1 - keep) * value
        out.append(memory)
    return out


@given(panels, st.floats(0.25, 12))
def test_smoothing_matches_the_recursion_by_name(panel: Floats, half_life: float) -> None:
    result = smoothed(panel, half_life)
    for name in range(panel.shape[1]):
        np.testing.assert_allclose(
            result[:, name], slow_smoothing(list(panel[:, name]), half_life), atol=1e-12
        )


@given(panels, st.floats(-5, 5))
def test_smoothing_scales_with_its_signal(panel: Floats, factor: float) -> None:
    np.testing.assert_allclose(smoothed(factor * panel, 2.0), factor * smoothed(panel, 2.0), atol=1e-12)


@given(panels)
def test_without_a_half_life_the_signal_is_unchanged(panel: Floats) -> None:
    np.testing.assert_array_equal(smoothed(panel, None), panel)


@pytest.mark.parametrize("kind", ["momentum", "reversal", "low_volatility"])
def test_signals_ignore_the_level_of_prices_and_the_order_of_names(kind: str) -> None:
    market = simulate_market(2, 24, 12, skipped=False)

    def scores(closes: Floats, marks: Floats, first: npt.NDArray[np.int64]) -> Floats:
        return raw_signal(kind, closes, marks, first, market.decisions)  # type: ignore[arg-type]

    plain = scores(market.closes, market.marks, market.first)
    assert np.isfinite(plain).sum() > 200
    np.testing.assert_allclose(scores(7 * market.closes, 7 * market.marks, market.first), plain, atol=1e-12)
    order = np.random.default_rng(0).permutation(24)
    shuffled = scores(market.closes[:, order], market.marks[:, order], market.first[order])
    np.testing.assert_array_equal(shuffled, plain[:, order])


def test_signals_by_hand() -> None:
    closes = np.exp(np.linspace(0.0, 1.2, 61))[:, None]
    first, day = np.array([0]), np.array([60])
    momentum = raw_signal("momentum", closes, closes, first, day)
    reversal = raw_signal("reversal", closes, closes, first, day)
    volatility = raw_signal("low_volatility", closes, closes, first, day)
    assert momentum[0, 0] == pytest.approx(1.2 * 55 / 60)
    assert reversal[0, 0] == pytest.approx(-1.2 * 5 / 60)
    assert volatility[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_a_signal_needs_its_lookback_and_a_close_on_the_day() -> None:
    closes = np.full((70, 3), 10.0) + np.arange(70, dtype=np.float64)[:, None]
    closes[65, 1] = np.nan
    marks = closes.copy()
    marks[65, 1] = closes[64, 1]
    first = np.array([0, 0, 65 - LOOKBACK["momentum"] + 1])
    scores = raw_signal("momentum", closes, marks, first, np.array([LOOKBACK["momentum"] - 1, 65]))
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1]).tolist() == [True, False, False]


@given(st.floats(0.5, 500), st.floats(-1e3, 1e3), st.floats(0, 0.01), st.floats(0, 0.2))
def test_a_fill_is_never_better_than_its_mid(mid: float, shares: float, spread: float, weight: float) -> None:
    price = float(execution_price(np.array(mid), np.array(shares), np.array(spread), np.array(weight)))
    assert (price - mid) * shares >= 0
    assert abs(price - mid) <= mid * spread * 1.4 * (1 + 1e-9) + 1e-9


@settings(max_examples=30)
@given(st.dates(dt.date(2015, 1, 1), dt.date(2030, 1, 1)), st.integers(0, 300))
def test_sessions_are_business_days_and_weeks_end_on_the_last_one(first: dt.date, count: int) -> None:
    days: list[dt.date] = []
    day = first
    while len(days) < count:
        if day.weekday() < 5 and (day.month, day.day) not in {(1, 1), (7, 4), (12, 25)}:
            days.append(day)
        day += dt.timedelta(days=1)
    sessions = trading_sessions(first, count)
    assert sessions.tolist() == days
    last_of_week = {d.isocalendar()[:2]: d for d in days}
    assert [days[i] for i in week_ends(sessions)] == sorted(last_of_week.values())[:-1]


def test_the_benchmark_is_adjusted_for_its_dividends_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    level, adjusted = benchmark_paths(rng, rng.normal(0, 0.01, 200))
    assert adjusted[-1] == level[-1]
    ratio = adjusted / level
    steps = ratio[1:] / ratio[:-1]
    np.testing.assert_allclose(np.sort(steps)[-3:], 1 / (1 - 0.0035))
    assert np.isclose(steps, 1).sum() == 196


SPEC = AlphaSpec("Test_sim_scaling", "momentum")


def test_the_ledger_scales_with_its_opening_equity() -> None:
    market = simulate_market(4, 24, 16, skipped=False)
    one = run_alpha(market, SPEC).tables
    million = run_alpha(market, replace(SPEC, equity_basis=1e6)).tables
    money = ("ending_equity", "cash_end", "market_pnl", "execution_cost", "turnover_notional")
    for column in money:
        np.testing.assert_allclose(million["portfolio"][column], 1e6 * one["portfolio"][column], atol=1e-4)
    for column in ("gross_exposure", "turnover", "largest_abs_weight"):
        np.testing.assert_allclose(million["portfolio"][column], one["portfolio"][column], atol=1e-9)
    assert million["decisions"].equals(one["decisions"])


def test_renaming_the_symbols_renames_the_rows_and_changes_no_number() -> None:
    market = simulate_market(4, 24, 16, skipped=False)
    renamed = replace(market, symbols=tuple(f"X{symbol}" for symbol in market.symbols))
    plain, other = run_alpha(market, SPEC).tables, run_alpha(renamed, SPEC).tables
    for kind, table in plain.items():
        if "symbol" in table.columns:
            expected = table.with_columns(symbol=pl.lit("X") + pl.col("symbol"))
            assert other[kind].equals(expected)
        else:
            assert other[kind].equals(table)


@pytest.mark.parametrize(
    ("names", "weeks", "seed", "field"), [(23, 30, 1, "names"), (24, 11, 1, "weeks"), (24, 12, -1, "seed")]
)
def test_a_market_too_small_is_refused_by_name(names: int, weeks: int, seed: int, field: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{field} is .* must be \d+ or more"):
        simulate_market(seed, names, weeks)
