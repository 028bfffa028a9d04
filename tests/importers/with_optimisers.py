"""Seals weights of skfolio and PyPortfolioOpt by the code of docs/other-engines.md; prints their equity as JSON."""

from __future__ import annotations

import json
import runpy
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from alpha_results_seal import Calendar, Costs, SealError, SealWriter
from alpha_results_seal.reproduced import require_reproduced
from skfolio.model_selection import cross_val_predict
from skfolio.optimization import MeanRisk

FOLDER = Path(sys.argv[1])
CLOSES: Any = pd.read_parquet(FOLDER / "closes.parquet").set_index("date")
NYSE = Calendar("America/New_York", "09:30", "16:00")


def documented(section: str, **names: Any) -> dict[str, Any]:
    """Run the block of a section with these names, and return its own."""
    return runpy.run_path(str(FOLDER / "documented" / f"{section}-1.py"), names)


def drifted(weights: Any, prices: Any) -> Any:
    """Return the equity of weights bought at one day's prices and held to the next one's, by pandas alone."""
    equity, parts = 1.0, []
    for begin, end in zip(weights.index, [*weights.index[1:], prices.index[-1]], strict=True):
        week = prices.loc[begin:end]
        part = equity * (1.0 + (week / week.iloc[0] - 1.0) @ weights.loc[begin])
        parts.append(part.iloc[1:])
        equity = part.iloc[-1]
    return pd.concat(parts)


def main() -> None:
    """Seal weights of both; check that daily rebalanced books of skfolio are refused."""
    skfolio = documented("skfolio", closes=CLOSES, nyse=NYSE)
    pypfopt = documented("pyportfolioopt", closes=CLOSES, opens=CLOSES.shift(1), costs=Costs(), nyse=NYSE)
    report: dict[str, Any] = {"seals": {}}
    for name, ledger, equity in (
        ("skfolio", skfolio["ledger"], skfolio["equity"]),
        ("PyPortfolioOpt", pypfopt["ledger"], drifted(pypfopt["weights"], CLOSES)),
    ):
        SealWriter(
            FOLDER / name, alpha_id=f"Test_{name}", engine=(name, version(name)),
            started_at=datetime(2024, 9, 1, tzinfo=UTC),
        ).add_ledger(ledger).write()  # fmt: skip
        report["seals"][name] = {
            "equity": {str(day.date()): float(value) for day, value in equity.items()},
            "notes": ledger.notes,
        }
    daily = cross_val_predict(MeanRisk(), skfolio["returns"], cv=skfolio["walk"])
    try:
        require_reproduced(skfolio["ledger"], (1 + daily.returns_df).cumprod(), "skfolio")
    except SealError as error:
        report["rebalanced_daily"] = str(error)
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
