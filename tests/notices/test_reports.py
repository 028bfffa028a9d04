"""Notices in reports, manifests and JSON, and what is judged where evidence is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import datasets
from examples.reference_engine import (
    AlphaSpec,
    Market,
    RunRecord,
    ledger,
    run_alpha,
    simulate_market,
    strategy,
    write_seal,
)
from examples.reference_engine.weekly_tables import forward_returns
from pipeline.group import cli
from pipeline.rules import RULES, check
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from schemas.notices import NOTICES
from schemas.notices.moves import MOVE_NOTICES
from tests.notices.small_runs import SPEC, free_to_borrow, given, report_of, seal_of
from tests.support.pipeline_command import build
from tests.support.seals import make_seal, rewrite


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(4, 40, 60)


def test_notices_are_printed_and_in_the_json_of_a_check(market: Market, tmp_path: Path) -> None:
    seal = seal_of(free_to_borrow(market), tmp_path)
    for flags in ([], ["--strict"]):
        printed = CliRunner().invoke(cli, ["check", *flags, str(seal)])
        assert printed.exit_code == 0
        text = " ".join(printed.stdout.split())
        assert "notice book.borrow: long_short paid 0.000% a year to borrow what it was short." in text
    output = json.loads(CliRunner().invoke(cli, ["check", "--json", str(seal)]).stdout)["seals"][0]
    assert [notice["notice"] for notice in output["notices"]] == list(NOTICES)
    assert [x["notice"] for x in output["notices"] if x["outcome"] == "notice"] == ["book.borrow"]
    assert output["refused"] is False


def test_a_refused_seal_has_no_notices(market: Market, tmp_path: Path) -> None:
    seal = seal_of(free_to_borrow(market), tmp_path)
    rewrite(seal, "portfolio", lambda frame: frame.with_columns(cash_end=pl.col("cash_end") + 1))
    report = check(Seal.open(str(seal)))
    assert report.refused
    assert report.notices == ()


def test_a_build_reports_and_records_notices_and_rules(market: Market, tmp_path: Path) -> None:
    seal = seal_of(free_to_borrow(market), tmp_path)
    rewrite(seal, "seal", lambda document: document | {"surprise": 1})
    result = build_seal(str(seal), tmp_path / "root")
    assert [notice["notice"] for notice in result.notices] == ["book.borrow"]
    manifest = datasets.open(tmp_path / "root")["Test_noticed"].manifest
    assert [notice["notice"] for notice in manifest.notices] == list(NOTICES)
    output = json.loads(CliRunner().invoke(cli, ["check", "--json", str(seal)]).stdout)["seals"][0]["notices"]
    at_publication = {
        "catalogue.prices",
        "catalogue.one_name",
        "catalogue.forward_returns",
        "history.restated",
    }
    assert [x for x in manifest.notices if x["notice"] not in at_publication] == [
        x for x in output if x["notice"] not in at_publication
    ]
    # The rule on signatures is not checked if no signature is required.
    assert [entry["rule"] for entry in manifest.checks] == [
        rule for rule in RULES if rule != "seal.signature"
    ]
    outcomes = {entry["rule"]: entry for entry in manifest.checks}
    assert outcomes["seal.unknown"]["outcome"] == "notice"
    assert outcomes["portfolio.identity"]["outcome"] == "pass"
    assert outcomes["trials.days"]["reason"] == "the run sealed no trials"
    assert outcomes["metrics.reproduced"]["outcome"] == "not_checked"
    assert "notice book.borrow" in build(tmp_path / "other", str(seal)).output


def test_a_seal_that_restates_an_earlier_one_is_noticed(market: Market, tmp_path: Path) -> None:
    results = []
    for month, half_life in enumerate((2.0, 2.0, 4.0), 1):
        spec = replace(
            SPEC,
            half_life_weeks=half_life,
            sealed_at=f"2026-0{month}-05T07:30:00Z",
            started_at="2026-01-01T06:00:00Z",
        )
        results.append(build_seal(str(seal_of(market, tmp_path / str(month), spec)), tmp_path / "root"))
    assert [[x["notice"] for x in result.notices] for result in results] == [[], [], ["history.restated"]]
    (actual,) = results[-1].notices
    assert actual["value"] > 40
    assert actual["details"] == {"earlier_seals": 2, "restated_seals": 2}
    assert "scores" in actual["message"]


def test_a_partial_seal_is_judged_by_its_tables(tmp_path: Path) -> None:
    bare = make_seal(tmp_path, without_kinds=("positions", "pnl", "trades", "portfolio", "metrics"))
    outcomes = {notice.notice: notice for notice in report_of(bare).notices}
    assert outcomes["signal.mean_ic"].outcome == "pass"
    assert outcomes["book.sharpe"].reason == "it needs portfolio, which the run did not all seal"
    empty = make_seal(
        tmp_path / "other", without_kinds=("decisions", "positions", "pnl", "trades"), metrics=False
    )
    outcomes = {notice.notice: notice for notice in report_of(empty).notices}
    assert outcomes["signal.mean_ic"].outcome == "not_checked"
    assert outcomes["book.sharpe"].outcome == "pass"


@pytest.mark.parametrize(
    ("sealed", "needed"),
    [
        (
            ("rebalances", "decisions"),
            {
                "signal.forward_returns_proven": "decisions and trades",
                "signal.irregular_weeks": "decisions and portfolio",
                "book.timing": None,
                "book.target_size": "decisions and portfolio",
                "universe.frozen_marks": "portfolio and positions",
                "book.stale_marks": "portfolio and positions",
            },
        ),
        (
            ("rebalances", "portfolio"),
            {
                "signal.irregular_weeks": "decisions and portfolio",
                "book.timing": "decisions, rebalances and portfolio",
                "book.tilt": "decisions, positions and portfolio",
                "book.target_size": "decisions and portfolio",
                "universe.exits": "decisions",
            },
        ),
    ],
    ids=["no ledger", "no decisions"],
)
def test_the_reason_names_a_table_that_the_run_lacks(
    market: Market, tmp_path: Path, sealed: tuple[str, ...], needed: dict[str, str | None]
) -> None:
    run = run_alpha(market, SPEC)
    tables = {kind: run.tables[kind] for kind in sealed}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = {notice.notice: notice.reason for notice in report_of(seal).notices}
    assert {notice: outcomes[notice] for notice in needed} == {
        notice: f"it needs {kinds}, which the run did not all seal"
        if kinds
        else "the run has no ledger of long_short"
        for notice, kinds in needed.items()
    }


def test_a_run_of_long_only_has_no_target_size(market: Market, tmp_path: Path) -> None:
    run = run_alpha(market, SPEC)
    tables = {kind: run.tables[kind] for kind in ("rebalances", "decisions", "portfolio")}
    tables["portfolio"] = tables["portfolio"].filter(pl.col("book") == "long_only")
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = {notice.notice: notice.reason for notice in report_of(seal).notices}
    assert outcomes["book.target_size"] == "the run has no ledger of long_short"


def test_a_book_that_stays_in_cash_has_no_marks_to_judge(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decide(*arguments: Any) -> strategy.Decisions:
        decisions = genuine(*arguments)
        decisions.weights["long_short"] = np.zeros_like(decisions.weights["long_short"])
        return decisions

    genuine = strategy.decide
    monkeypatch.setattr("examples.reference_engine.run.decide", decide)
    outcomes = {notice.notice: notice for notice in report_of(seal_of(market, tmp_path)).notices}
    for notice in MOVE_NOTICES:
        assert outcomes[notice.id].reason == "long_short holds no name at a close"


def test_weeks_before_the_first_score_and_one_skipped_week_need_no_proof(tmp_path: Path) -> None:
    """A run of 30 weeks warms up in the first ones, skips one for want of prices, and measures the returns of all."""
    market = simulate_market(4, 40, 30)
    run = run_alpha(market, SPEC)
    rows = run.tables["decisions"]
    week = np.searchsorted(market.schedule[market.decisions], rows["date"].to_numpy())
    name = np.searchsorted(np.array(market.symbols), rows["symbol"].to_numpy().astype(str))
    returns = pl.Series(forward_returns(market)[week, name], nan_to_null=True)
    tables = {**run.tables, "decisions": rows.with_columns(forward_return=returns)}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = {notice.notice: notice for notice in report_of(seal).notices}["signal.unproven_weeks"]
    assert (outcome.outcome, outcome.reason) == ("pass", None)
    assert outcome.details["unproven"] <= 2


def test_fills_that_represent_a_day_are_no_price_at_an_instant(market: Market, tmp_path: Path) -> None:
    """Fills are stamped with the close; those of every fourth name are two halves, 1% above and below the mid."""
    run = run_alpha(market, SPEC)
    tables = {
        kind: table.filter(pl.col("book").str.starts_with("long_short")) if "book" in table.columns else table
        for kind, table in run.tables.items()
    }
    closes = tables["portfolio"].select(pl.col("date").alias("_day"), pl.col("timestamp").alias("_close"))

    def at_close(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        for column in columns:
            joined = frame.with_columns(_day=pl.col(column).dt.date()).join(
                closes, on="_day", how="left", maintain_order="left"
            )
            frame = joined.with_columns(pl.col("_close").alias(column)).drop("_day", "_close")
        return frame

    trades = at_close(tables["trades"], "timestamp")
    sliced = pl.col("symbol").is_in(market.symbols[::4])
    shift = 0.01 * pl.col("mid_price") * pl.when(pl.col("timestamp").dt.week() % 2 == 0).then(1).otherwise(-1)
    halves = [
        trades.filter(sliced).with_columns(
            *(pl.col(name) / 2 for name in ("quantity", "fee", "execution_cost")),
            *(pl.col(name) + sign * shift for name in ("mid_price", "fill_price")),
        )
        for sign in (1, -1)
    ]
    fills = pl.concat([trades.filter(~sliced), *halves])
    tables["trades"] = fills.sort("book", "timestamp", "symbol", maintain_order=True)
    filled = trades.select("symbol", fill_at="timestamp", filled=pl.lit(True)).unique()
    decisions = at_close(tables["decisions"], "fill_at", "entry_at", "maturity_at").join(
        filled, on=["symbol", "fill_at"], how="left", maintain_order="left"
    )
    tables["decisions"] = decisions.with_columns(pl.when("filled").then("fill_at")).drop("filled")
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = {notice.notice: notice for notice in report_of(seal).notices}["signal.chained_returns"]
    assert (outcome.outcome, outcome.value) == ("pass", 0.0)


def test_a_sample_with_few_traded_names_leaves_weeks_unproven_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 400 names, of which the books hold eight, the sample has 64."""
    monkeypatch.setattr(strategy, "TAIL", 0.01)
    seal = seal_of(simulate_market(4, 400, 40), tmp_path)
    outcomes = {notice.notice: notice for notice in report_of(seal).notices}
    assert outcomes["signal.unproven_weeks"].outcome == "not_checked"
    assert "5 are needed" in (outcomes["signal.unproven_weeks"].reason or "")


