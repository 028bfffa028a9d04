"""What the engine seals beyond what the rules require."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl


def base_book() -> pl.Expr:
    return pl.col("book").str.replace("_(adjustments|settlements)$", "")


def test_the_folder_holds_what_the_manifest_names_and_nothing_else(seal: Any) -> None:
    kinds = seal.manifest["kinds"]
    named = {Path(entry["path"]) for kind, entry in kinds.items() if kind != "source"}
    named |= {Path("source") / relative for relative in kinds["source"]["files"]} | {Path("seal.json")}
    results = {path.relative_to(seal.folder) for path in seal.folder.rglob("*") if path.is_file()}
    assert results == named
    assert not any(path.is_symlink() for path in seal.folder.rglob("*"))


def test_raw_columns_exist_exactly_if_the_raw_signal_was_recorded(seal: Any) -> None:
    recorded = seal["portfolio"]["book"].str.starts_with("raw_").any()
    raw = {c for c in seal["decisions"].columns if c.startswith("raw_") or c == "unsmoothed_score"}
    assert bool(raw) == recorded


def test_a_name_has_pnl_exactly_if_it_has_a_position_or_fill(seal: Any) -> None:
    keys = ["book", "date", "symbol"]
    fills = seal["trades"].select(
        base_book().alias("book"), pl.col("timestamp").dt.date().alias("date"), "symbol"
    )
    touched = pl.concat([seal["positions"].select(keys), fills]).unique().sort(keys)
    assert seal["pnl"].select(keys).equals(touched)


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
