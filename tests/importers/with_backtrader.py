"""Seals real results of backtrader; prints backtrader's own figures as JSON."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import backtrader as bt
import pandas as pd
from alpha_results_seal import Calendar, SealError, SealWriter
from alpha_results_seal.pyfolio import ledger_from_pyfolio

FOLDER = Path(sys.argv[1])
CLOSE = pd.read_parquet(FOLDER / "closes.parquet").set_index("date")
WEIGHTS = pd.read_parquet(FOLDER / "weights.parquet").set_index("date")
TARGETS: Any = WEIGHTS.to_dict("index")
"""Day -> name -> weight."""
NYSE = Calendar("America/New_York", "09:30", "16:00")
RATE = 0.001


class Targets(bt.Strategy):  # type: ignore[misc]
    """Rebalances to the weights of a day, at the next open."""

    def next(self) -> None:
        """Order, on a day that has weights."""
        today = pd.Timestamp(self.data.datetime.date(0))
        if today in TARGETS:
            for name, weight in TARGETS[today].items():
                self.order_target_percent(self.getdatabyname(name), weight)


class Value(bt.Analyzer):  # type: ignore[misc]
    """Records the broker's value each day."""

    def start(self) -> None:
        """Start without a day."""
        self.values: dict[str, float] = {}

    def next(self) -> None:
        """Record a day."""
        self.values[str(self.strategy.datetime.date())] = float(self.strategy.broker.getvalue())


class Crossing(bt.Strategy):  # type: ignore[misc]
    """Buys when the fast mean crosses the slow one, as in backtrader's first example."""

    def __init__(self) -> None:
        self.crossed = {
            data: bt.ind.CrossOver(bt.ind.SMA(data, period=5), bt.ind.SMA(data, period=20))
            for data in self.datas
        }

    def next(self) -> None:
        """Follow the crossings."""
        for data, crossed in self.crossed.items():
            if crossed[0] > 0:
                self.buy(data, size=100)
            elif crossed[0] < 0 and self.getposition(data).size:
                self.close(data)


def run(strategy: Any, commission: float) -> tuple[Any, Any, Any]:
    """Run a strategy on the invented prices, opens half-way from the close before."""
    cerebro = bt.Cerebro()
    for name in CLOSE.columns:
        close = CLOSE[name]
        opened = (close.shift(1).fillna(close) + close) / 2
        bars = pd.DataFrame({"open": opened, "high": close, "low": close, "close": close, "volume": 1e6})
        bars["high"], bars["low"] = bars[["open", "close"]].max(axis=1), bars[["open", "close"]].min(axis=1)
        cerebro.adddata(bt.feeds.PandasData(dataname=bars, name=name))
    cerebro.addstrategy(strategy)
    cerebro.broker.setcash(1e6)
    cerebro.broker.setcommission(commission=commission)
    cerebro.addanalyzer(bt.analyzers.PyFolio, _name="pyfolio")
    cerebro.addanalyzer(Value, _name="value")
    (made,) = cerebro.run()
    shares = {name: float(made.getpositionbyname(name).size) for name in CLOSE.columns}
    return made.analyzers.pyfolio.get_pf_items(), shares, dict(made.analyzers.value.values)


def main() -> None:
    """Seal every result."""
    report: dict[str, Any] = {"seals": {}}
    for name, strategy, commission in (("targets", Targets, RATE), ("crossing", Crossing, 0.0)):
        (returns, positions, transactions, _), shares, equity = run(strategy, commission)
        transactions["commission"] = (transactions["amount"] * transactions["price"]).abs() * commission
        ledger = ledger_from_pyfolio(returns, positions, transactions, CLOSE, NYSE)
        began = datetime(2024, 9, 1, tzinfo=UTC)
        engine = ("backtrader", bt.__version__)
        SealWriter(FOLDER / name, alpha_id=f"Test_{name}", engine=engine, started_at=began).add_ledger(
            ledger
        ).write()
        report["seals"][name] = {
            "equity": equity,
            "shares": shares,
            "fees": float(transactions["commission"].sum()),
            "notes": ledger.notes,
        }
    (returns, positions, transactions, _), _, _ = run(Targets, RATE)
    try:
        ledger_from_pyfolio(returns, positions, transactions, CLOSE, NYSE)
    except SealError as error:
        report["without_commissions"] = str(error)
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