def test_a_book_that_hardly_trades_leaves_weeks_unproven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holdings are rebalanced only if they are off by 1% of the equity, so fills of most weeks prove one or two names, or none."""
    monkeypatch.setattr(ledger, "NO_TRADE_BAND", 0.01)
    spec = AlphaSpec("Test_slow", "low_volatility", half_life_weeks=26.0, raw=False)
    outcomes = {x.notice: x for x in report_of(seal_of(simulate_market(21, 60, 110), tmp_path, spec)).notices}
    assert "names; 5 are needed" in (outcomes["signal.unproven_weeks"].reason or "")


def test_a_book_that_hardly_trades_proves_few_forward_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "NO_TRADE_BAND", 0.02)
    spec = AlphaSpec("Test_slow", "low_volatility", half_life_weeks=26.0, raw=False)
    seal = seal_of(simulate_market(21, 60, 110), tmp_path, spec)
    proven = {x.notice: x for x in report_of(seal).notices}["signal.forward_returns_proven"]
    assert proven.outcome == "pass"
    assert proven.value == pytest.approx(0.007, abs=0.001)
    later = pl.col("entry_at", "maturity_at") + pl.duration(minutes=1)
    rewrite(seal, "decisions", lambda frame: frame.with_columns(later))
    assert "signal.forward_returns_proven" in given(seal)


def test_a_book_of_few_names_is_judged_by_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six of 400 names hardly relate the book to the IC of all, and prove few of their forward returns."""
    monkeypatch.setattr(strategy, "TAIL", 0.01)
    seal = seal_of(simulate_market(4, 400, 40), tmp_path)
    outcomes = {notice.notice: notice for notice in report_of(seal).notices}
    assert "the book holds 1.4% of the scored names" in (outcomes["signal.book_correlation"].reason or "")
    proven = outcomes["signal.forward_returns_proven"]
    assert proven.value is not None
    assert (proven.outcome, proven.value < 0.05) == ("pass", True)
    later = pl.col("entry_at", "maturity_at") + pl.duration(minutes=1)
    rewrite(seal, "decisions", lambda frame: frame.with_columns(later))
    assert "signal.forward_returns_proven" in given(seal)


def test_every_notice_is_declared_completely() -> None:
    for id_, notice in NOTICES.items():
        assert id_ == notice.id
        assert notice.meaning.endswith(".")
        assert notice.definition
        assert notice.source
