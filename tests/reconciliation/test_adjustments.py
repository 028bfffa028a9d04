"""Adjustments of shares and cash are published, so that served tables reconcile."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import datasets
from datasets.storage import open_storage
from pipeline.housekeeping.verify import verify
from pipeline.rules.checking import check
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from tests.reconciliation.ledgers import dividend_of_the_last_evening, split_of_the_last_evening
from tests.support.application import running
from tests.support.seals import make_seal, rewrite

ADJUSTED, PLAIN = "Test_adjusted", "Test_plain"
COLUMNS = {"quantity_adjustment", "cash_adjustment"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adjusted")
    seal = make_seal(folder, alpha_id=ADJUSTED, weeks=14, metrics=False)
    split_of_the_last_evening(seal)()
    dividend_of_the_last_evening(seal)()
    build_seal(str(seal), folder / "root")
    build_seal(str(make_seal(folder, alpha_id=PLAIN, weeks=14)), folder / "root")
    return folder / "root"


def test_adjustments_are_served_if_sealed(root: Path) -> None:
    sealed = pl.read_parquet(root.parent / ADJUSTED / "pnl.parquet").filter(pl.col("book") == "long_only")
    moved = sealed.filter(pl.col("cash_adjustment") != 0).row(0, named=True)
    with running(root) as api:
        key = api.key()
        path = f"/v1/alphas/{ADJUSTED}/pnl?book=long_only&symbol={moved['symbol']}&limit=500"
        rows = api.json(path, key)["data"]
        (row,) = [row for row in rows if row["cash_adjustment"] != 0]
        assert (row["date"], row["cash_adjustment"]) == (str(moved["date"]), moved["cash_adjustment"])
        assert row["quantity_adjustment"] == moved["quantity_adjustment"] > 0
        plain = api.json(f"/v1/alphas/{PLAIN}/pnl?book=long_only&limit=5", key)["data"]
        assert plain
        assert not any(COLUMNS & set(row) for row in plain)
    assert set(datasets.open(root)[ADJUSTED].scan("pnl", "long_only").collect_schema()) >= COLUMNS


def test_published_tables_with_adjustments_pass_every_rule(root: Path) -> None:
    storage = open_storage(str(root))
    assert verify(storage, ADJUSTED).faults == []
    adjusted, plain = (datasets.open(root)[alpha].manifest for alpha in (ADJUSTED, PLAIN))
    assert (adjusted.reconciliation["adjusted"], plain.reconciliation["adjusted"]) == (True, False)
    (forward,) = [x for x in adjusted.checks if x["rule"] == "decisions.forward_return"]
    assert forward["checked"] > 0


@pytest.mark.parametrize("damage", ["a lost file", "a column of text"])
def test_rows_that_unreadable_adjustments_explain_are_not_blamed(
    damage: str, root: Path, tmp_path: Path
) -> None:
    seal = tmp_path / ADJUSTED
    shutil.copytree(root.parent / ADJUSTED, seal)
    if damage == "a lost file":
        (seal / "pnl.parquet").unlink()
    else:
        rewrite(seal, "pnl", lambda rows: rows.with_columns(pl.col(*COLUMNS).cast(pl.String)))
    report = check(Seal.open(str(seal)))
    assert len(report.violations) == 1
    unchecked = {entry.rule for entry in report.not_checked if not entry.reason.startswith("in part")}
    assert unchecked >= {"positions.fills", "pnl.market", "portfolio.cash_flow", "decisions.forward_return"}
