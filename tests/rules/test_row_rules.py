"""Rules as pure functions of frames: boundaries, and slow oracles."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rules import Tables
from pipeline.rules.holding_rules import pnl_total, positions_notional, positions_total, positions_weight
from pipeline.rules.ledger_rules import portfolio_cash, portfolio_continuity, portfolio_identity
from pipeline.rules.table_rules import table_bound, table_finite, table_key
from pipeline.rules.tolerance import differ
from pipeline.rules.trade_rules import trades_session
from pipeline.rules.week_rules import (
    decisions_long_only,
    decisions_pending,
    decisions_rank,
    decisions_rank_order,
    decisions_week,
    rebalances_status,
)

MONDAY, TUESDAY, WEDNESDAY = date(2024, 1, 8), date(2024, 1, 9), date(2024, 1, 10)
LEDGER: dict[str, Any] = {
    "book": "long_short",
    "date": MONDAY,
    "starting_equity": 1.0,
    "ending_equity": 1.0,
    "cash_end": 1.0,
    "position_value_end": 0.0,
    "market_pnl": 0.0,
    "execution_cost": 0.0,
    "borrow_cashflow": 0.0,
    "cash_carry": 0.0,
    "rounding_adjustment": 0.0,
}


def ledger(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([LEDGER | row for row in rows])


def positions(*rows: tuple[Any, ...]) -> pl.DataFrame:
    names = ["book", "date", "symbol", "quantity", "mark_price", "signed_notional", "weight"]
    kinds = [pl.String, pl.Date, pl.String, *[pl.Float64] * 4]
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def equal(a: float, b: float, scale: float = 1.0) -> bool:
    frame = pl.DataFrame({"a": [a], "b": [b]}, schema={"a": pl.Float64, "b": pl.Float64})
    return not frame.select(differ(pl.col("a"), pl.col("b"), scale)).item()


@settings(max_examples=50)
@given(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_the_tolerance_is_the_larger_of_both(a: float, b: float, scale: float) -> None:
    assert equal(a, b, scale) == (abs(a - b) <= max(1e-9 * max(abs(a), abs(b)), 1e-9 * scale))


@pytest.mark.parametrize(
    ("a", "b", "scale", "same"),
    [
        (0.0, 1e-9, 1.0, True),
        (0.0, 1.0000001e-9, 1.0, False),
        (0.0, 1e-3, 1e6, True),
        (0.0, 1.1e-3, 1e6, False),
        (1e6, 1e6 + 0.9e-3, 1.0, True),
        (1e6, 1e6 + 1.1e-3, 1.0, False),
        (math.inf, 1.0, 1.0, False),
        (1.0, -math.inf, 1.0, False),
        (math.nan, 1.0, 1.0, False),
    ],
)
def test_the_tolerance_at_its_edges(a: float, b: float, scale: float, same: bool) -> None:
    assert equal(a, b, scale) is same


@pytest.mark.parametrize(("off", "kept"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_ledger_may_be_off_by_the_tolerance_and_no_more(off: float, kept: bool) -> None:
    for rule, column in ((portfolio_identity, "cash_carry"), (portfolio_cash, "cash_end")):
        violation = rule(Tables({"portfolio": ledger({column: LEDGER[column] + off})}))
        assert (violation is None) is kept


def test_an_identity_shows_expected_and_actual() -> None:
    violation = portfolio_identity(Tables({"portfolio": ledger({}, {"date": TUESDAY, "market_pnl": 0.25})}))
    assert violation is not None
    assert violation.rows == 1
    assert violation.examples == (
        {
            "book": "long_short",
            "date": "2024-01-09",
            "column": "ending_equity",
            "expected": 1.25,
            "actual": 1.0,
        },
    )


def test_each_book_starts_from_equity_basis_and_is_continuous() -> None:
    rows = ledger(
        {"book": "b", "date": TUESDAY, "starting_equity": 6.0, "ending_equity": 7.0},
        {"book": "a", "starting_equity": 5.0, "ending_equity": 5.5},
        {"book": "b", "starting_equity": 5.0, "ending_equity": 6.0},
    )
    assert portfolio_continuity(Tables({"portfolio": rows}, equity_basis=5.0)) is None
    violation = portfolio_continuity(Tables({"portfolio": rows}, equity_basis=4.0))
    assert violation is not None
    assert [(row["book"], row["expected"]) for row in violation.examples] == [("a", 4.0), ("b", 4.0)]


def test_an_overflowing_product_does_not_match() -> None:
    rows = positions(("a", MONDAY, "X", 1e200, 1e200, 1e300, 1.0))
    assert positions_notional(Tables({"positions": rows})) is not None


def test_a_day_without_positions_has_a_value_of_zero() -> None:
    tables = {"positions": positions(), "portfolio": ledger({})}
    assert positions_total(Tables(tables)) is None
    violation = positions_total(Tables(tables | {"portfolio": ledger({"position_value_end": 0.5})}))
    assert violation is not None
    assert violation.examples[0]["actual"] == 0.0
    assert violation.examples[0]["expected"] == 0.5


def test_only_the_total_detects_positions_of_a_book_without_a_ledger() -> None:
    tables = Tables(
        {"positions": positions(("ghost", MONDAY, "X", 1.0, 1.0, 1.0, 0.1)), "portfolio": ledger({})}
    )
    assert positions_weight(tables) is None
    violation = positions_total(tables)
    assert violation is not None
    assert violation.rows == 1
    assert violation.examples[0]["book"] == "ghost"


def test_a_weight_over_zero_equity_is_wrong() -> None:
    rows = positions(("long_short", MONDAY, "X", 1.0, 1.0, 1.0, 1.0))
    assert (
        positions_weight(Tables({"positions": rows, "portfolio": ledger({"ending_equity": 0.0})})) is not None
    )


def test_weights_are_ratios_whatever_the_basis() -> None:
    rows = positions(("long_short", MONDAY, "X", 1.0, 5e5, 5e5, 0.5 + 1e-6))
    tables = Tables({"positions": rows, "portfolio": ledger({"ending_equity": 1e6})}, equity_basis=1e6)
    assert positions_weight(tables) is not None


def test_rows_of_one_session_may_be_scattered() -> None:
    apart = positions(
        ("a", MONDAY, "Y", 1.0, 2.0, 2.0, 0.5),
        ("b", MONDAY, "Y", 1.0, 3.0, 3.0, 1.0),
        ("a", MONDAY, "X", 1.0, 2.0, 2.0, 0.5),
    )
    book = ledger(
        {"book": "a", "ending_equity": 4.0, "position_value_end": 4.0},
        {"book": "b", "ending_equity": 3.0, "position_value_end": 3.0},
    )
    tables = Tables({"positions": apart, "portfolio": book})
    assert positions_total(tables) is None
    assert positions_weight(tables) is None
    assert table_key("positions", tables) is None


MONEY = st.integers(-3, 3).map(float)
SESSIONS = st.sampled_from([("a", MONDAY), ("a", TUESDAY), ("b", MONDAY), ("b", WEDNESDAY)])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(SESSIONS, st.sampled_from("XYZ"), MONEY), max_size=12, unique_by=lambda row: row[:2]),
    st.dictionaries(SESSIONS, MONEY),
    st.randoms(use_true_random=False),
)
def test_totals_agree_with_a_loop(rows: list[Any], worth: dict[Any, float], random: Any) -> None:
    random.shuffle(rows)
    held = positions(*[(*session, name, 1.0, 1.0, value, 0.0) for session, name, value in rows])
    book = ledger(*[{"book": b, "date": d, "position_value_end": v} for (b, d), v in worth.items()])
    if book.is_empty():
        book = ledger({}).clear()
    sums: dict[Any, float] = {}
    for session, _, value in rows:
        sums[session] = sums.get(session, 0.0) + value
    broken = {session for session in sums if session not in worth}
    broken |= {session for session, value in worth.items() if sums.get(session, 0.0) != value}
    violation = positions_total(Tables({"positions": held, "portfolio": book}))
    assert (0 if violation is None else violation.rows) == len(broken)


def test_every_flow_is_summed_separately() -> None:
    flows = {
        "book": ["long_short"] * 2,
        "date": [MONDAY] * 2,
        "symbol": ["X", "Y"],
        "market_pnl": [0.25, 0.25],
    }
    rows = pl.DataFrame(flows | {"execution_cost": [-0.125, 0.0], "borrow_cashflow": [0.0, -0.25]})
    day = {"market_pnl": 0.5, "execution_cost": -0.25, "borrow_cashflow": -0.125}
    violation = pnl_total(Tables({"pnl": rows, "portfolio": ledger(day)}))
    assert violation is not None
    assert violation.rows == 1
    assert [row["column"] for row in violation.examples] == ["execution_cost", "borrow_cashflow"]


@settings(max_examples=50)
@given(st.lists(st.tuples(SESSIONS, st.sampled_from("XYZ")), max_size=10))
def test_shared_keys_agree_with_a_count(keys: list[Any]) -> None:
    rows = positions(*[(*session, name, 1.0, 1.0, 1.0, 1.0) for session, name in keys])
    violation = table_key("positions", Tables({"positions": rows}))
    assert (0 if violation is None else violation.rows) == sum(keys.count(key) > 1 for key in keys)


def test_cancelling_infinities_are_reported() -> None:
    rows = positions(
        ("a", MONDAY, "X", 1.0, 1.0, math.inf, 1.0),
        ("a", MONDAY, "Y", 1.0, 1.0, -math.inf, 1.0),
        ("a", MONDAY, "Z", 1.0, 1.0, 1e308, 1e308),
        ("b", MONDAY, "Z", 1.0, 1.0, 1.0, 1e308),
    )
    violation = table_finite("positions", Tables({"positions": rows}))
    assert violation is not None
    assert (violation.rows, violation.columns) == (2, ("signed_notional",))


def test_a_bound_does_not_judge_a_missing_or_unordered_number() -> None:
    rows = positions(("a", MONDAY, "X", 1.0, None, 1.0, 1.0), ("a", MONDAY, "Y", 1.0, math.nan, 1.0, 1.0))
    assert table_bound("positions", Tables({"positions": rows})) is None


@pytest.mark.parametrize("status", ["traded", "pending", "constant_scores", "week_53_closed", "x"])
def test_valid_week_statuses(status: str) -> None:
    assert rebalances_status(Tables({"rebalances": weeks(status)})) is None


@pytest.mark.parametrize(
    "status", ["skipped", "", "Traded", "no-scores", "two words", "_x", "x_", "a__b", "1st", "x\n"]
)
def test_invalid_week_statuses(status: str) -> None:
    violation = rebalances_status(Tables({"rebalances": weeks(status)}))
    assert violation is not None
    assert violation.examples[0]["week_status"] == status


def weeks(*statuses: str) -> pl.DataFrame:
    days = [MONDAY, TUESDAY, WEDNESDAY][: len(statuses)]
    return pl.DataFrame({"date": days, "week_status": statuses})


def cross_section(**columns: list[Any]) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    names = {"date": [MONDAY] * height, "symbol": [f"S{i}" for i in range(height)]}
    return pl.DataFrame(names | columns, strict=False)


@pytest.mark.parametrize(
    ("status", "weights", "rows"),
    [
        ("traded", [0.5, 0.5, 0.0], 0),
        ("traded", [0.5, 0.5 + 0.9e-9, 0.0], 0),
        ("traded", [0.5, 0.5 + 1.2e-9, 0.0], 2),
        ("traded", [0.0, 0.0, 0.0], 0),
        ("traded", [0.5, 0.4, 0.0], 2),
        ("traded", [1.5, -0.5, 0.0], 1),
        ("pending", [0.5, 0.4, 0.0], 0),
        ("no_scores", [0.5, 0.4, 0.0], 0),
        ("no_scores", [0.5, -0.4, 0.0], 1),
    ],
)
@pytest.mark.parametrize("column", ["long_only_target_weight", "raw_long_only_target_weight"])
def test_long_only_weights(status: str, weights: list[float], rows: int, column: str) -> None:
    tables = Tables({"decisions": cross_section(**{column: weights}), "rebalances": weeks(status)})
    violation = decisions_long_only(tables)
    assert (0 if violation is None else violation.rows) == rows


def test_long_only_signs_are_checked_without_the_weeks() -> None:
    rows = cross_section(long_only_target_weight=[-0.5, 0.1])
    violation = decisions_long_only(Tables({"decisions": rows}))
    assert violation is not None
    assert violation.rows == 1


def test_decisions_without_rebalances_are_all_reported() -> None:
    rows = cross_section(score=[1.0, 2.0])
    violation = decisions_week(Tables({"decisions": rows, "rebalances": weeks("traded").clear()}))
    assert violation is not None
    assert violation.rows == 2


def test_only_pending_weeks_may_not_have_fills() -> None:
    rows = cross_section(fill_at=[datetime(2024, 1, 9, tzinfo=UTC), None], forward_return=[None, 0.1])
    assert decisions_pending(Tables({"decisions": rows, "rebalances": weeks("traded")})) is None
    violation = decisions_pending(Tables({"decisions": rows, "rebalances": weeks("pending")}))
    assert violation is not None
    assert violation.rows == 2


@pytest.mark.parametrize(
    ("ranks", "rows"),
    [
        ([1.0, 2.0, None], 0),
        ([1.5, 1.5, None], 0),
        ([0.5, 2.0, None], 1),
        ([1.0, 2.5, None], 1),
        ([1.0, 2.0, 3.0], 1),
    ],
)
def test_ranks_lie_within_the_cohort_of_valid_scores(ranks: list[Any], rows: int) -> None:
    for rank, score in (("average_rank", "score"), ("raw_average_rank", "unsmoothed_score")):
        table = cross_section(**{score: [2.0, 1.0, None], rank: ranks})
        violation = decisions_rank(Tables({"decisions": table}))
        assert (0 if violation is None else violation.rows) == rows


def test_raw_ranks_without_their_scores_lie_within_the_cross_section() -> None:
    assert decisions_rank(Tables({"decisions": cross_section(raw_average_rank=[1.0, 3.0, 2.0])})) is None
    assert decisions_rank(Tables({"decisions": cross_section(raw_average_rank=[1.0, 4.0, 2.0])})) is not None


SCORES = st.lists(st.tuples(st.integers(0, 4).map(float), st.integers(1, 5).map(float)), max_size=7)


@settings(max_examples=50)
@given(SCORES)
def test_a_rank_against_the_scores_is_reported(pairs: list[tuple[float, float]]) -> None:
    table = cross_section(score=[s for s, _ in pairs], average_rank=[r for _, r in pairs])
    table = table.cast({"score": pl.Float64, "average_rank": pl.Float64, "date": pl.Date})
    against = any(s > t and r > q for s, r in pairs for t, q in pairs)
    assert (decisions_rank_order(Tables({"decisions": table})) is not None) is against


def test_a_fill_belongs_to_the_session_of_its_utc_day() -> None:
    books = ["long_short", "long_short_adjustments", "long_short_settlements", "long_short", "other"]
    moments = [datetime(2024, 1, 8, 23, 59, tzinfo=UTC)] * 3 + [
        datetime(2024, 1, 9, 0, 0, tzinfo=UTC),
        datetime(2024, 1, 8, 14, 30, tzinfo=UTC),
    ]
    fills = pl.DataFrame({"book": books, "timestamp": moments, "symbol": ["X"] * 5})
    violation = trades_session(Tables({"trades": fills, "portfolio": ledger({})}))
    assert violation is not None
    assert [(row["book"], row["timestamp"]) for row in violation.examples] == [
        ("long_short", "2024-01-09T00:00:00Z"),
        ("other", "2024-01-08T14:30:00Z"),
    ]
