"""Runs too large for memory are checked and built in chunks with identical results."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow.parquet as pq
import pytest
from alpha_results_seal import Ledger, SealWriter

from pipeline.rules import check
from pipeline.seal import Seal
from pipeline.seal.seal import LARGE_KINDS
from pipeline.snapshot_builder import build_seal
from schemas.errors import DiskUnavailable, StorageUnavailable
from tests.support.seals import make_seal, rewrite
from tests.support.small_disk import small_disk

Cut = Callable[[int], None]

SPOILT = (
    ("positions", "quantity"),
    ("positions", "signed_notional"),
    ("positions", "weight"),
    ("pnl", "market_pnl"),
    ("pnl", "execution_cost"),
    ("pnl", "borrow_cashflow"),
    ("trades", "quantity"),
    ("trades", "mid_price"),
    ("trades", "execution_cost"),
    ("decisions", "long_short_target_weight"),
    ("decisions", "long_only_target_weight"),
    ("decisions", "forward_return"),
    ("decisions", "score"),
    ("positions", "mark_price"),
    ("portfolio", "turnover"),
    ("portfolio", "cash_end"),
)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    """Return a function that sets the rows per chunk; 0 disables chunks."""

    def cut(rows: int) -> None:
        monkeypatch.setattr("pipeline.seal.seal.LARGE_ROWS", -1 if rows else 1 << 60)
        monkeypatch.setattr("pipeline.rules.in_parts.PART_ROWS", rows)
        monkeypatch.setattr("pipeline.snapshot_builder.in_parts.PART_ROWS", rows)

    return cut


@pytest.fixture
def no_complete_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid decoding a complete large table."""
    decode = Seal.decode

    def refuse(seal: Seal, kind: str) -> Any:
        assert kind not in LARGE_KINDS, f"{kind} was decoded whole"
        return decode(seal, kind)

    monkeypatch.setattr(Seal, "decode", refuse)


@pytest.fixture(scope="module")
def seal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("run"), weeks=14)


def _scaled(frame: pl.DataFrame, column: str, factor: pl.Expr) -> pl.DataFrame:
    return frame.with_columns(pl.col(column) * factor)


def published(seal: Path, root: Path) -> dict[str, str]:
    build_seal(str(seal), root)
    files = {str(path.relative_to(root)): path for path in (root / "alphas").rglob("*") if path.is_file()}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def reported(seal: Path) -> dict[str, Any]:
    return check(Seal.open(str(seal)), figures=False).to_dict()


def of_few_sessions(folder: Path) -> Path:
    """Write a run of four weeks, since one part per row costs the same for each session of a run."""
    days = pl.date_range(date(2024, 1, 1), date(2024, 1, 26), eager=True)
    days = days.filter(days.dt.weekday() < 6)
    moves = np.random.default_rng(1).normal(0.0, 0.02, (days.len(), 6))
    close = pl.DataFrame(20.0 * np.exp(moves.cumsum(axis=0)), list("ABCDEF"))
    close.insert_column(0, days.alias("date"))
    ledger = Ledger.from_scores(close, close)
    return SealWriter(folder / "Test_few", alpha_id="Test_few").add_ledger(ledger).write()


@pytest.mark.parametrize("rows", [1, 157, 10**6])
def test_chunk_boundaries_change_no_byte(tmp_path: Path, cut: Cut, rows: int) -> None:
    seal = of_few_sessions(tmp_path) if rows == 1 else make_seal(tmp_path, weeks=14)
    cut(0)
    full = published(seal, tmp_path / "whole")
    cut(rows)
    assert published(seal, tmp_path / "parts") == full
    assert len(full) > 15


@pytest.mark.parametrize(
    "sealed", [{"raw": False, "half_life_weeks": None}, {"trades": False}, {"ranks": True, "metrics": False}]
)
def test_partial_runs_in_chunks_give_the_same_bytes(tmp_path: Path, cut: Cut, sealed: dict[str, Any]) -> None:
    made = make_seal(tmp_path, weeks=14, **sealed)
    cut(0)
    full = published(made, tmp_path / "whole")
    cut(300)
    assert published(made, tmp_path / "parts") == full, "the manifest holds the outcome of every rule, too"


