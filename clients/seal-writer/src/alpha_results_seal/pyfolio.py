"""Ledgers from pyfolio's frames, which backtrader and others write, and from zipline's performance frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.fills import ASSUMED
from alpha_results_seal.frames import require_columns, to_local_days
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_from_fills


def ledger_from_pyfolio(
    returns: Any, positions: Any, transactions: Any, closes: Any, calendar: Calendar
) -> Ledger:
    """Rebuild the books from pyfolio's frames, such as those of backtrader's analyzer ``PyFolio``.

    The book is ``long_short``. The frames hold no target weights, scores, decision times or commissions: no decisions are
    sealed, a transaction is decided on the session before it, and commissions are read from a column ``commission`` of the
    transactions, or are 0 without it.

    Parameters
    ----------
    returns
        Pandas series by day, from the first session on; the equity is compared with it.
    positions
        Pandas frame of money by day and name, with a column ``cash``. Only the first row is read, for the opening equity,
        since backtrader's other rows have only the last name.
    transactions
        Pandas frame by instant: ``symbol``, ``amount`` (signed), ``price`` and optionally ``commission``.
    closes
        Closes that the engine marked with, long or wide, including a session before the first transaction.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        If the transactions lack a column, or the equity differs from the returns; the message names the day and the missing cash.
    """
    require_columns(transactions.columns, ("symbol", "amount", "price"), "transactions have")
    basis = float(positions.iloc[0].sum() / (1.0 + returns.iloc[0]))
    equity = basis * (1.0 + returns).cumprod()
    rows = transactions[transactions["amount"] != 0]
    fills = pl.DataFrame(
        {
            "date": to_local_days(rows.index),
            "symbol": [str(name) for name in rows["symbol"]],
            "quantity": rows["amount"].to_numpy(dtype=np.float64),
            "fill_price": rows["price"].to_numpy(dtype=np.float64),
            "fee": rows["commission"].to_numpy(dtype=np.float64)
            if "commission" in rows
            else np.zeros(len(rows)),
        }
    )
    return ledger_from_fills(fills, closes, calendar, equity, "pyfolio", equity_basis=basis)


def ledger_from_zipline(performance: Any, calendar: Calendar) -> Ledger:
    """Rebuild the books of a zipline run from the frame that ``run_algorithm`` returns.

    The book is ``long_short``. The commission that zipline charged an order is booked on the order's last fill of the day.
    A fill is decided on the session in which its order was created. Slippage is part of the price. No decisions are sealed.

    Parameters
    ----------
    performance
        Daily; a position's ``last_sale_price`` is the close that marks it.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        If the performance lacks a column, or the equity differs from zipline's, for example after a dividend; the message names the day and the missing cash.
    """
    columns = ("orders", "transactions", "positions", "portfolio_value", "starting_cash", "starting_value")
    require_columns(performance.columns, columns, "performance has")
    days = to_local_days(performance.index)
    closes: dict[tuple[Any, str], float] = {}
    fills: list[tuple[Any, ...]] = []
    charged: dict[str, float] = {}
    for day, (_, row) in zip(days.tolist(), performance.iterrows()):
        orders = {order["id"]: order for order in row["orders"]}
        last = {deal["order_id"]: number for number, deal in enumerate(row["transactions"])}
        for number, deal in enumerate(row["transactions"]):
            order = orders[deal["order_id"]]
            fee = 0.0
            if last[deal["order_id"]] == number:
                fee = float(order["commission"]) - charged.get(order["id"], 0.0)
                charged[order["id"]] = float(order["commission"])
            name = str(deal["sid"].symbol)
            closes.setdefault((day, name), float(deal["price"]))  # a sold name needs no mark
            fills.append(
                (day, name, float(deal["amount"]), float(deal["price"]), fee, order["created"].date())
            )
        for held in row["positions"]:
            closes[day, str(held["sid"].symbol)] = float(held["last_sale_price"])
    if not fills:
        raise SealError("zipline made no trades, so there are no books to keep.")
    filled = ["date", "symbol", "quantity", "fill_price", "fee", "decision_at"]
    marks = pl.DataFrame(
        [(*key, price) for key, price in closes.items()], ["date", "symbol", "close"], orient="row"
    )
    first = performance.iloc[0]
    return ledger_from_fills(
        pl.DataFrame(fills, filled, orient="row"),
        marks,
        Calendar(calendar.zone, calendar.open, calendar.close, days.tolist()),
        performance["portfolio_value"],
        "zipline",
        equity_basis=float(first["starting_cash"] + first["starting_value"]),
        notes=(ASSUMED["mid_price"],),
    )
