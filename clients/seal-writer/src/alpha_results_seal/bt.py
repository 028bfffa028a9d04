"""The result of a bt run as the ledger of a seal."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.fills import ASSUMED
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_from_fills


def ledger_from_bt(backtest: Any, calendar: Calendar) -> Ledger:
    """Rebuild the books of a finished ``bt.Backtest`` from its transactions and prices.

    They are those of the book ``long_short``, which opens with the initial capital. A fee is what the strategy's
    commission function says of its transaction. Scores, target weights and when a transaction was decided stand in no
    such result: no decisions are sealed, and a transaction is dated by bt's row before its own, the first one by the day
    that bt puts before the prices.

    Parameters
    ----------
    backtest
        ``result.backtests[name]``, or the backtest that was given to ``bt.run``; one strategy of daily prices, without
        strategies inside.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        When the equity differs from bt's: cash then moved without a transaction.
    """
    strategy = backtest.strategy
    rows = strategy.get_transactions().reset_index()
    quantity, price = rows["quantity"].to_numpy(dtype=np.float64), rows["price"].to_numpy(dtype=np.float64)
    days = strategy.values.index.to_numpy().astype("datetime64[D]")
    filled = rows["Date"].to_numpy().astype("datetime64[D]")
    fills = pl.DataFrame(
        {
            "date": filled,
            "symbol": [str(name) for name in rows["Security"]],
            "quantity": quantity,
            "fill_price": price,
            "fee": [float(strategy.commission_fn(*fill)) for fill in zip(quantity, price)],
            "decision_at": days[np.searchsorted(days, filled) - 1],
        }
    )
    closes = strategy.universe.iloc[1:]
    return ledger_from_fills(
        fills,
        closes,
        calendar,
        strategy.values,
        "bt",
        equity_basis=float(backtest.initial_capital),
        notes=(ASSUMED["decision_at"],),
    )
