"""The real runs keep every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.rules import check
from pipeline.seal import Seal

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


@pytest.mark.parametrize("name", UNCHECKED)
def test_a_real_run_passes_every_rule(shared: Path, name: str) -> None:
    seal = Seal.open(str(shared / "seals" / name))
    report = check(seal)
    assert report.violations == ()
    assert report.warnings == ()
    assert {entry.rule for entry in report.not_checked} == UNCHECKED[name]
    rows = {kind: entry.rows for kind, entry in seal.kinds.items() if entry.rows is not None}
    assert {kind: report.counts[kind] for kind in rows} == rows