@pytest.mark.parametrize("rows", [0, 300])
def test_large_files_have_few_row_groups(
    tmp_path: Path, seal: Path, cut: Cut, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr("pipeline.snapshot_builder.write.ROW_GROUP_ROWS", 1)
    cut(rows)
    build_seal(str(seal), tmp_path)
    groups = [pq.read_metadata(path).num_row_groups for path in tmp_path.rglob("*.parquet")]
    assert max(groups) == 32


@pytest.mark.usefixtures("no_complete_decoding")
def test_no_large_table_is_decoded_at_once(seal: Path, tmp_path: Path, cut: Cut) -> None:
    cut(500)
    assert build_seal(str(seal), tmp_path / "root").changed


@pytest.mark.parametrize(("kind", "column"), SPOILT)
def test_violations_in_the_last_chunk_are_reported_as_in_memory(
    tmp_path: Path, cut: Cut, kind: str, column: str
) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False)
    last = pl.int_range(pl.len()) == pl.len() - 1
    factor = pl.when(last).then(1.5).otherwise(1.0)
    rewrite(made, kind, partial(_scaled, column=column, factor=factor))
    cut(0)
    full = reported(made)
    cut(211)
    assert reported(made) == full


@pytest.mark.parametrize("trades", [False, True])
def test_a_book_against_its_scores_is_reported_in_parts_of_less_than_four_weeks(
    tmp_path: Path, cut: Cut, trades: bool
) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False, trades=trades)
    rewrite(made, "decisions", lambda frame: frame.with_columns(score=-pl.col("score")))
    rewrite(made, "seal", lambda seal: seal | {"reconciliation": {"targets": "advisory"}})
    cut(0)
    full = reported(made)
    assert "decisions.sides" in [violation["rule"] for violation in full["violations"]]
    cut(150)
    assert reported(made) == full


@pytest.mark.parametrize("kind", ["decisions", "positions", "pnl"])
def test_duplicate_rows_are_reported_across_chunks(tmp_path: Path, cut: Cut, kind: str) -> None:
    made = make_seal(tmp_path, weeks=14)
    rewrite(made, kind, lambda frame: pl.concat([frame, frame[:1]]))
    cut(97)
    assert "table.key" in [violation["rule"] for violation in reported(made)["violations"]]


@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_an_unsorted_table_is_published_as_in_memory(tmp_path: Path, cut: Cut, kind: str) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False)
    rewrite(made, kind, lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=3))
    cut(0)
    full = published(made, tmp_path / "whole")
    cut(211)
    assert published(made, tmp_path / "parts") == full


def test_a_convention_of_turnover_has_to_hold_for_all_parts_together(tmp_path: Path, cut: Cut) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False)
    ending = 0.5 * pl.col("turnover_notional") / pl.col("ending_equity")
    rewrite(
        made,
        "portfolio",
        lambda frame: frame.with_columns(
            turnover=pl.when(pl.col("date") > frame["date"].median()).then(ending).otherwise("turnover")
        ),
    )
    cut(0)
    full = reported(made)
    assert "portfolio.turnover" in [violation["rule"] for violation in full["violations"]]
    cut(150)
    assert reported(made) == full


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("instants", [True, False])
def test_the_coverage_of_forward_returns_is_the_same_in_chunks(
    tmp_path: Path, cut: Cut, adjusted: bool, instants: bool
) -> None:
    made = make_seal(tmp_path, weeks=14, source=False)
    if adjusted:
        rewrite(made, "pnl", lambda frame: frame.with_columns(quantity_adjustment=0.0, cash_adjustment=0.0))
    if not instants:
        rewrite(made, "decisions", lambda frame: frame.drop("entry_at", "maturity_at"))
    cut(0)
    full = reported(made)
    assert full["coverage"]["decisions.forward_return"]["checked"] > 0
    cut(400)
    assert reported(made) == full


