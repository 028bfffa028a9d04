"""The real runs keep every rule, have true notices, agree with the prices of their market, and state true figures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from pipeline.rules import Report, check
from pipeline.seal import Seal
from schemas.notices.notice import NOTICE

# These rules are not checked, because the run did not seal their data.
UNCHECKED: dict[str, set[str]] = {
    "Test_sp500_momentum": set(),
    "Test_sp500_reversal": set(),
    "sp500_lowvol": {
        "trades.session",
        "trades.reasons",
        "trades.cost",
        "trades.decision",
        "positions.fills",
        "pnl.market",
        "pnl.execution_cost",
        "pnl.borrow",
        "portfolio.cash_flow",
        "portfolio.execution_cost",
        "portfolio.turnover_notional",
        "decisions.target",
        "decisions.fill_at",
        "trades.one_price",
        "decisions.forward_return",
    },
}


class Checked(NamedTuple):
    name: str
    seal: Seal
    report: Report


@pytest.fixture(scope="module", params=UNCHECKED)
def run(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """Check a real run once, with prices."""
    prices = tmp_path_factory.mktemp("prices")
    for file in ("prices_sp500.parquet", "prices_sp500_former.parquet"):
        shutil.copy(shared / "data" / file, prices / file)
    seal = Seal.open(str(shared / "seals" / request.param))
    return Checked(request.param, seal, check(seal, prices=str(prices)))


def test_a_real_run_passes_every_rule(run: Checked) -> None:
    report = run.report
    assert report.violations == ()
    assert report.warnings == ()
    assert {entry.rule for entry in report.not_checked} == UNCHECKED[run.name]
    rows = {kind: entry.rows for kind, entry in run.seal.kinds.items() if entry.rows is not None}
    assert {kind: report.counts[kind] for kind in rows} == rows


def test_notices_on_real_runs_are_true(run: Checked) -> None:
    result = [notice for notice in run.report.notices if notice.outcome == NOTICE]
    # sp500_lowvol also states raw_mean_ic and raw_icir, without a signal before smoothing.
    assert [notice.notice for notice in result] == (["universe.exits"] if run.name == "sp500_lowvol" else [])
    if result:
        decisions = run.seal.table("decisions")
        last = decisions.filter(pl.col("date") == pl.col("date").max())
        assert decisions["symbol"].n_unique() == last.height == 120


def test_real_runs_agree_with_their_market(run: Checked) -> None:
    outcomes = {x.notice: x for x in run.report.notices if x.notice.startswith("market.")}
    assert not [outcome for outcome in outcomes.values() if outcome.outcome == NOTICE]
    assert outcomes["market.forward_returns"].details["cells"] > 10_000


def test_figures_of_real_runs_are_reproduced(run: Checked) -> None:
    stated = [figure for figure in run.report.figures if figure.sealed is not None]
    assert bool(stated) == (run.name != "Test_sp500_reversal")
    assert not [figure for figure in stated if figure.status == "not_reproduced"]
    unknown = {"raw_mean_ic", "raw_icir"} if run.name == "sp500_lowvol" else set()
    assert {figure.name for figure in stated if figure.status == "not_checked"} == unknown
