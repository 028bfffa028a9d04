"""Seals real results of zipline; prints zipline's own figures as JSON."""

from __future__ import annotations

import json
import os
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
os.environ["ZIPLINE_ROOT"] = str(FOLDER / "zipline")
warnings.simplefilter("ignore")  # zipline's own, of pandas

import pandas as pd  # noqa: E402 -- the root is read when zipline is imported
import zipline  # noqa: E402 -- as above
from alpha_results_seal import Calendar, SealError, SealWriter  # noqa: E402 -- as above
from alpha_results_seal.pyfolio import ledger_from_zipline  # noqa: E402 -- as above
from zipline.api import order_target_percent, symbols  # noqa: E402 -- as above
from zipline.data.bundles import ingest, register  # noqa: E402 -- as above
from zipline.data.bundles.csvdir import csvdir_equities  # noqa: E402 -- as above
from zipline.utils.calendar_utils import get_calendar  # noqa: E402 -- as above

CLOSE = pd.read_parquet(FOLDER / "closes.parquet").set_index("date")
WEIGHTS = pd.read_parquet(FOLDER / "weights.parquet").set_index("date")
TARGETS: Any = WEIGHTS.to_dict("index")
"""Day -> name -> weight."""
NYSE = Calendar("America/New_York", "09:30", "16:00")
SESSIONS = get_calendar("XNYS").sessions_in_range(CLOSE.index[0], CLOSE.index[-1])


def run(name: str) -> Any:
    """Run the targets on the invented prices."""
    folder = FOLDER / name / "daily"
    folder.mkdir(parents=True)
    for symbol in CLOSE.columns:
        close = CLOSE.loc[SESSIONS, symbol]
        bars = pd.DataFrame(
            {"open": close, "high": close, "low": close, "close": close, "volume": 10_000_000}
        )
        bars["dividend"], bars["split"] = 0.0, 1.0
        bars.rename_axis("date").reset_index().to_csv(folder / f"{symbol}.csv", index=False)
    bundle = csvdir_equities(["daily"], str(folder.parent))
    register(name, bundle, calendar_name="XNYS", start_session=SESSIONS[0], end_session=SESSIONS[-1])
    ingest(name, show_progress=False)

    def initialize(context: Any) -> None:
        context.names = symbols(*CLOSE.columns)

    def handle_data(context: Any, data: Any) -> None:
        today = data.current_session if hasattr(data, "current_session") else zipline.api.get_datetime()
        today = pd.Timestamp(today).tz_localize(None).normalize()
        if today in TARGETS:
            for asset in context.names:
                order_target_percent(asset, TARGETS[today][asset.symbol])

    return zipline.run_algorithm(
        start=SESSIONS[0], end=SESSIONS[-1], initialize=initialize, handle_data=handle_data, capital_base=1e6,
        bundle=name, data_frequency="daily", benchmark_returns=pd.Series(0.0, index=SESSIONS),
    )  # fmt: skip


def main() -> None:
    """Seal a result; check that another is refused."""
    performance = run("targets")
    ledger = ledger_from_zipline(performance, NYSE)
    began = datetime(2024, 9, 1, tzinfo=UTC)
    engine = ("zipline-reloaded", zipline.__version__)
    SealWriter(FOLDER / "sealed", alpha_id="Test_sealed", engine=engine, started_at=began).add_ledger(
        ledger
    ).write()
    orders = {order["id"]: order for day in performance["orders"] for order in day}
    last = performance["positions"].iloc[-1]
    report: dict[str, Any] = {
        "seals": {
            "sealed": {
                "equity": {str(day.date()): float(x) for day, x in performance["portfolio_value"].items()},
                "shares": {held["sid"].symbol: float(held["amount"]) for held in last},
                "fees": float(sum(order["commission"] for order in orders.values())),
                "notes": ledger.notes,
            }
        }
    }
    paid = performance.assign(
        portfolio_value=performance["portfolio_value"] + (performance.index >= performance.index[60]) * 1000.0
    )
    try:
        ledger_from_zipline(paid, NYSE)
    except SealError as error:
        report["paid_in"] = str(error)
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
