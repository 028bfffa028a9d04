"""Seals real results of vectorbt; prints vectorbt's own figures as JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import vectorbt as vbt
from alpha_results_seal import Calendar, SealError, SealWriter
from alpha_results_seal.vectorbt import ledger_from_vectorbt

FOLDER = Path(sys.argv[1])
CLOSE = pd.read_parquet(FOLDER / "closes.parquet").set_index("date")
SIZE = pd.read_parquet(FOLDER / "weights.parquet").set_index("date").reindex(CLOSE.index)
RATES = {"fees": 0.001, "freq": "1D", "init_cash": 1e6}


def results() -> dict[str, tuple[Any, Any]]:
    """Name -> result, and the prices before slippage where they are given."""
    one = {"size_type": "targetpercent", "group_by": True, "cash_sharing": True, "slippage": 0.0005, **RATES}
    shared = vbt.Portfolio.from_orders(CLOSE, SIZE, **one)
    fast, slow = vbt.MA.run(CLOSE, 5), vbt.MA.run(CLOSE, 20)
    entries, exits = fast.ma_crossed_above(slow).to_numpy(), fast.ma_crossed_below(slow).to_numpy()
    return {
        "shared": (shared, None),
        "shared_with_mids": (shared, CLOSE),
        "one_cash_a_name": (vbt.Portfolio.from_orders(CLOSE, SIZE, size_type="targetpercent", **RATES), None),
        "one_name": (
            vbt.Portfolio.from_orders(CLOSE["AAA"], SIZE["AAA"], size_type="targetpercent", **RATES),
            None,
        ),
        "signals": (vbt.Portfolio.from_signals(CLOSE, entries, exits, **RATES), None),
    }


def refused(portfolio: Any, **aims: Any) -> str:
    """The importer's message for an unsupported result."""
    try:
        ledger_from_vectorbt(portfolio, Calendar("UTC", "08:00", "16:30"), **aims)
    except SealError as error:
        return str(error)
    return "taken"


def main() -> None:
    """Seal every result."""
    report: dict[str, Any] = {"seals": {}}
    made: dict[str, Any] = {name: (*result, {}) for name, result in results().items()}
    made["complete"] = (*made["shared_with_mids"][:2], {"weights": SIZE, "scores": SIZE.rank(axis=1)})
    for name, (portfolio, mids, aims) in made.items():
        ledger = ledger_from_vectorbt(
            portfolio, Calendar("America/New_York", "09:30", "16:00"), mid_prices=mids, **aims
        )
        began = datetime(2024, 9, 1, tzinfo=UTC)
        writer = SealWriter(
            FOLDER / name, alpha_id=f"Test_{name}", engine=("vectorbt", vbt.__version__), started_at=began
        )
        writer.add_ledger(ledger).write()
        value = portfolio.value(group_by=True)
        report["seals"][name] = {
            "equity": {str(day.date()): float(x) for day, x in value.items()},
            "shares": {str(x): float(y) for x, y in pd.DataFrame(portfolio.assets()).iloc[-1].items()},
            "fees": float(portfolio.orders.records_readable["Fees"].sum()),
            "notes": ledger.notes,
        }
    hourly = CLOSE.set_axis(pd.date_range("2024-01-01", periods=len(CLOSE), freq="h"))
    report["hourly"] = refused(vbt.Portfolio.from_holding(hourly, freq="1h"))
    report["few_weights"] = refused(made["shared"][0], weights=SIZE.iloc[:20])
    report["first_bar"] = refused(vbt.Portfolio.from_holding(CLOSE, freq="1D"))
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
