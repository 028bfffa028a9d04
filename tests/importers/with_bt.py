"""Seals real results of bt; prints bt's own figures as JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bt
import pandas as pd
from alpha_results_seal import Calendar, SealError, SealWriter
from alpha_results_seal.bt import ledger_from_bt

FOLDER = Path(sys.argv[1])
CLOSE = pd.read_parquet(FOLDER / "closes.parquet").set_index("date")
WEIGHTS = pd.read_parquet(FOLDER / "weights.parquet").set_index("date")
NYSE = Calendar("America/New_York", "09:30", "16:00")


def run(name: str, *algos: Any, **options: Any) -> Any:
    """Run a strategy on the invented prices."""
    backtest = bt.Backtest(bt.Strategy(name, list(algos)), CLOSE, initial_capital=1e6, **options)
    bt.run(backtest)
    return backtest


def results() -> dict[str, Any]:
    """Name -> result."""
    follow = (bt.algos.SelectAll(), bt.algos.WeighTarget(WEIGHTS), bt.algos.Rebalance())
    equal = (bt.algos.SelectAll(), bt.algos.WeighEqually(), bt.algos.Rebalance())
    return {
        "targets": run("targets", bt.algos.RunOnDate(*WEIGHTS.index), *follow, integer_positions=False),
        "monthly": run("monthly", bt.algos.RunMonthly(), *equal, commissions=lambda q, p: abs(q) * p * 0.001),
    }


def main() -> None:
    """Seal every result."""
    report: dict[str, Any] = {"seals": {}}
    for name, backtest in results().items():
        ledger = ledger_from_bt(backtest, NYSE)
        began = datetime(2024, 9, 1, tzinfo=UTC)
        writer = SealWriter(
            FOLDER / name, alpha_id=f"Test_{name}", engine=("bt", bt.__version__), started_at=began
        )
        writer.add_ledger(ledger).write()
        strategy = backtest.strategy
        report["seals"][name] = {
            "equity": {str(day.date()): float(x) for day, x in strategy.values.items()},  # noqa: PD011 -- a series of bt, no array of pandas
            "shares": {str(x): float(y) for x, y in strategy.positions.iloc[-1].items()},
            "fees": float(strategy.fees.sum()),
            "notes": ledger.notes,
        }
    paid_in = run("paid_in", bt.algos.RunMonthly(), bt.algos.CapitalFlow(1000.0), bt.algos.SelectAll(),
                  bt.algos.WeighEqually(), bt.algos.Rebalance())  # fmt: skip
    try:
        ledger_from_bt(paid_in, NYSE)
    except SealError as error:
        report["paid_in"] = str(error)
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
