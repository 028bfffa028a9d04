"""The seal writer's books pass the check for any weights and prices."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from alpha_results_seal import Calendar, Costs, Ledger, SealError, SealWriter
from alpha_results_seal.reproduced import require_reproduced
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rules.checking import check
from pipeline.seal import Seal
from tests.seal_writer.one_week import CLOSE, NYSE, WEEK

BEGAN = datetime(2024, 9, 1, tzinfo=UTC)


def sealed(ledger: Ledger, folder: Path) -> Seal:
    head: Any = {"alpha_id": "Test_written", "engine": ("tests", "1"), "smoothing": {"applied": False}}
    writer = SealWriter(folder, started_at=BEGAN, sealed_at=BEGAN, **head)
    return Seal.open(str(writer.add_ledger(ledger).write()))


def wide(days: Any, names: list[str], values: Any) -> pl.DataFrame:
    return pl.DataFrame({"date": days} | {name: values[:, at] for at, name in enumerate(names)})


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    names=st.integers(1, 9),
    gaps=st.sampled_from([0.0, 0.05, 0.4]),
    opens=st.booleans(),
    books=st.sets(
        st.sampled_from(["long_short", "long_only", "raw_long_short", "raw_long_only"]), min_size=1
    ),
    basis=st.sampled_from([1.0, 1e6]),
    rates=st.tuples(*[st.sampled_from([0.0, 0.001])] * 4),
    known_ahead=st.booleans(),
    recovery=st.sampled_from([None, 1.0, 0.4]),
)
def test_any_weights_and_prices_give_a_seal_that_passes_the_strict_check(
    seed: int,
    names: int,
    gaps: float,
    opens: bool,
    books: set[str],
    basis: float,
    rates: Any,
    known_ahead: bool,
    recovery: float | None,
) -> None:
    rng = np.random.default_rng(seed)
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-03-16"))
    days = days[np.is_busday(days)]
    columns = [f"N{at}" for at in range(names)]
    close = 20.0 * np.exp(np.cumsum(rng.normal(0.0, 0.03, (days.size, names)), axis=0))
    opened = close * np.exp(rng.normal(0.0, 0.03, close.shape))
    missing = rng.random(close.shape) < gaps
    missing[0] = False
    close[missing] = opened[missing] = np.nan
    decided = days[rng.random(days.size) < 0.25]
    decided = decided[np.unique((decided.astype(np.int64) + 3) // 7, return_index=True)[1]]
    decided = decided if decided.size and decided[0] < days[-1] else days[:1]
    frames = {}
    for book in sorted(books):
        weights = rng.normal(0.0, 0.5 / names, (decided.size, names))
        weights[rng.random(weights.shape) < 0.3] = 0.0
        if book.endswith("long_only"):
            weights = np.abs(weights)
            weights /= np.where(weights.sum(axis=1) > 0, weights.sum(axis=1), 1.0)[:, None]
        else:
            weights[rng.random(weights.shape) < 0.2] = np.nan
        frames[book] = wide(decided, columns, weights)
    prices = {"close": wide(days, columns, close)} | ({"open": wide(days, columns, opened)} if opens else {})
    ahead = np.arange(days[0], days[-1] + 15)
    calendar = (
        Calendar(NYSE.zone, NYSE.open, NYSE.close, ahead[np.is_busday(ahead)].tolist())
        if known_ahead
        else NYSE
    )
    fee, impact, borrow, interest = rates
    # Longs score above shorts; in a long-only book the other names have no order.
    signed = frames.get("long_short")
    liking = (
        rng.normal(size=(decided.size, names))
        if signed is None
        else signed.select(columns).fill_nan(0.0).to_numpy()
    )
    scores = wide(decided, columns, 3.0 * liking)
    costs = Costs(fee, impact, borrow, interest, recovery)
    ledger = Ledger.from_weights(frames, prices, costs, calendar, scores=scores, equity_basis=basis)
    with tempfile.TemporaryDirectory() as folder:
        report = check(sealed(ledger, Path(folder) / "seal"))
    assert report.violations == ()
    assert report.warnings == ()
    looked_at = {
        *(("decisions.target",) if report.counts["trades"] else ()),
        "decisions.fill_at",
        "positions.fills",
        "pnl.market",
        "portfolio.cash_flow",
    }
    assert not looked_at & {left_out.rule for left_out in report.not_checked}


def test_the_guides_worked_example_is_reproduced_exactly(tmp_path: Path) -> None:
    days = [date(2024, 1, 5), date(2024, 1, 8), date(2024, 1, 9)]
    closes = pl.DataFrame({"date": days, "AAA": [10.0, 10.2, 10.1], "BBB": [20.0, 19.8, 20.0]})
    fills = pl.DataFrame(
        {
            "date": [days[1]] * 2,
            "symbol": ["AAA", "BBB"],
            "quantity": [0.05, -0.025],
            "mid_price": [10.0, 20.0],
            "fill_price": [10.01, 19.98],
        }
    )
    ledger = Ledger.from_fills(fills, closes, NYSE, costs=Costs(borrow=0.0001, interest=0.0001))
    assert check(sealed(ledger, tmp_path / "seal")).violations == ()
    expected = {
        "starting_equity": [1.0, 1.0140505],
        "market_pnl": [0.015, -0.01],
        "execution_cost": [-0.001, 0.0],
        "borrow_cashflow": [-0.0000495, -0.00005],
        "cash_carry": [0.0001, 0.00009990505],
        "ending_equity": [1.0140505, 1.00410040505],
        "cash_end": [0.9990505, 0.99910040505],
        "position_value_end": [0.015, 0.005],
        "turnover_notional": [1.0, 0.0],
        "turnover": [0.5, 0.0],
    }
    portfolio = ledger.tables["portfolio"]
    for name, figures in expected.items():
        assert portfolio[name].to_list() == pytest.approx(figures, abs=1e-14), name
    assert ledger.tables["pnl"]["market_pnl"].to_list() == pytest.approx([0.01, 0.005, -0.005, -0.005])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    mids=st.booleans(),
    whole_shares=st.booleans(),
    recovery=st.sampled_from([None, 1.0, 0.4]),
)
def test_any_fills_give_a_seal_that_passes_the_strict_check(
    seed: int, mids: bool, whole_shares: bool, recovery: float | None
) -> None:
    rng = np.random.default_rng(seed)
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-02-10"))
    names, count = ["AAA", "BBB", "CCC"], 60
    close = 20.0 * np.exp(np.cumsum(rng.normal(0.0, 0.03, (days.size, 3)), axis=0))
    last = days.size if recovery is None else rng.integers(2, days.size)
    close[last:, 0] = np.nan
    session, name = rng.integers(1, days.size, count), rng.integers(0, 3, count)
    quantity = rng.normal(0.0, 5.0, count)
    quantity = np.rint(quantity) if whole_shares else quantity
    marked = np.where(name == 0, np.minimum(session, last - 1), session)
    mid = close[marked, name] * np.exp(rng.normal(0.0, 0.01, count))
    fills = pl.DataFrame(
        {
            "date": days[session],
            "symbol": [names[at] for at in name],
            "quantity": quantity,
            "fill_price": mid * (1.0 + 0.001 * np.sign(quantity)),
            "fee": rng.uniform(0.0, 0.1, count),
        }
    )
    fills = fills.with_columns(mid_price=mid) if mids else fills
    costs = Costs(borrow=0.0001, interest={days[3].item(): 0.001}, recovery=recovery)
    ledger = Ledger.from_fills(fills, wide(days, names, close), NYSE, costs=costs, equity_basis=10_000.0)
    with tempfile.TemporaryDirectory() as folder:
        report = check(sealed(ledger, Path(folder) / "seal"))
    assert report.violations == report.warnings == ()


def test_decisions_have_fills_returns_and_tradeability() -> None:
    days = pl.date_range(date(2024, 1, 5), date(2024, 1, 19), eager=True).alias("date")
    days = days.filter(days.dt.weekday() <= 5)  # Fridays are 0, 5 and 10
    flat, rising = [10.0] * 11, [float(at + 10) for at in range(11)]
    gap = [None if at in (6, 7) else 10.0 for at in range(11)]
    price = pl.DataFrame({"date": days, "AAA": rising, "BBB": flat, "CCC": gap})
    weights = price.filter(days.dt.weekday() == 5).with_columns(
        AAA=pl.Series([0.5, 0.0, 0.5]), BBB=pl.Series([-0.5, None, -0.5]), CCC=pl.Series([0.25, 0.5, 0.0])
    )
    ledger = Ledger.from_weights(weights, {"open": price, "close": price}, Costs(), NYSE)
    rows = {(row["date"].day, row["symbol"]): row for row in ledger.tables["decisions"].iter_rows(named=True)}
    assert ledger.tables["rebalances"]["week_status"].to_list() == ["traded", "traded", "pending"]
    monday = [datetime(2024, 1, day, 14, 30, tzinfo=UTC) for day in (8, 15)]
    assert rows[5, "AAA"]["fill_at"] == rows[5, "AAA"]["entry_at"] == monday[0]
    assert rows[5, "AAA"]["maturity_at"] == monday[1]
    assert rows[5, "AAA"]["forward_return"] == pytest.approx(16 / 11 - 1), (
        "from Monday's open to the next one's"
    )
    # A held name without a weight is closed. A name without a price is not traded, and its holding stays.
    assert rows[12, "BBB"]["long_short_target_weight"] == 0.0
    assert rows[12, "BBB"]["fill_at"] == monday[1]
    assert rows[12, "CCC"]["unavailability_reason"] == "data_gap"
    assert rows[12, "CCC"]["long_short_target_weight"] == 0.0
    assert rows[12, "CCC"]["fill_at"] is None
    assert {rows[19, name]["forward_return"] for name in ("AAA", "BBB", "CCC")} == {None}
    held = ledger.tables["positions"].filter(pl.col("date") == date(2024, 1, 15))
    assert held["symbol"].to_list() == ["CCC"]
    fills = ledger.tables["trades"].select("symbol", "phase", "quantity")
    assert fills.row(0) == ("AAA", "open", 0.5 / 11)
    assert fills.filter(pl.col("phase") == "close")["symbol"].to_list() == ["AAA", "BBB"]


def test_pandas_and_polars_long_and_wide_frames_give_the_same_books() -> None:
    days = pl.date_range(date(2024, 1, 1), date(2024, 1, 31), eager=True).alias("date")
    close = pl.DataFrame({"date": days, "AAA": np.linspace(10, 12, 31), "BBB": np.linspace(30, 20, 31)})
    weights = close.filter(pl.col("date").dt.weekday() == 5).with_columns(AAA=pl.lit(0.5), BBB=pl.lit(-0.5))
    long = [
        frame.unpivot(index="date", variable_name="symbol", value_name=name)
        for frame, name in ((weights, "weight"), (close, "close"))
    ]
    indexed = [frame.to_pandas().set_index("date") for frame in (weights, close)]
    for frame in indexed:
        frame.index = pd.DatetimeIndex(frame.index).tz_localize("America/New_York")
    books = [
        Ledger.from_weights(one, other, Costs(impact=0.001), NYSE)
        for one, other in ((weights, close), long, indexed)
    ]
    for kind, table in books[0].tables.items():
        assert all(table.equals(other.tables[kind]) for other in books[1:]), kind
    assert (
        "prices have no open: fills are at closes, and forward_return is from close to close"
        in books[0].notes
    )
    first = books[0].tables["decisions"].filter(pl.col("date") == date(2024, 1, 5), pl.col("symbol") == "AAA")
    bought, sold = (close.filter(pl.col("date") == date(2024, 1, day))["AAA"].item() for day in (6, 13))
    assert first["forward_return"].item() == pytest.approx(sold / bought - 1, rel=1e-12)
    assert first["entry_at"].item() == first["fill_at"].item()


def test_a_decision_on_a_day_without_a_session_is_dated_by_the_session_before(tmp_path: Path) -> None:
    days = pl.date_range(date(2024, 1, 1), date(2024, 1, 31), eager=True).alias("date")
    days = days.filter(days.dt.weekday() <= 5)
    close = pl.DataFrame(
        {"date": days, "AAA": np.linspace(10, 12, days.len()), "BBB": np.linspace(30, 20, days.len())}
    )
    sundays = [date(2024, 1, 7), date(2024, 1, 14), date(2024, 2, 4)]
    weights = pl.DataFrame({"date": sundays, "AAA": [0.5] * 3, "BBB": [-0.5] * 3})
    scores = weights.with_columns(AAA=pl.lit(1.0), BBB=pl.lit(-1.0))
    ledger = Ledger.from_weights(weights, close, Costs(), NYSE, scores=scores)
    assert ledger.tables["rebalances"]["date"].to_list() == [date(2024, 1, day) for day in (5, 12, 31)]
    assert ledger.tables["decisions"]["score"].to_list() == [1.0, -1.0] * 3
    (note,) = [note for note in ledger.notes if "without a session" in note]
    assert note.endswith("the first: 2024-01-07 as 2024-01-05")
    assert check(sealed(ledger, tmp_path / "seal")).violations == ()
    fills = ledger.tables["trades"].select(
        "symbol", "quantity", "fill_price", "fee",
        date=pl.col("timestamp").dt.date(), decision_at=pl.col("decision_at").dt.offset_by("2d"),
    )  # fmt: skip
    from_fills = Ledger.from_fills(fills, close, NYSE, weights=weights, scores=scores)
    assert from_fills.tables["decisions"].equals(ledger.tables["decisions"])
    assert from_fills.tables["trades"]["decision_at"].equals(ledger.tables["trades"]["decision_at"])
    assert note in from_fills.notes


def test_instants_with_a_zone_are_sessions_and_equity_of_their_local_day() -> None:
    days = pd.DatetimeIndex(CLOSE["date"].to_list())
    sessions = list(days.tz_localize("Asia/Tokyo"))  # midnights, in UTC of the day before
    ledger = Ledger.from_weights(WEEK, CLOSE, Costs(), Calendar("Asia/Tokyo", "09:00", "15:00", sessions))
    equity = ledger.tables["portfolio"]["ending_equity"].to_list()
    require_reproduced(ledger, dict(zip(sessions[1:], equity, strict=True)), "mine")
    with pytest.raises(SealError, match="mine has no equity on 2024-01-09"):
        require_reproduced(ledger, dict(zip(sessions[1:2], equity[:1], strict=True)), "mine")


def test_a_delisted_name_is_closed_at_the_bar_of_the_price_received() -> None:
    days = pl.date_range(date(2024, 1, 5), date(2024, 1, 16), eager=True).alias("date")
    close = pl.DataFrame({"date": days, "AAA": [10.0] * 4 + [None] * 8, "BBB": [5.0] * 12})
    weights = pl.DataFrame(
        {"date": [date(2024, 1, 5), date(2024, 1, 12)], "AAA": [0.5, None], "BBB": [-0.5, -0.5]}
    )
    held = Ledger.from_weights(weights, close, Costs(), NYSE)
    assert held.tables["positions"].filter(pl.col("symbol") == "AAA")["mark_price"].to_list() == [10.0] * 11
    assert any(
        "add a bar at the price received to a session on which a decision is filled" in note
        for note in held.notes
    )
    received = pl.when(pl.col("date") == date(2024, 1, 13)).then(4.0).otherwise("AAA")
    closed = Ledger.from_weights(weights, close.with_columns(AAA=received), Costs(), NYSE)
    assert not any("still holds" in note for note in closed.notes)
    fill = closed.tables["trades"].filter(pl.col("symbol") == "AAA").row(-1, named=True)
    assert (fill["phase"], fill["mid_price"], fill["quantity"]) == ("close", 4.0, -0.05)
    assert any("state a recovery, the share of its last close received" in note for note in held.notes)


def test_a_stated_recovery_settles_a_position_on_the_session_after_its_last_close() -> None:
    days = pl.date_range(date(2024, 1, 5), date(2024, 1, 12), eager=True).alias("date")
    paused = [5.0, 5.0, None, 5.0, 5.0, None, None, 5.0]
    close = pl.DataFrame({"date": days, "AAA": [10.0, 10.0, 12.0, 10.0] + [None] * 4, "BBB": paused})
    weights = pl.DataFrame({"date": [date(2024, 1, 5)], "AAA": [0.5], "BBB": [-0.5]})
    ledger = Ledger.from_weights(weights, close, Costs(fee=0.001, recovery=0.8), NYSE)
    assert not any("still holds" in note for note in ledger.notes)
    fill = ledger.tables["trades"].filter(pl.col("book") == "long_short_settlements").row(0, named=True)
    assert fill["timestamp"] == datetime(2024, 1, 9, 21, tzinfo=UTC)
    assert (fill["symbol"], fill["fill_price"], fill["execution_cost"]) == ("AAA", 8.0, 0.0)
    lost = ledger.tables["pnl"].filter((pl.col("symbol") == "AAA") & (pl.col("date") == date(2024, 1, 9)))
    assert lost["market_pnl"].item() == pytest.approx(-0.1)
    last = ledger.tables["positions"].filter(pl.col("date") == date(2024, 1, 12))
    assert last["symbol"].to_list() == ["BBB"]


def test_fills_at_a_close_of_midnight_are_dated_on_their_session(tmp_path: Path) -> None:
    ledger = Ledger.from_weights(WEEK, CLOSE, Costs(), Calendar("UTC", "00:00", "24:00"))
    sessions = ledger.tables["portfolio"]["date"]
    assert ledger.tables["trades"]["timestamp"].dt.date().is_in(sessions.implode()).all()
    SealWriter(tmp_path / "seal", alpha_id="Test_midnight").add_ledger(ledger).write()


def test_an_exchange_that_opens_on_another_utc_day_takes_hours_in_utc(tmp_path: Path) -> None:
    said = "is on another day in UTC, .*: give hours in UTC, within the day, such as Calendar"
    with pytest.raises(SealError, match=said):
        Ledger.from_weights(WEEK, CLOSE, Costs(), Calendar("Australia/Sydney", "10:00", "16:00"))
    ledger = Ledger.from_weights(WEEK, CLOSE, Costs(), Calendar("UTC", "00:00", "06:00"))
    assert check(sealed(ledger, tmp_path / "seal")).violations == ()
