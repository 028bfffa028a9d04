"""Seals a qlib backtest on random data by the code of docs/other-engines.md; prints its account as JSON."""

from __future__ import annotations

import json
import os
import runpy
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import qlib
from alpha_results_seal import Ledger, SealError, SealWriter
from alpha_results_seal.qlib import ledger_from_qlib
from qlib.workflow import R
from qlib.workflow.record_temp import PortAnaRecord

FOLDER = Path(sys.argv[1])
CLOSE: Any = pd.read_parquet(FOLDER / "closes.parquet").set_index("date").add_prefix("SH60000")
ACCOUNT = 1e8


def write_data(folder: Path) -> None:
    """Write the closes in qlib's binary format: per field the place of the first day, then the values."""
    days = [str(day.date()) for day in CLOSE.index]
    for part in ("calendars", "instruments"):
        (folder / part).mkdir(parents=True)
    (folder / "calendars" / "day.txt").write_text("\n".join(days), "utf-8")
    (folder / "instruments" / "all.txt").write_text(
        "".join(f"{name}\t{days[0]}\t{days[-1]}\n" for name in CLOSE), "utf-8"
    )
    for number, name in enumerate(CLOSE):
        close = CLOSE[name]
        fields = dict.fromkeys(("open", "high", "low", "close"), close)
        fields |= {"volume": close * 0 + 1e9, "factor": close * 0 + 1 + number, "change": close.pct_change()}
        (folder / "features" / name.lower()).mkdir(parents=True)
        for field, values in fields.items():
            np.hstack([0, values]).astype("<f4").tofile(
                folder / "features" / name.lower() / f"{field}.day.bin"
            )


def record(predictions: Any) -> Any:
    """Run the predictions through qlib's exchange, and return its recorder."""
    executor = {"time_per_step": "day", "generate_portfolio_metrics": True}
    config = {
        "executor": {"class": "SimulatorExecutor", "module_path": "qlib.backtest.executor", "kwargs": executor},
        "strategy": {
            "class": "TopkDropoutStrategy",
            "module_path": "qlib.contrib.strategy",
            "kwargs": {"signal": predictions, "topk": 2, "n_drop": 1},
        },
        "backtest": {
            "start_time": CLOSE.index[5],
            "end_time": CLOSE.index[-2],  # qlib needs a day after the last one
            "account": ACCOUNT,
            "benchmark": pd.Series(0.0, CLOSE.index),
            "exchange_kwargs": {
                "limit_threshold": 0.095, "deal_price": "close",
                "open_cost": 0.0005, "close_cost": 0.0015, "min_cost": 5,
            },
        },
    }  # fmt: skip
    with R.start(experiment_name="invented"):
        recorder = R.get_recorder()
        recorder.save_objects(**{"pred.pkl": predictions, "label.pkl": predictions})
        PortAnaRecord(recorder, config, "day").generate()
    return recorder


def main() -> None:
    """Seal a result; check that another is refused."""
    os.chdir(FOLDER)
    os.environ["GIT_PYTHON_REFRESH"] = "quiet"
    write_data(FOLDER / "qlib")
    store = {"uri": f"sqlite:///{FOLDER}/recorder.db", "default_exp_name": "invented"}
    manager = {"class": "MLflowExpManager", "module_path": "qlib.workflow.expm", "kwargs": store}
    qlib.init(provider_uri=str(FOLDER / "qlib"), region="cn", kernels=1, exp_manager=manager)
    draws = np.random.default_rng(2).normal(size=CLOSE.shape)
    scores: Any = pd.DataFrame(draws, CLOSE.index.rename("datetime"), CLOSE.columns.rename("instrument"))
    recorder = record(scores.stack().to_frame("score"))  # noqa: PD013 -- melt would lose the index that qlib reads
    documented = FOLDER / "documented"
    exported = runpy.run_path(str(documented / "qlib-1.py"), {"recorder": recorder, "start": CLOSE.index[0]})
    sealed = runpy.run_path(str(documented / "qlib-2.py"))
    SealWriter(
        FOLDER / "held",
        alpha_id="Test_held",
        engine=("qlib", qlib.__version__),
        started_at=datetime(2024, 9, 1, tzinfo=UTC),
    ).add_ledger(sealed["ledger"]).write()
    account, last = exported["report"], exported["held"][exported["report"].index[-1]]
    report: dict[str, Any] = {
        "seals": {
            "held": {
                "equity": {str(day.date()): float(value) for day, value in account["account"].items()},
                "shares": {name: float(last.get_stock_amount(name)) for name in last.get_stock_list()},
                "fees": float(account["total_cost"].iloc[-1]),
                "notes": sealed["ledger"].notes,
            }
        }
    }
    weekly = Ledger.from_scores("scores.parquet", "closes.parquet", calendar=sealed["sse"])
    report["weeks"] = weekly.tables["rebalances"].height
    try:
        ledger_from_qlib(
            "report.parquet", "positions.parquet", "closes.parquet", sealed["sse"], equity_basis=ACCOUNT,
            open_cost=0.0, close_cost=0.0,
        )  # fmt: skip
    except SealError as error:
        report["without_costs"] = str(error)
    sys.stdout.write("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
