"""Every rule of the seal format, restated as plain arithmetic."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.tables import SEALED_TABLES
from schemas.units import Type

POLARS_TYPES = {
    Type.DATE: pl.Date(),
    Type.TIMESTAMP: pl.Datetime("us", "UTC"),
    Type.F64: pl.Float64(),
    Type.BOOL: pl.Boolean(),
    Type.STR: pl.String(),
}
KEYS = {
    "rebalances": ["date"],
    "decisions": ["date", "symbol"],
    "portfolio": ["book", "date"],
    "positions": ["book", "date", "symbol"],
    "pnl": ["book", "date", "symbol"],
}
TARGETS = ("long_short_target_weight", "long_only_target_weight")
FLOWS = ("market_pnl", "execution_cost", "borrow_cashflow", "cash_carry", "rounding_adjustment")


def assert_equal(left: pl.Series, right: pl.Series, basis: float) -> None:
    """Compare within 1e-9 of the larger magnitude or of the opening equity."""
    frame = pl.DataFrame({"left": left, "right": right})
    assert frame.height > 0
    size = pl.max_horizontal(pl.col("left").abs(), pl.col("right").abs())
    slack = pl.max_horizontal(1e-9 * size, pl.lit(1e-9 * basis))
    off = frame.filter((pl.col("left") - pl.col("right")).abs() > slack)
    assert off.is_empty(), off


def base_book() -> pl.Expr:
    return pl.col("book").str.replace("_(adjustments|settlements)$", "")


def targets(decisions: pl.DataFrame) -> list[str]:
    return [c for c in decisions.columns if c.endswith("target_weight")]


def test_manifest_has_every_key_with_its_type(seal: Any) -> None:
    manifest = seal.manifest
    assert manifest["seal_version"] == 1
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", manifest["alpha_id"])
    assert manifest["source_alpha_id"] is None or isinstance(manifest["source_alpha_id"], str)
    for key in ("started_at", "sealed_at"):
        assert manifest[key].endswith("Z")
        datetime.fromisoformat(manifest[key])
    assert manifest["started_at"] < manifest["sealed_at"]
    assert set(manifest["engine"]) == {"name", "version"}
    assert manifest["equity_basis"] > 0
    smoothing = manifest["smoothing"]
    assert smoothing["applied"] is (smoothing["half_life_weeks"] is not None)
    assert smoothing["applied"] is (smoothing["detail"] is not None)


def test_every_file_has_the_sealed_size_digest_and_rows(seal: Any) -> None:
    kinds = dict(seal.manifest["kinds"])
    source = kinds.pop("source")
    assert set(kinds) - {"trials"} == {*KEYS, "trades", "metrics", "description"}
    for kind, entry in kinds.items():
        content = (seal.folder / entry["path"]).read_bytes()
        assert len(content) == entry["bytes"]
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert entry.get("rows") == (seal[kind].height if kind in seal.tables else None)
    for relative, digest in source["files"].items():
        content = (seal.folder / source["path"] / relative).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest


def test_the_folder_holds_what_the_manifest_names_and_nothing_else(seal: Any) -> None:
    kinds = seal.manifest["kinds"]
    named = {Path(entry["path"]) for kind, entry in kinds.items() if kind != "source"}
    named |= {Path("source") / relative for relative in kinds["source"]["files"]} | {Path("seal.json")}
    results = {path.relative_to(seal.folder) for path in seal.folder.rglob("*") if path.is_file()}
    assert results == named
    assert not any(path.is_symlink() for path in seal.folder.rglob("*"))


@pytest.mark.parametrize("kind", list(SEALED_TABLES))
def test_columns_types_nulls_and_vocabularies_are_the_declared_ones(seal: Any, kind: str) -> None:
    if SEALED_TABLES[kind].optional and kind not in seal.tables:
        return
    table = seal[kind]
    declared = {column.name: column for column in SEALED_TABLES[kind].sealed_columns}
    assert set(table.columns) <= set(declared)
    assert {name for name, column in declared.items() if not column.optional} <= set(table.columns)
    for name in table.columns:
        column = declared[name]
        assert table.schema[name] == POLARS_TYPES[column.type], name
        assert column.nullable or table[name].null_count() == 0, name
        assert not column.vocabulary or set(table[name].drop_nulls()) <= set(column.vocabulary), name
        if column.type is Type.F64:
            assert table[name].drop_nulls().is_finite().all(), name


def test_raw_columns_exist_exactly_if_the_raw_signal_was_recorded(seal: Any) -> None:
    recorded = seal["portfolio"]["book"].str.starts_with("raw_").any()
    raw = {c for c in seal["decisions"].columns if c.startswith("raw_") or c == "unsmoothed_score"}
    assert bool(raw) == recorded


@pytest.mark.parametrize("kind", list(KEYS))
def test_keys_are_unique_and_rows_ascend_by_key(seal: Any, kind: str) -> None:
    table = seal[kind].select(KEYS[kind])
    assert not table.is_duplicated().any()
    assert table.equals(table.sort(KEYS[kind]))


def test_trades_ascend_by_book_instant_and_symbol(seal: Any) -> None:
    trades = seal["trades"].select("book", "timestamp", "symbol")
    assert trades.equals(trades.sort("book", "timestamp", "symbol"))


def test_week_status_is_a_code_other_than_skipped(seal: Any) -> None:
    assert seal["rebalances"]["week_status"].str.contains("^[a-z][a-z0-9_]*$").all()
    assert "skipped" not in seal["rebalances"]["week_status"]


def test_every_decision_belongs_to_a_rebalance(seal: Any) -> None:
    assert set(seal["decisions"]["date"]) == set(seal["rebalances"]["date"])


def test_untradeable_names_have_a_reason_no_weight_and_no_fill(seal: Any) -> None:
    decisions = seal["decisions"]
    blocked = decisions.filter(~pl.col("next_open_tradeable"))
    assert blocked.height > 0
    reason = decisions["unavailability_reason"].is_not_null()
    assert (decisions["next_open_tradeable"] == ~reason).all()
    assert all((blocked[column] == 0).all() for column in targets(decisions))
    fills = [column for column in ("fill_at", "raw_fill_at") if column in decisions.columns]
    assert all(blocked[column].null_count() == blocked.height for column in fills)


def test_a_pending_week_has_neither_fills_nor_returns(seal: Any) -> None:
    pending = seal["rebalances"].filter(pl.col("week_status") == "pending")
    week = seal["decisions"].join(pending, on="date")
    for column in {"fill_at", "raw_fill_at", "forward_return"} & set(week.columns):
        assert week[column].null_count() == week.height


def test_long_only_weights_are_fully_invested(seal: Any) -> None:
    active = seal["rebalances"].filter(pl.col("week_status").is_in(["traded", "pending"]))
    for column in [c for c in targets(seal["decisions"]) if "long_only" in c]:
        assert (seal["decisions"][column] >= 0).all()
        sums = seal["decisions"].join(active, on="date").group_by("date").agg(pl.col(column).sum())
        assert sums.height == active.height
        assert ((sums[column] - 1).abs() < 1e-9).all()


def test_dollar_neutral_weights_sum_to_zero_and_their_sizes_to_two(seal: Any) -> None:
    active = seal["rebalances"].filter(pl.col("week_status").is_in(["traded", "pending"]))
    weight = pl.col("long_short_target_weight")
    weeks = (
        seal["decisions"]
        .join(active, on="date")
        .group_by("date")
        .agg(net=weight.sum(), gross=weight.abs().sum())
    )
    assert (weeks["net"].abs() < 1e-9).all()
    assert ((weeks["gross"] - 2).abs() < 1e-9).all()


def test_equity_is_the_sum_of_its_flows(seal: Any) -> None:
    book = seal["portfolio"]
    flows = book.select(pl.sum_horizontal("starting_equity", *FLOWS)).to_series()
    assert_equal(book["ending_equity"], flows, seal.basis)


def test_equity_is_cash_and_positions(seal: Any) -> None:
    book = seal["portfolio"]
    assert_equal(book["cash_end"] + book["position_value_end"], book["ending_equity"], seal.basis)


@pytest.mark.parametrize(
    ("opening", "closing"), [("starting_equity", "ending_equity"), ("cash_start", "cash_end")]
)
def test_a_session_opens_where_the_one_before_closed(seal: Any, opening: str, closing: str) -> None:
    book = seal["portfolio"]
    before = book.select(
        pl.col(closing).shift(1).over("book", order_by="date").fill_null(seal.basis)
    ).to_series()
    assert_equal(book[opening], before, seal.basis)


def test_costs_are_never_positive(seal: Any) -> None:
    for kind in ("portfolio", "pnl"):
        for column in ("execution_cost", "borrow_cashflow"):
            assert (seal[kind][column] <= 0).all()
            assert (seal[kind][column] < 0).any()


def test_rounding_closes_the_ledger_and_stays_a_residual(seal: Any) -> None:
    residual = seal["portfolio"]["rounding_adjustment"].abs()
    assert (residual > 0).any()
    assert (residual < 1e-11 * seal.basis).all()


def test_notional_is_quantity_times_mark(seal: Any) -> None:
    held = seal["positions"]
    assert (held["quantity"] != 0).all()
    assert (held["mark_price"] > 0).all()
    assert_equal(held["signed_notional"], held["quantity"] * held["mark_price"], seal.basis)


def test_weight_is_notional_over_the_days_equity(seal: Any) -> None:
    held = seal["positions"].join(seal["portfolio"], on=["book", "date"], how="left")
    assert_equal(held["weight"], held["signed_notional"] / held["ending_equity"], 1.0)


def test_positions_sum_to_the_book(seal: Any) -> None:
    notional, weight = pl.col("signed_notional"), pl.col("weight")
    sums = seal["positions"].group_by("book", "date").agg(
        value=notional.sum(), gross=notional.abs().sum(), net_w=weight.sum(),
        gross_w=weight.abs().sum(), largest=weight.abs().max(),
    )  # fmt: skip
    rows = seal["portfolio"].join(sums, on=["book", "date"], how="left").fill_null(0.0)
    assert_equal(rows["position_value_end"], rows["value"], seal.basis)
    assert_equal(rows["net_notional"], rows["value"], seal.basis)
    assert_equal(rows["gross_notional"], rows["gross"], seal.basis)
    assert_equal(rows["net_exposure"], rows["net_w"], 1.0)
    assert_equal(rows["gross_exposure"], rows["gross_w"], 1.0)
    assert_equal(rows["largest_abs_weight"], rows["largest"], 1.0)


@pytest.mark.parametrize("column", ["market_pnl", "execution_cost", "borrow_cashflow"])
def test_names_sum_to_the_book(seal: Any, column: str) -> None:
    sums = seal["pnl"].group_by("book", "date").agg(total=pl.col(column).sum())
    rows = seal["portfolio"].join(sums, on=["book", "date"], how="left").fill_null(0.0)
    assert_equal(rows[column], rows["total"], seal.basis)


def test_a_name_has_pnl_exactly_if_it_has_a_position_or_fill(seal: Any) -> None:
    keys = ["book", "date", "symbol"]
    fills = seal["trades"].select(
        base_book().alias("book"), pl.col("timestamp").dt.date().alias("date"), "symbol"
    )
    touched = pl.concat([seal["positions"].select(keys), fills]).unique().sort(keys)
    assert seal["pnl"].select(keys).equals(touched)


def test_holdings_are_the_sum_of_their_fills(seal: Any) -> None:
    fills = seal["trades"].select(
        base_book().alias("book"), pl.col("timestamp").dt.date().alias("date"), "symbol", "quantity"
    )
    held = seal["positions"].select("book", "date", "symbol", "quantity")
    for (book, symbol), mine in fills.group_by("book", "symbol"):
        days = seal["portfolio"].filter(pl.col("book") == book).select("date").sort("date")
        traded = days.join(mine.group_by("date").agg(pl.col("quantity").sum()), on="date", how="left")
        running = traded.select(pl.col("quantity").fill_null(0.0).cum_sum()).to_series()
        own = held.filter((pl.col("book") == book) & (pl.col("symbol") == symbol))
        reported = days.join(own, on="date", how="left")["quantity"].fill_null(0.0)
        assert_equal(reported, running, seal.basis)


def test_market_pnl_and_costs_follow_from_positions_and_fills(seal: Any) -> None:
    """P&L is the change in value less the fills at mid."""
    keys = ["book", "date", "symbol"]
    fills = (
        seal["trades"]
        .with_columns(base_book(), date=pl.col("timestamp").dt.date())
        .group_by(keys)
        .agg(put_in=(pl.col("quantity") * pl.col("mid_price")).sum(), paid=pl.col("execution_cost").sum())
    )
    sessions = seal["portfolio"].select(
        "book", "date", after=pl.col("date").shift(-1).over("book", order_by="date")
    )
    before = (
        seal["positions"]
        .join(sessions, on=["book", "date"])
        .select("book", pl.col("after").alias("date"), "symbol", was=pl.col("signed_notional"))
    )
    rows = (
        seal["pnl"]
        .join(seal["positions"].select(*keys, now=pl.col("signed_notional")), on=keys, how="left")
        .join(before, on=keys, how="left")
        .join(fills, on=keys, how="left")
        .with_columns(pl.col("now", "was", "put_in", "paid").fill_null(0.0))
    )
    assert_equal(rows["market_pnl"], rows["now"] - rows["was"] - rows["put_in"], seal.basis)
    assert_equal(rows["execution_cost"], -rows["paid"], seal.basis)


def test_turnover_is_the_fills_of_the_day(seal: Any) -> None:
    fills = (
        seal["trades"]
        .with_columns(base_book(), date=pl.col("timestamp").dt.date())
        .group_by("book", "date")
        .agg(traded=(pl.col("quantity") * pl.col("mid_price")).abs().sum())
    )
    rows = (
        seal["portfolio"]
        .join(fills, on=["book", "date"], how="left")
        .with_columns(pl.col("traded").fill_null(0.0))
    )
    assert_equal(rows["turnover_notional"], rows["traded"], seal.basis)
    assert_equal(rows["turnover"], rows["traded"] / rows["starting_equity"] / 2, 1.0)


def test_carry_is_the_risk_free_rate_on_opening_cash_and_borrow_falls_on_shorts_alone(seal: Any) -> None:
    book = seal["portfolio"]
    assert_equal(book["cash_carry"], book["cash_start"] * book["risk_free_return"], seal.basis)
    held = seal["pnl"].join(seal["positions"], on=["book", "date", "symbol"], how="left")
    short = held["quantity"].fill_null(0.0) < 0
    assert (held["borrow_cashflow"].filter(~short) == 0).all()
    assert (held["borrow_cashflow"].filter(short) < 0).all()


def test_fills_fall_on_sessions_of_their_book_after_the_decision_that_caused_them(seal: Any) -> None:
    trades = seal["trades"].with_columns(base=base_book(), day=pl.col("timestamp").dt.date())
    sessions = seal["portfolio"].select(pl.col("book").alias("base"), pl.col("date").alias("day"))
    assert trades.join(sessions, on=["base", "day"], how="anti").is_empty()
    assert (trades["day"] > trades["decision_at"]).all()
    assert set(trades["decision_at"]) <= set(seal["rebalances"]["date"])


def test_fill_costs_are_fee_and_impact_and_never_favourable(seal: Any) -> None:
    trades = seal["trades"]
    moved = trades["quantity"] * (trades["fill_price"] - trades["mid_price"])
    assert (moved >= 0).all()
    assert (trades["fee"] >= 0).all()
    assert (trades["mid_price"] > 0).all()
    assert (trades["fill_price"] > 0).all()
    assert_equal(trades["execution_cost"], trades["fee"] + moved, seal.basis)


def test_fill_reasons_go_with_their_phase(seal: Any) -> None:
    phases = seal["trades"].select("phase", "rebalance_adjustment_reason", "exit_reason").unique().rows()
    assert set(phases) <= {
        ("open", "entry", None),
        ("rebalance", "weight_increase", None),
        ("rebalance", "weight_decrease", None),
        ("close", "exit", "signal_exit"),
        ("close", "exit", "risk_exit"),
    }


def test_trade_only_variants_hold_forced_fills(seal: Any) -> None:
    trades = seal["trades"]
    forced = trades.filter(pl.col("book").str.ends_with("_settlements"))
    assert forced.height > 0
    assert (forced["exit_reason"] == "risk_exit").all()
    assert (forced["execution_cost"] == 0).all()
    # A settled name has neither decisions nor fills afterwards.
    for symbol, day in forced.select("symbol", pl.col("timestamp").dt.date()).iter_rows():
        assert seal["decisions"].filter((pl.col("symbol") == symbol) & (pl.col("date") >= day)).is_empty()
    within = trades.filter(pl.col("book").str.ends_with("_adjustments"))
    assert within.height > 0
    assert set(within["rebalance_adjustment_reason"]) <= {"weight_decrease", "exit"}
    weekly = trades.filter(base_book() == pl.col("book"))
    assert "risk_exit" not in weekly["exit_reason"]


def test_metric_records_are_complete_and_unique(seal: Any) -> None:
    keys = [(r["name"], r["scope"], r["period"]) for r in seal.metrics]
    assert len(set(keys)) == len(keys)
    for record in seal.metrics:
        assert set(record) == {"name", "scope", "period", "value", "unit", "source_kind", "annualised"}
        shape = {"overall": "", "yearly": r"\d{4}", "monthly": r"\d{4}-\d{2}"}[record["scope"]]
        assert re.fullmatch(shape, record["period"] or "")
        assert record["value"] is None or isinstance(record["value"], float)
        assert record["unit"] in {
            "ratio",
            "percentage_points",
            "base_currency_units",
            "per_year",
            "period_sum",
        }
        assert record["source_kind"] in {"fact", "metric"}
        assert isinstance(record["annualised"], bool)
