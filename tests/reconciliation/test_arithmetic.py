"""Double-entry arithmetic compared with slow loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reconciliation.grid import Cells, Codes
from pipeline.rules import Tables
from pipeline.rules.book_rules import portfolio_cash_flow, portfolio_exposure, portfolio_turnover
from pipeline.rules.fill_rules import pnl_borrow, pnl_execution_cost, pnl_market, positions_fills
from pipeline.rules.target_rules import decisions_fill_at, decisions_target, middle_of_sides
from pipeline.seal import Seal
from tests.support.seals import make_seal

RULES = (
    positions_fills,
    pnl_market,
    pnl_execution_cost,
    pnl_borrow,
    portfolio_cash_flow,
    portfolio_exposure,
    portfolio_turnover,
    decisions_target,
    decisions_fill_at,
)
KINDS = ("rebalances", "decisions", "portfolio", "positions", "pnl", "trades")
MONEY = {
    "portfolio": (
        "starting_equity", "ending_equity", "cash_start", "cash_end", "position_value_end", "market_pnl",
        "execution_cost", "borrow_cashflow", "cash_carry", "rounding_adjustment", "gross_notional", "net_notional",
        "turnover_notional",
    ),
    "positions": ("quantity", "signed_notional"),
    "pnl": ("market_pnl", "execution_cost", "borrow_cashflow"),
    "trades": ("quantity", "fee", "execution_cost"),
}  # fmt: skip
"""What grows with the size of the ledger."""


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    seal = Seal.open(str(make_seal(tmp_path_factory.mktemp("run"))))
    return {kind: seal.table(kind) for kind in KINDS}


def spoilt(
    frames: dict[str, pl.DataFrame], kind: str, column: str, row: int, factor: float
) -> dict[str, Any]:
    frame = frames[kind]
    place = pl.int_range(pl.len()) == row % frame.height
    return frames | {
        kind: frame.with_columns(pl.when(place).then(pl.col(column) * factor).otherwise(column).alias(column))
    }


def counts(frames: dict[str, pl.DataFrame], equity_basis: float = 1.0) -> list[int]:
    tables = Tables(frames, equity_basis)
    return [0 if (result := rule(tables)) is None else result.rows for rule in RULES]


def slow_quantities(frames: dict[str, pl.DataFrame]) -> set[tuple[Any, ...]]:
    """Oracle: quantities of every name by session, one row at a time."""
    days: dict[str, list[Any]] = {}
    for book, day in frames["portfolio"].select("book", "date").sort("book", "date").iter_rows():
        days.setdefault(book, []).append(day)
    held = {
        (b, d, s): q
        for b, d, s, q in frames["positions"].select("book", "date", "symbol", "quantity").iter_rows()
    }
    moved: dict[tuple[Any, ...], list[float]] = {}
    for book, at, symbol, quantity in (
        frames["trades"].select("book", "timestamp", "symbol", "quantity").iter_rows()
    ):
        base = book.removesuffix("_adjustments").removesuffix("_settlements")
        moved.setdefault((base, at.date(), symbol), []).append(quantity)
    names = {symbol for *_, symbol in (*held, *moved)}
    wrong = set()
    for book, sessions in days.items():
        for symbol in names:
            before = 0.0
            for day in sessions:
                fills = moved.get((book, day, symbol), [])
                after = held.get((book, day, symbol), 0.0)
                allowed = 1e-9 * max(abs(before), abs(after), sum(abs(q) for q in fills))
                if abs(before + sum(fills) - after) > allowed:
                    wrong.add((book, str(day), symbol))
                before = after
    return wrong


def slow_profit(frames: dict[str, pl.DataFrame]) -> set[tuple[Any, ...]]:
    """Oracle: P&L from close to close and of fills from the mid, one row at a time."""
    days: dict[str, list[Any]] = {}
    for book, day in frames["portfolio"].select("book", "date").sort("book", "date").iter_rows():
        days.setdefault(book, []).append(day)
    held = {
        (b, d, s): n
        for b, d, s, n in frames["positions"].select("book", "date", "symbol", "signed_notional").iter_rows()
    }
    earned = {
        (b, d, s): p
        for b, d, s, p in frames["pnl"].select("book", "date", "symbol", "market_pnl").iter_rows()
    }
    paid: dict[tuple[Any, ...], float] = {}
    columns = ("book", "timestamp", "symbol", "quantity", "mid_price")
    for book, at, symbol, quantity, mid in frames["trades"].select(columns).iter_rows():
        key = (book.removesuffix("_adjustments").removesuffix("_settlements"), at.date(), symbol)
        paid[key] = paid.get(key, 0.0) + quantity * mid
    wrong = set()
    for book, sessions in days.items():
        for symbol in {key[2] for key in (*held, *paid, *earned)}:
            before = 0.0
            for day in sessions:
                key = (book, day, symbol)
                after = held.get(key, 0.0)
                if abs(after - before - paid.get(key, 0.0) - earned.get(key, 0.0)) > 1e-9:
                    wrong.add((book, str(day), symbol))
                before = after
    return wrong


@pytest.mark.parametrize("column", ["quantity", "signed_notional"])
@settings(max_examples=10)
@given(row=st.integers(0, 10**6), factor=st.sampled_from([-1.0, 0.5, 1.0, 1.001, 2.0]))
def test_holdings_and_profit_match_a_loop_over_names(
    frames: dict[str, pl.DataFrame], column: str, row: int, factor: float
) -> None:
    broken = spoilt(frames, "positions", column, row, factor)
    tables = Tables(broken)
    for rule, slow in ((positions_fills, slow_quantities), (pnl_market, slow_profit)):
        actual, expected = rule(tables), slow(broken)
        assert (actual.rows if actual else 0) == len(expected)
        shown = {(e["book"], e["date"], e["symbol"]) for e in (actual.examples if actual else ())}
        assert shown <= expected


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    spoil=st.sampled_from(
        [("trades", "quantity"), ("trades", "mid_price"), ("pnl", "market_pnl"), ("portfolio", "cash_end")]
    ),
)
def test_the_order_of_the_rows_does_not_matter(
    frames: dict[str, pl.DataFrame], seed: int, spoil: tuple[str, str]
) -> None:
    broken = spoilt(frames, *spoil, seed, 1.5)
    shuffled = {kind: frame.sample(fraction=1.0, shuffle=True, seed=seed) for kind, frame in broken.items()}
    assert counts(shuffled) == counts(broken)


@settings(max_examples=10)
@given(
    row=st.integers(0, 10**6),
    spoil=st.sampled_from([("trades", "quantity"), ("positions", "signed_notional")]),
)
def test_the_symbols_do_not_matter(frames: dict[str, pl.DataFrame], row: int, spoil: tuple[str, str]) -> None:
    broken = spoilt(frames, *spoil, row, 1.5)
    renamed = {
        kind: frame.with_columns(pl.col("symbol").str.reverse() + "_x")
        if "symbol" in frame.columns
        else frame
        for kind, frame in broken.items()
    }
    assert counts(renamed) == counts(broken)


@settings(max_examples=10)
@given(
    basis=st.sampled_from([1e-3, 100.0, 1e6, 1e9]),
    row=st.integers(0, 10**6),
    factor=st.sampled_from([1.0, 1.5]),
)
def test_the_scale_of_the_ledger_does_not_matter(
    frames: dict[str, pl.DataFrame], basis: float, row: int, factor: float
) -> None:
    broken = spoilt(frames, "trades", "quantity", row, factor)
    scaled = {
        kind: frame.with_columns(pl.col(MONEY[kind]) * basis) if kind in MONEY else frame
        for kind, frame in broken.items()
    }
    assert counts(scaled, basis) == counts(broken)


def test_a_fill_whose_value_overflows_is_reported(frames: dict[str, pl.DataFrame]) -> None:
    first = pl.int_range(pl.len()) == 0
    huge = {name: pl.when(first).then(1e308).otherwise(name) for name in ("quantity", "mid_price")}
    tables = Tables(frames | {"trades": frames["trades"].with_columns(**huge)})
    with np.errstate(over="ignore"):
        broken = [rule(tables) for rule in (pnl_market, portfolio_cash_flow)]
    assert [result and result.rows for result in broken] == [1, 1]


@given(
    rows=st.lists(st.tuples(st.integers(-1, 40), st.integers(0, 6), st.floats(-9, 9)), max_size=60),
    others=st.lists(st.tuples(st.integers(-1, 40), st.integers(0, 6)), max_size=9),
    chosen=st.sets(st.integers(0, 40)),
)
def test_a_grid_cell_is_the_sum_of_its_rows(
    rows: list[tuple[int, int, float]], others: list[tuple[int, int]], chosen: set[int]
) -> None:
    def columns(places: list[tuple[int, int]]) -> tuple[Codes, Codes]:
        table = np.array(places, np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    placed = [(day, name) for day, name, _ in rows]
    tables = {"rows": columns(placed), "others": columns(others)}
    cells = Cells.of(tables, np.isin(np.arange(41), list(chosen)))
    expected = {place: 0.0 for place in (*placed, *others) if place[0] in chosen}
    for day, name, value in rows:
        if day in chosen:
            expected[day, name] += value
    places = list(zip(cells.session.tolist(), cells.symbol.tolist(), strict=True))
    assert places == sorted(expected)
    values = np.array([value for *_, value in rows], np.float64)
    assert dict(zip(places, cells.spread("rows", values), strict=True)) == expected


@given(
    st.lists(
        st.lists(st.tuples(st.floats(-1, 1), st.floats(0.5, 2) | st.none()), min_size=4, max_size=4),
        min_size=1,
        max_size=6,
    )
)
def test_the_middle_of_a_side_is_the_median_over_its_names(
    rows: list[list[tuple[float, float | None]]],
) -> None:
    target = np.array([[weight for weight, _ in row] for row in rows])
    equity = np.array(
        [[np.nan if value is None or weight == 0 else value for weight, value in row] for row in rows]
    )
    side = 2 * np.arange(len(rows))[:, None] + (target > 0)
    names, lower, upper = middle_of_sides(equity.ravel(), side.ravel())
    assert sorted(names) == np.flatnonzero(~np.isnan(equity)).tolist()
    result = np.full_like(equity, np.nan)
    result.flat[names] = 0.5 * (equity.flat[lower] + equity.flat[upper])
    for place, value in np.ndenumerate(equity):
        if np.isnan(value):
            assert np.isnan(result[place])
        else:
            same = np.sign(target[place[0]]) == np.sign(target[place])
            assert result[place] == pytest.approx(np.nanmedian(equity[place[0]][same]))
