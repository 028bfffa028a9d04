"""Seals fills reports of NautilusTrader by the code of docs/other-engines.md; prints the engine's figures as JSON."""

from __future__ import annotations

import json
import math
import runpy
import sys
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from alpha_results_seal import Calendar, SealError, SealWriter
from nautilus_trader.backtest.config import BacktestEngineConfig
from nautilus_trader.backtest.engine import BacktestEngine
from nautilus_trader.backtest.modules import SimulationModule
from nautilus_trader.config import LoggingConfig, SimulationModuleConfig
from nautilus_trader.model.currencies import USD
from nautilus_trader.model.data import Bar, BarType
from nautilus_trader.model.enums import AccountType, OmsType, OrderSide
from nautilus_trader.model.identifiers import InstrumentId, Symbol, Venue
from nautilus_trader.model.instruments import Equity
from nautilus_trader.model.objects import Money, Price, Quantity
from nautilus_trader.persistence.catalog import ParquetDataCatalog
from nautilus_trader.trading.strategy import Strategy

FOLDER = Path(sys.argv[1])
CLOSE: Any = pd.read_parquet(FOLDER / "closes.parquet").set_index("date").round(2)
WEIGHTS: Any = pd.read_parquet(FOLDER / "weights.parquet").set_index("date")
VENUE = Venue("XNYS")
NYSE = Calendar("America/New_York", "09:30", "16:00")
IDS: dict[str, Any] = {name: InstrumentId(Symbol(name), VENUE) for name in CLOSE.columns}
WORTH = runpy.run_path(str(FOLDER / "documented" / "nautilustrader-1.py"))["worth"]


class FollowWeights(Strategy):  # type: ignore[misc]
    """Trade to weights at the closes of their day, in whole shares, and record the account after each close."""

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = weights.to_dict("index")
        self.closes: dict[InstrumentId, Price] = {}
        self.day = CLOSE.index[0]
        self.equity: dict[str, float] = {}

    def on_start(self) -> None:
        """Subscribe to the bars of every name."""
        for instrument_id in IDS.values():
            self.subscribe_bars(bar_type(instrument_id))

    def on_bar(self, bar: Bar) -> None:
        """Record the day before once a new one begins, and trade once every name has its close."""
        day = pd.Timestamp(bar.ts_event, tz="UTC").tz_convert(NYSE.zone).tz_localize(None).normalize()
        if day != self.day:
            self.record()
            self.day, self.closes = day, {}
        self.closes[bar.bar_type.instrument_id] = bar.close
        if len(self.closes) < len(IDS):
            return
        equity = WORTH(self, VENUE, self.closes)
        for name, weight in self.weights.get(day, {}).items():
            held = int(self.portfolio.net_position(IDS[name]))
            change = math.floor(weight * equity / float(self.closes[IDS[name]])) - held
            if change:
                side = OrderSide.BUY if change > 0 else OrderSide.SELL
                order = self.order_factory.market(IDS[name], side, Quantity.from_int(abs(change)))
                self.submit_order(order)

    def on_stop(self) -> None:
        """Record the last day."""
        self.record()

    def record(self) -> None:
        """Record what the account is worth, after the fills of the day."""
        self.equity[str(self.day.date())] = WORTH(self, VENUE, self.closes)


class Deposit(SimulationModule):  # type: ignore[misc]
    """Deposit cash on a day."""

    paid = False

    def process(self, ts_now: int) -> None:
        """Pay once."""
        if not self.paid and pd.Timestamp(ts_now) > CLOSE.index[60]:
            self.paid = True
            self.exchange.adjust_account(Money(1000, USD))

    def log_diagnostics(self, logger: Any) -> None:
        """Log nothing."""

    def reset(self) -> None:
        """Begin again."""
        self.paid = False


def bar_type(instrument_id: InstrumentId) -> BarType:
    """Return the type of daily bars."""
    return BarType.from_str(f"{instrument_id}-1-DAY-LAST-EXTERNAL")


def fill_catalog() -> ParquetDataCatalog:
    """Write bars at the close of each session, whose prices are all the close."""
    catalog = ParquetDataCatalog(str(FOLDER / "catalog"))
    bars = []
    for name, instrument_id in IDS.items():
        for day, close in CLOSE[name].items():
            instant = (day + pd.Timedelta(hours=16)).tz_localize(NYSE.zone).value
            price = Price(close, 2)
            bars.append(
                Bar(
                    bar_type(instrument_id),
                    price,
                    price,
                    price,
                    price,
                    Quantity.from_int(10**7),
                    instant,
                    instant,
                )
            )
    catalog.write_data(bars)
    return catalog


def run(
    catalog: ParquetDataCatalog, account: AccountType, weights: Any, *modules: SimulationModule
) -> tuple[BacktestEngine, FollowWeights]:
    """Run weights on the bars of the catalogue."""
    engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    engine.add_venue(
        VENUE, OmsType.NETTING, account, [Money(1_000_000, USD)], base_currency=USD, modules=list(modules)
    )
    for name, instrument_id in IDS.items():
        engine.add_instrument(
            Equity(
                instrument_id,
                Symbol(name),
                USD,
                2,
                Price.from_str("0.01"),
                Quantity.from_int(1),
                0,
                0,
                maker_fee=Decimal("0.001"),
                taker_fee=Decimal("0.001"),
            )
        )
    engine.add_data(catalog.bars())
    strategy = FollowWeights(weights)
    engine.add_strategy(strategy)
    engine.run()
    return engine, strategy


def sealed(engine: BacktestEngine, strategy: FollowWeights, catalog: ParquetDataCatalog) -> Any:
    """Make the ledger with the page's code."""
    equity = pd.Series(strategy.equity)
    equity.index = pd.to_datetime(equity.index)
    known = {"engine": engine, "catalog": catalog, "nyse": NYSE, "equity": equity}
    return runpy.run_path(str(FOLDER / "documented" / "nautilustrader-2.py"), known)["ledger"]


def main() -> None:
    """Seal results of a cash and a margin account; check that one is refused."""
    report: dict[str, Any] = {"seals": {}}
    catalog = fill_catalog()
    for name, account, weights in (
        ("cash", AccountType.CASH, WEIGHTS.clip(lower=0)),
        ("margin", AccountType.MARGIN, WEIGHTS),
    ):
        engine, strategy = run(catalog, account, weights)
        ledger = sealed(engine, strategy, catalog)
        SealWriter(
            FOLDER / name, alpha_id=f"Test_{name}", started_at=datetime(2024, 9, 1, tzinfo=UTC),
            engine=("nautilus_trader", version("nautilus_trader")),
        ).add_ledger(ledger).write()  # fmt: skip
        fees = sum(
            commission.as_double() for order in engine.cache.orders() for commission in order.commissions()
        )
        report["seals"][name] = {
            "equity": strategy.equity,
            "shares": {key: float(engine.portfolio.net_position(value)) for key, value in IDS.items()},
            "fees": fees,
            "notes": ledger.notes,
        }
    try:
        sealed(*run(catalog, AccountType.MARGIN, WEIGHTS, Deposit(SimulationModuleConfig())), catalog)
    except SealError as error:
        report["paid_in"] = str(error)
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
