"""Notices on runs of the reference engine, honest and with one change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from datasets.figures.series import Floats
from examples.reference_engine import (
    Market,
    RunRecord,
    ledger,
    run_alpha,
    simulate_market,
    write_seal,
)
from examples.reference_engine.fills import execution_price
from schemas.notices import NOTICES
from tests.notices.small_runs import SPEC, given, noticed, report_of, seal_of
from tests.support.seals import rewrite


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(4, 40, 60)


def test_an_honest_run_has_no_notice(market: Market, tmp_path: Path) -> None:
    report = report_of(seal_of(market, tmp_path))
    assert noticed(report) == []
    assert [notice.notice for notice in report.notices] == list(NOTICES)
    outcomes = {notice.notice: notice for notice in report.notices}
    assert outcomes["signal.book_correlation"].value == pytest.approx(0.8, abs=0.15)
    assert outcomes["universe.exits"].reason == "the run spans 1.1 years; 2 are needed"
    assert 2 * 50 < outcomes["signal.weight_ic"].details["sides"] < 2 * 60


def test_costs_halved_for_purchases_alone_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cheap_purchases(mid: Floats, shares: Floats, half_spread: Floats, weight_traded: Floats) -> Floats:
        return execution_price(mid, shares, np.where(shares > 0, half_spread / 2, half_spread), weight_traded)

    monkeypatch.setattr(ledger, "execution_price", cheap_purchases)
    (outcome,) = noticed(report_of(seal_of(market, tmp_path)))
    assert outcome.notice == "fills.uneven_cost"
    assert outcome.value == pytest.approx(0.5, abs=0.1)
    assert (outcome.message or "").startswith("Purchases cost 5")


def test_trading_outside_the_turnover_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exits and changes of weight are booked as adjustments, which the seal declares to be no turnover."""
    genuine = ledger._Books.fill  # noqa: SLF001

    def fill(books: Any, after: Floats, *, variant: str, phase: str, **kind: Any) -> None:
        adjusting = variant == "" and phase != "open"
        genuine(books, after, variant="_adjustments" if adjusting else variant, phase=phase, **kind)

    monkeypatch.setattr(ledger._Books, "fill", fill)  # noqa: SLF001
    run = run_alpha(market, SPEC)
    entries = (
        run.tables["trades"]
        .filter(~pl.col("book").str.ends_with("_adjustments"))
        .with_columns(pl.col("book").str.strip_suffix("_settlements"))
        .group_by("book", date=pl.col("timestamp").dt.date())
        .agg(entered=(pl.col("quantity") * pl.col("mid_price")).abs().sum())
    )
    portfolio = run.tables["portfolio"].join(entries, on=["book", "date"], how="left", maintain_order="left")
    entered = pl.col("entered").fill_null(0.0)
    tables = {
        **run.tables,
        "decisions": run.tables["decisions"].with_columns(fill_at=pl.lit(None, pl.Datetime("us", "UTC"))),
        "portfolio": portfolio.with_columns(
            turnover_notional=entered, turnover=entered / 2 / pl.col("starting_equity")
        ).drop("entered"),
    }
    manifest = {**run.manifest, "reconciliation": {"outside_turnover": ["adjustments"]}}
    seal = write_seal(tmp_path / "seal", RunRecord(manifest, tables, None, None, None))
    (outcome,) = noticed(report_of(seal))
    assert outcome.notice == "fills.outside_turnover"
    assert outcome.value == pytest.approx(0.67, abs=0.1)


def dealt_out_by(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Reassign the forward returns of each week in the order of a column."""

    def deal(frame: pl.DataFrame) -> pl.DataFrame:
        known = pl.col("forward_return").is_not_null() & pl.col(column).is_not_null()
        order = pl.col(column).filter(known).rank("ordinal").cast(pl.Int64) - 1
        weeks = []
        for week in frame.partition_by("date", maintain_order=True):
            some, rest = week.filter(known), week.filter(~known)
            returns = some["forward_return"].sort()
            place = some.select(order)[column]
            weeks.append(pl.concat([some.with_columns(forward_return=returns.gather(place)), rest]))
        return pl.concat(weeks).sort("date", "symbol")

    return deal


def test_carefully_reassigned_forward_returns_are_noticed(market: Market, tmp_path: Path) -> None:
    seal = seal_of(market, tmp_path, trades=False)

    def deal(frame: pl.DataFrame) -> pl.DataFrame:
        luck = pl.Series("luck", np.random.default_rng(1).normal(0, 1, frame.height))
        wanted = 0.1 * pl.col("score").rank().over("date") / pl.len().over("date") + luck
        return dealt_out_by("wanted")(frame.with_columns(wanted=wanted)).drop("wanted")

    rewrite(seal, "decisions", deal)
    assert "signal.book_correlation" in given(seal)
