"""Ledgers from pyfolio's frames, as of backtrader and others, and from zipline's performance frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import Calendar
from alpha_results_seal.errors import SealError
from alpha_results_seal.fills import ASSUMED
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.reproduced import ledger_from_fills, to_local_days


def ledger_from_pyfolio(
    returns: Any, positions: Any, transactions: Any, closes: Any, calendar: Calendar
) -> Ledger:
    """Rebuild the books of pyfolio's frames, such as those of backtrader's analyzer ``PyFolio``.

    They are those of the book ``long_short``. The triple has no target weights, scores, times of decision or commissions: no
    decisions are sealed, a transaction is dated by the session before its own, and commissions are those of a column
    ``commission`` of the transactions, 0 without it.

    Parameters
    ----------
    returns
        Pandas series by day, from the first session on: what the equity is compared with.
    positions
        Pandas frame of money by day and name, and a column ``cash``. Its first row is what the book opens with; the rest is not read,
        since backtrader's has the last name alone.
    transactions
        Pandas frame by moment: ``symbol``, ``amount`` (signed), ``price`` and, where there are any, ``commission``.
    closes
        Wide frame of the closes, long or wide, as the engine marked by them; a session before the first transaction too.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        When the equity does not come out; the message names the day and the missing cash.
    """
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
    return ledger_from_fills(fills, closes, calendar, equity, "the triple", equity_basis=basis)


def ledger_from_zipline(performance: Any, calendar: Calendar) -> Ledger:
    """Rebuild the books of a zipline run from the frame that ``run_algorithm`` returns.

    They are those of the book ``long_short``. A commission is what zipline charged an order, on its last fill of the day, and a fill
    is decided on the session before the order was placed at the latest: it is dated by the session of the order's creation.
    Slippage is part of the price. No decisions are sealed.

    Parameters
    ----------
    performance
        Daily; a position's ``last_sale_price`` is the close that it is marked by.
    calendar
        Sessions and hours.

    Raises
    ------
    SealError
        When the equity does not come out, as where dividends were paid; the message names the day and the missing cash.
    """
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
        raise SealError("zipline traded nothing: there are no books to keep.")
    columns = ["date", "symbol", "quantity", "fill_price", "fee", "decision_at"]
    marks = pl.DataFrame(
        [(*key, price) for key, price in closes.items()], ["date", "symbol", "close"], orient="row"
    )
    first = performance.iloc[0]
    return ledger_from_fills(
        pl.DataFrame(fills, columns, orient="row"),
        marks,
        Calendar(calendar.zone, calendar.open, calendar.close, days.tolist()),
        performance["portfolio_value"],
        "zipline",
        equity_basis=float(first["starting_cash"] + first["starting_value"]),
        notes=(ASSUMED["mid_price"],),
    )
