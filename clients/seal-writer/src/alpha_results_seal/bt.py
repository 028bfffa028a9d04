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

    The book is ``long_short`` and opens with the initial capital. The strategy's commission function gives the fee of each
    transaction. The result holds no scores, target weights or decision times: no decisions are sealed, and a transaction is
    decided on bt's previous row, which for the first session is the day that bt adds before the prices.

    Parameters
    ----------
    backtest
        ``result.backtests[name]``, or the backtest that was given to ``bt.run``: one strategy on daily prices, without
        nested strategies.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        If the equity differs from bt's, because cash moved without a transaction.
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