@pytest.mark.parametrize("rows", [0, 300])
def test_trials_of_a_run_without_their_book_are_not_checked(tmp_path: Path, cut: Cut, rows: int) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False, tried=(1.0,), metrics=False)
    books = pl.col("book").str.replace("^long_short", "flagship")
    for kind in ("portfolio", "positions", "pnl", "trades"):
        rewrite(made, kind, lambda frame: frame.with_columns(books))
    cut(rows)
    report = reported(made)
    assert not report["refused"]
    assert {"rule": "trials.own", "reason": "the run sealed no ledger of long_short"} in report["not_checked"]
    days = pl.read_parquet(made / "trials.parquet")["date"].n_unique()
    assert report["coverage"]["trials.own"] == {"checked": 0, "of": 2 * days}
    build_seal(str(made), tmp_path / "root")
    (manifest,) = (tmp_path / "root").rglob("manifest.json")
    (own,) = (x for x in orjson.loads(manifest.read_bytes())["checks"] if x["rule"] == "trials.own")
    assert own["outcome"] == "not_checked"


@pytest.mark.parametrize("rows", [0, 300])
def test_advisory_targets_are_not_checked(tmp_path: Path, cut: Cut, rows: int) -> None:
    made = make_seal(tmp_path, weeks=14, raw=False)
    rewrite(made, "seal", lambda seal: seal | {"reconciliation": {"targets": "advisory"}})
    cut(rows)
    report = reported(made)
    reason = "the seal declares reconciliation.targets advisory"
    assert report["not_checked"] == [{"rule": "decisions.target", "reason": reason}]
    decisions = pl.read_parquet(made / "decisions.parquet").height
    assert report["coverage"]["decisions.target"] == {"checked": 0, "of": decisions}
    build_seal(str(made), tmp_path / "root")
    (manifest,) = (tmp_path / "root").rglob("manifest.json")
    (own,) = (x for x in orjson.loads(manifest.read_bytes())["checks"] if x["rule"] == "decisions.target")
    assert (own["outcome"], own["reason"]) == ("not_checked", reason)


@pytest.mark.parametrize("rows", [0, 300])
def test_targets_without_a_week_to_compare_are_not_checked(tmp_path: Path, cut: Cut, rows: int) -> None:
    """No target weights are sealed for books with names of the engine's own."""
    made = make_seal(tmp_path, weeks=14, raw=False, metrics=False)
    for kind in ("portfolio", "positions", "pnl", "trades"):
        rewrite(made, kind, lambda frame: frame.with_columns(book="own_" + pl.col("book")))
    cut(rows)
    report = reported(made)
    assert not report["refused"]
    reason = "no book with target weights filled a traded week in a session of its own"
    assert {"rule": "decisions.target", "reason": reason} in report["not_checked"]
    decisions = pl.read_parquet(made / "decisions.parquet").height
    assert report["coverage"]["decisions.target"] == {"checked": 0, "of": decisions}


@pytest.mark.usefixtures("no_complete_decoding")
def test_a_warning_does_not_load_a_large_table_into_memory(tmp_path: Path, cut: Cut) -> None:
    made = make_seal(tmp_path, weeks=14, ranks=True)
    cohort = pl.col("average_rank").max().over("date")
    rewrite(
        made, "decisions", lambda frame: frame.with_columns(average_rank=cohort + 1 - pl.col("average_rank"))
    )
    rewrite(
        made,
        "portfolio",
        lambda frame: frame.with_columns(risk_free_return=pl.col("risk_free_return") + 1e-3),
    )
    cut(150)
    warned = {warning["rule"]: warning for warning in reported(made)["warnings"]}
    assert set(warned) == {"decisions.rank_order", "portfolio.carry"}
    decisions = pl.read_parquet(made / "decisions.parquet")
    assert warned["decisions.rank_order"]["rows"] > decisions.height // 2


def test_a_large_seal_without_a_folder_for_its_copies_may_be_checked_later(
    seal: Path, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(100)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    with pytest.raises(DiskUnavailable, match=r"No usable temporary directory .*; free space in one"):
        check(Seal.open(str(seal)))


def test_a_disk_that_is_full_while_a_part_is_written_is_named(seal: Path, tmp_path: Path, cut: Cut) -> None:
    cut(100)
    with small_disk(tmp_path / "disk") as disk:
        root, reason = disk.folder / "root", r"\.parquet cannot be written: no space is left"
        with disk.full(), pytest.raises(StorageUnavailable, match=reason):
            build_seal(str(seal), root)
        assert build_seal(str(seal), root).changed
